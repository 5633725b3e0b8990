"""Read what conda-meta/history says: whose environment it is, and the number of its present state."""

from __future__ import annotations

from pathlib import PurePosixPath

from gpudoctor.model import Absent, Fact, Known, Unknown
from gpudoctor.probes import calls
from gpudoctor.probes.calls import mapping
from gpudoctor.probes.shapes import Data

_SOURCE = "conda-meta/history"
_OF_LIBMAMBA = ("mamba", "micromamba")
# What libmamba notes as conda's version, whichever its own is; Mamba 1, which was conda's code, noted conda's
_VERSION_OF_LIBMAMBA = "3.8.0"


def tool(python: Data) -> Fact:
    """Return which tool changed the environment last."""
    return _missing(python) or Known(value=_tool(mapping(python.get("conda_history"))), source=_SOURCE)


def revision(python: Data) -> Fact:
    """Return the number of the present state, as the tool counts.

    conda numbers every entry of its history, libmamba those alone that changed a package; both begin at 0.
    """
    missing = _missing(python)
    if missing is not None:
        return missing
    history = mapping(python.get("conda_history"))
    counted = history.get("changes" if _tool(history) in _OF_LIBMAMBA else "states")
    if not isinstance(counted, int) or isinstance(counted, bool) or counted < 1:
        return Unknown(reason=f"{_SOURCE} notes no state")
    return Known(value=counted - 1, source=_SOURCE)


def _missing(python: Data) -> Fact | None:
    """Return what there is to say where the history was not read."""
    if not isinstance(python.get("conda_packages"), list):
        return Absent(source="no conda-meta: not an environment of conda's")
    history = mapping(python.get("conda_history"))
    if history.get("missing"):
        return Unknown(reason=f"there is no {_SOURCE}")
    if "states" not in history:
        return Unknown(reason=f"{_SOURCE}: {calls.text(history.get('error')) or 'the answer cannot be read'}")
    return None


def _tool(history: Data) -> str:
    """Return the tool that wrote the last entry: libmamba's say so, all else is conda."""
    words = (calls.text(history.get("command")) or "").split()
    name = PurePosixPath(words[0]).name if words else ""
    is_libmamba = name in _OF_LIBMAMBA and history.get("conda_version") == _VERSION_OF_LIBMAMBA
    return name if is_libmamba else "conda"
