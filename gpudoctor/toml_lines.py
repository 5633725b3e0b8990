"""Find the line of a TOML text at which a value stands, for whoever has to mend it.

A parser says where a text is no TOML; of a value of the wrong kind only its place among the others is known.
Headings and keys are enough to find it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

Step = tuple[str, int | None]  # a key, and which of its entries

_STEP = re.compile(r"\.?([A-Za-z_][\w-]*)(?:\[([0-9]+)\])?")
_HEADING = re.compile(r"\s*\[")
_ENTRY = re.compile(r"\s*\{")
_OPENED = re.compile(r"=\s*\[\s*(#.*)?\Z")  # a list whose entries stand on the lines below
_CLOSED = re.compile(r"\s*\]")


def steps(place: str) -> tuple[Step, ...]:
    """Return the way to a place as a schema error writes it: $.detect[0].when[1].op."""
    found = _STEP.finditer(place.removeprefix("$"))
    return tuple((match[1], None if match[2] is None else int(match[2])) for match in found)


def line_of(text: str, way: Sequence[Step]) -> int:
    """Return the line, from 1 on, of the last step that can be found; 1 where none can."""
    lines = text.splitlines()
    line, last = 0, len(lines)
    for number, (key, index) in enumerate(way):
        heading = _heading(lines, key, index) if number == 0 else None
        if heading is not None:
            line, last = heading, _end(lines, heading + 1)
            continue
        first = _key(lines, key, line, last if number else _end(lines, 0))
        if first is None:
            break
        line = first if index is None else _entry(lines, first, last, index)
    return line + 1


def _heading(lines: Sequence[str], key: str, index: int | None) -> int | None:
    heading = f"[{key}]" if index is None else f"[[{key}]]"
    found = [number for number, line in enumerate(lines) if line.partition("#")[0].strip() == heading]
    wanted = index or 0
    return found[wanted] if wanted < len(found) else None


def _end(lines: Sequence[str], start: int) -> int:
    return next((n for n in range(start, len(lines)) if _HEADING.match(lines[n])), len(lines))


def _key(lines: Sequence[str], key: str, start: int, end: int) -> int | None:
    named = re.compile(rf"(?:^|[\s{{,\"]){re.escape(key)}\"?\s*=")
    return next((number for number in range(start, end) if named.search(lines[number])), None)


def _entry(lines: Sequence[str], start: int, end: int, index: int) -> int:
    """Return the line of an entry of a list; one that is written in a single line is that line."""
    if _OPENED.search(lines[start]) is None:
        return start
    closed = next((number for number in range(start + 1, end) if _CLOSED.match(lines[number])), end)
    entries = [number for number in range(start + 1, closed) if _ENTRY.match(lines[number])]
    return entries[index] if index < len(entries) else start
