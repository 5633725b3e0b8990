"""Read the environment variables that matter."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from gpudoctor.model import Absent, Fact, Known, Unknown
from gpudoctor.probes import calls
from gpudoctor.probes.calls import mapping
from gpudoctor.probes.raw import Answer
from gpudoctor.probes.shapes import Data, Reader, printable, read_all, text_at
from gpudoctor.variables import ENVIRONMENT_VARIABLES


def read(answer: Answer) -> dict[str, Fact]:
    """Return the host facts that the environment probe promises."""
    return read_all(answer, "environment", _READERS)


def _variable(name: str, data: Data) -> Fact:
    found = mapping(mapping(data.get("variables")).get(name))
    value = found.get("value")
    if isinstance(value, str):  # set to nothing is not the same as not set
        return Known(value=printable(value), source=f"environment variable {name}")
    if found.get("missing") is True:
        return Absent(source=f"environment variable {name}")
    return Unknown(reason=f"environment variable {name} was not collected")


def _library_path(data: Data) -> Fact:
    if "library_path" not in data:
        return Unknown(reason="LD_LIBRARY_PATH was not collected")
    entries = data["library_path"]
    if not isinstance(entries, list):
        return Absent(source="environment variable LD_LIBRARY_PATH") if entries is None else Unknown(
            reason="LD_LIBRARY_PATH was answered in a form that cannot be read")
    folders = tuple(folder for entry in calls.objects(entries) if (folder := text_at(entry, "folder")))
    return Known(value=folders, source="environment variable LD_LIBRARY_PATH")


_READERS: Mapping[str, Reader] = {
    "loader.library_path": _library_path,
    **{f"environment.{name}": partial(_variable, name) for name in ENVIRONMENT_VARIABLES},
}
