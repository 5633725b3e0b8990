"""JSON in a text: gpudoctor's own documents, lists of pip and conda, docker info and docker inspect."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from gpudoctor import codec
from gpudoctor.sources.found import Found
from gpudoctor.sources.importers import conda, docker, packages
from gpudoctor.sources.lines import Text

# A literal of each kind of document. Each attempt to read one may cost a pass over the text.
_SIGNS = ('"gpudoctor.', '"version":', '"virtual_pkgs"', '"HostConfig"', '"DefaultRuntime"')
_ATTEMPTS = 12
_BACK = 1 << 16  # a document begins at most so far before the first sign of its kind


def read(text: Text, found: Found) -> None:
    """Read every document that begins at the start of a line."""
    reader = json.JSONDecoder(strict=False)  # a window may have broken a line inside a string
    ends = 0
    for attempt, start in enumerate(_starts(text)):
        if attempt >= _ATTEMPTS:
            return
        if start < ends:
            continue
        try:
            document, ends = reader.raw_decode(text.uncut, start)
        except (ValueError, RecursionError):  # no JSON, or cut off
            continue
        first = text.uncut.count("\n", 0, start)
        if _document(document, text.source(first), text, found):
            text.in_documents.append(range(first, first + text.uncut.count("\n", start, ends) + 1))


def _starts(text: Text) -> list[int]:
    """Return where documents may begin: the last line before a sign that opens with a bracket."""
    whole = text.uncut
    starts: dict[int, None] = {}
    for mark in _SIGNS:
        for position in _few(whole, mark):
            lowest = max(0, position - _BACK)
            for opening in ("\n{", "\n["):
                before = whole.rfind(opening, lowest, position)
                if before >= 0:
                    starts[before + 1] = None
            first = whole[:1]
            if position < _BACK and first in ("{", "["):
                starts[0] = None
            line = max(whole.rfind("\n", lowest, position) + 1, lowest)
            inner = min((place for place in (whole.find("{", line, position), whole.find("[", line, position))
                         if place >= 0), default=-1)
            if inner >= 0:
                starts[inner] = None
    return sorted(starts)


def _few(whole: str, mark: str) -> list[int]:
    """Return a few places of a mark, far enough from one another to be in different documents."""
    places: list[int] = []
    position = whole.find(mark)
    while position >= 0 and len(places) < _ATTEMPTS // 3:
        places.append(position)
        position = whole.find(mark, position + _BACK // 4)
    return places


_OBJECTS: tuple[Callable[[Mapping[str, Any], str, Found], bool], ...] = (
    conda.from_document, docker.from_document)


def _document(document: object, source: str, text: Text, found: Found) -> bool:
    """Read a document; say whether it is of a kind that is known."""
    if isinstance(document, dict):
        schema = document.get("schema")
        if isinstance(schema, str) and schema.startswith("gpudoctor."):
            return _own(document, text, found)
        return packages.from_document(document, source, found) or any(
            reader(document, source, found) for reader in _OBJECTS)
    if not isinstance(document, list):
        return False
    if packages.from_document(document, source, found):
        return True
    are_docker = [docker.from_document(item, source, found)
                  for item in document[:16] if isinstance(item, dict)]
    return any(are_docker)


def _own(document: Mapping[str, Any], text: Text, found: Found) -> bool:
    """Take a snapshot or a report of gpudoctor's; one that cannot be used is not taken."""
    try:
        found.snapshot = codec.decode_snapshot(document, text.name)
    except (codec.CodecError, RecursionError):
        return False
    return True
