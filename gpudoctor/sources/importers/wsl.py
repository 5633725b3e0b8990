"""`wsl -l -v` and `wsl --version`: which kind of WSL it is."""

from __future__ import annotations

import re

from gpudoctor.sources import fields
from gpudoctor.sources.found import Found
from gpudoctor.sources.lines import Text
from gpudoctor.sources.stated import Rank

_ROW = re.compile(r"[ *]\s{0,8}([A-Za-z0-9][A-Za-z0-9._-]{0,60})\s{1,60}"
                  r"(?:Running|Stopped|Installing)\s{1,20}([12])")
_ROWS = 30
_OF_DOCKER = "docker-desktop"


def read(text: Text, found: Found) -> None:
    """Read the distribution that the star marks, else the only one."""
    for index in text.having("NAME"):
        if text.lines[index].split() == ["NAME", "STATE", "VERSION"]:
            _list(text, found, index)
    for index in text.having("WSL version: "):
        found.say("system.wsl", 2, text.source(index))  # the first kind has no version and no kernel


def _list(text: Text, found: Found, heading: int) -> None:
    rows = []
    for index in range(heading + 1, min(heading + _ROWS, len(text.lines))):
        row = _ROW.fullmatch(text.lines[index].rstrip())
        if row is None:
            break
        if not row[1].startswith(_OF_DOCKER):
            rows.append((index, row))
    marked = [one for one in rows if text.lines[one[0]].startswith("*")] or rows
    if len({row[2] for _, row in marked}) == 1:
        index, row = marked[0]
        found.say("system.wsl", int(row[2]), text.source(index))
        fields.os(found, row[1].replace("-", " "), text.source(index), Rank.STATED)
