"""Read which container image was examined, by which engine, and what kept one from it."""

from __future__ import annotations

import re

from gpudoctor import image_needs
from gpudoctor.facts import promised
from gpudoctor.model import Absent, Fact, Known, Scope, Unknown
from gpudoctor.probes.calls import mapping
from gpudoctor.probes.raw import NOT_COLLECTED, Answer, known
from gpudoctor.probes.shapes import Data, read_all, text_at

_VERSION = re.compile(r"[0-9]{1,5}(?:\.[0-9]{1,5}){0,3}")
_UNREAD = Unknown(reason="what the image says of itself was not recorded")
_OF_LABELS = "labels of the image"
_NO_IMAGE = "no image was named (--image, --container)"


def read(answer: Answer) -> dict[str, Fact]:
    """Return the host facts that the image probe promises; without an image none is there."""
    if answer == NOT_COLLECTED:
        return dict.fromkeys(promised("image", Scope.HOST), Absent(source=_NO_IMAGE))
    return read_all(answer, "image", _READERS)


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


def _requirements(data: Data) -> Fact:
    """Return what the image asks of driver and cards; its own word that nothing is to be compared ends it."""
    variables = _named(data, "variables")
    if variables is None:
        return _UNREAD
    found = image_needs.of_variables(variables)
    names = ", ".join(found) or (image_needs.DISABLING if image_needs.DISABLING in variables else "variables")
    return known(tuple(found.values()) or None, f"{names} of the image")


def _labels(data: Data) -> Fact:
    labels = _named(data, "labels")
    if labels is None:
        return _UNREAD
    return known(tuple(f"{name}={value}" for name, value in sorted(labels.items())) or None, _OF_LABELS)


def _labelled_cuda(data: Data) -> Fact:
    labels, variables = _named(data, "labels"), _named(data, "variables")
    if labels is None or variables is None:
        return _UNREAD
    return known(image_needs.of_labels(labels, variables), _OF_LABELS)


def _named(data: Data, key: str) -> dict[str, str] | None:
    """Return texts by their names, None where none were recorded."""
    found = data.get(key)
    if not isinstance(found, dict):
        return None
    return {name: value for name, value in found.items() if isinstance(name, str) and isinstance(value, str)}


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
    "image.architecture": lambda data: _text(data, "architecture", _source(data)),
    "image.engine_architecture": lambda data: _text(data, "engine_architecture", _source(data)),
    "image.gpu_request": _request,
    "image.gpu_refusals": _refusals,
    "image.gpu_dropped": _dropped,
    "image.gpu_start_hangs": lambda data: _flag(data, "hangs"),
    "image.shows_host": lambda data: _flag(data, "shows_host"),
    "image.left_containers": lambda data: _texts(data, "left"),
    "image.limits_missing": lambda data: _texts(data, "limits_missing"),
    "image.requirements": _requirements,
    "image.labels": _labels,
    "image.labelled_cuda": _labelled_cuda,
    "image.trouble": lambda data: _trouble(data, "kind"),
    "image.trouble_said": lambda data: _trouble(data, "said"),
}
