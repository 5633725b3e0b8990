"""Read which container image was examined, by which engine, and what kept one from it."""

from __future__ import annotations

import re

from gpudoctor.facts import promised
from gpudoctor.model import Absent, Fact, Known, Scope, Unknown
from gpudoctor.probes.calls import mapping
from gpudoctor.probes.raw import NOT_COLLECTED, Answer, known
from gpudoctor.probes.shapes import Data, read_all, text_at

_CUDA = re.compile(r"cuda>=(\d{1,3}\.\d{1,3})\Z")
_VERSION = re.compile(r"\d{1,5}(?:\.\d{1,5}){0,3}")
_NO_IMAGE = "no image was named (--image, --container)"


def read(answer: Answer) -> dict[str, Fact]:
    """Return the host facts that the image probe promises; without an image none is there."""
    if answer == NOT_COLLECTED:
        return dict.fromkeys(promised("image", Scope.HOST), Absent(source=_NO_IMAGE))
    return read_all(answer, "image", _READERS)


def least_cuda(requirement: str) -> str | None:
    """Return the least CUDA of those alternatives that ask for nothing else; None where there is none.

    Words are alternatives, of which the parts between commas must all hold. Those with a brand or a driver
    besides excuse some cards and drivers from it.
    """
    found = [match[1] for word in requirement.split() if (match := _CUDA.match(word))]
    return min(found, key=lambda version: tuple(map(int, version.split("."))), default=None)


def _reference(data: Data) -> Fact:
    return _text(data, "reference", "the command line")


def _text(data: Data, key: str, source: str) -> Fact:
    return known(text_at(data, key), source)


def _source(data: Data) -> str:
    return f"the engine ({text_at(data, 'engine') or 'not reached'})"


def _is_running(data: Data) -> Fact:
    running = data.get("running")
    return Known(value=running, source="the command line") if isinstance(running, bool) else Unknown(
        reason="it was not recorded whether it is an image or a container")


def _version(data: Data) -> Fact:
    """Return the engine's version without what distributions add to it (20.10.24+dfsg1)."""
    found = _VERSION.match(text_at(data, "engine_version") or "")
    return known(found[0] if found else None, _source(data))


def _least_cuda(data: Data) -> Fact:
    return known(least_cuda(text_at(data, "require_cuda") or ""), "NVIDIA_REQUIRE_CUDA of the image")


def _request(data: Data) -> Fact:
    untold = text_at(data, "untold")
    return Unknown(reason=untold) if untold else _text(data, "request", _source(data))


def _refusals(data: Data) -> Fact:
    """Return what it said to each request; nothing where it handed the GPU out or was not asked for it."""
    said, untold = data.get("refusals"), text_at(data, "untold")
    if untold or not isinstance(said, list):
        return Unknown(reason=untold or "what the engine said when it was asked for a GPU was not recorded")
    lines = tuple(line for line in said if isinstance(line, str))
    return known(lines or None, _source(data))


def _dropped(data: Data) -> Fact:
    untold, dropped = text_at(data, "untold"), text_at(data, "dropped")
    if untold or dropped is None:
        return Unknown(reason=untold or "whether the engine drops requests for a GPU was not recorded")
    return Known(value=dropped, source=_source(data))


def _flag(data: Data, key: str) -> Fact:
    return Known(value=data.get(key) is True, source=_source(data))


def _texts(data: Data, key: str) -> Fact:
    found = data.get(key)
    lines = tuple(one for one in found if isinstance(one, str)) if isinstance(found, list) else ()
    return known(lines or None, _source(data))


def _trouble(data: Data, key: str) -> Fact:
    return known(text_at(mapping(data.get("trouble")), key), _source(data))


_READERS = {
    "image.reference": _reference,
    "image.is_running": _is_running,
    "image.id": lambda data: _text(data, "id", _source(data)),
    "image.engine": lambda data: _text(data, "engine", "its answer to a question for its version"),
    "image.engine_version": _version,
    "image.gpu_request": _request,
    "image.gpu_refusals": _refusals,
    "image.gpu_dropped": _dropped,
    "image.gpu_start_hangs": lambda data: _flag(data, "hangs"),
    "image.shows_host": lambda data: _flag(data, "shows_host"),
    "image.left_containers": lambda data: _texts(data, "left"),
    "image.limits_missing": lambda data: _texts(data, "limits_missing"),
    "image.least_cuda": _least_cuda,
    "image.trouble": lambda data: _trouble(data, "kind"),
    "image.trouble_said": lambda data: _trouble(data, "said"),
}
