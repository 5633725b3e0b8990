"""Fit text to the columns of a terminal: pages as paragraphs, lists one record after the other."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator

_LISTED = re.compile(r"(?:[-*]|[0-9]+\.) ")
_FENCE = "```"
_ALONE = ("#", "|", _FENCE)


def records(text: str, width: int) -> str:
    """Return lines of which each stands for itself; what does not fit goes on below, indented."""
    return "".join(f"{line}\n" for record in text.splitlines() for line in _filled(record, width, " " * 4))


def page(text: str, width: int) -> str:
    """Return a page, its paragraphs and list items filled anew; tables and fenced commands as they stand."""
    return "".join(f"{line}\n" for block, fills in _blocks(text)
                   for line in (_filled(block, width, _hang(block)) if fills else [block]))


def _hang(block: str) -> str:
    item = _LISTED.match(block)
    return " " * item.end() if item else ""


def _blocks(text: str) -> Iterator[tuple[str, bool]]:
    """Yield paragraphs and list items as one line each, and other lines; whether each may be filled anew."""
    gathered: list[str] = []
    fenced = False
    for line in text.splitlines():
        alone = fenced or not line.strip() or line.startswith(_ALONE)
        if gathered and (alone or _LISTED.match(line)):
            yield " ".join(gathered), True
            gathered = []
        if alone:
            yield line, False
            fenced ^= line.startswith(_FENCE)
        else:
            gathered.append(line.strip())
    if gathered:
        yield " ".join(gathered), True


def _filled(line: str, width: int, hang: str) -> list[str]:
    return textwrap.wrap(line, width, subsequent_indent=hang, break_long_words=False,
                         break_on_hyphens=False) or [""]
