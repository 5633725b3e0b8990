"""Who holds the memory of a card, from the numbers of PyTorch's message that it ran out."""

from __future__ import annotations

import re

from gpudoctor.sources.found import Found
from gpudoctor.sources.lines import Text
from gpudoctor.sources.stated import Rank

MARK = "Tried to allocate "
_IN_GIB = {"GiB": 1.0, "MiB": 1 / 1024, "KiB": 1 / 1024**2, "bytes": 1 / 1024**3}
_SIZE = r"([0-9]{1,7}(?:\.[0-9]{1,2})?) (GiB|MiB|KiB|bytes)"
# "10.76 GiB total capacity" until 2.0, "has a total capacity of 10.76 GiB" from 2.1, with "capacty" between
_TOTAL = (re.compile(rf"{_SIZE} total capacity"), re.compile(rf"total capaci?ty of {_SIZE}"))
_FREE = (re.compile(rf"{_SIZE} free"), re.compile(rf"of which {_SIZE} is free"))
_OWN = (re.compile(rf"{_SIZE} reserved in total by PyTorch"),
        re.compile(rf"this process has {_SIZE} memory in use"),
        re.compile(rf"{_SIZE} already allocated"), re.compile(rf"{_SIZE} is allocated by PyTorch"))
_CACHED = re.compile(rf"{_SIZE} cached")  # until 1.1 beside what is allocated
_CONTEXT_GIB = 1.5  # what a process holds beside PyTorch's memory at the most: its context and its libraries
_SHARE = 0.25  # of the card: less than that held by others is a desktop, and decides nothing
_WRAPPED_LINES = 4


def read(text: Text, found: Found) -> None:
    """Say of the last such message whether others hold much of the card."""
    for index in list(text.having(MARK))[-1:]:
        below = text.lines[index:index + _WRAPPED_LINES]
        answers = {_held_elsewhere(glue.join(below)[:2000]) for glue in ("", " ")} - {None}
        if len(answers) == 1:  # a line that was broken within a number reads differently
            found.say("text.memory_elsewhere", answers.pop(), text.source(index), Rank.REPORTED)


def _held_elsewhere(said: str) -> bool | None:
    total, free = _first(_TOTAL, said), _first(_FREE, said)
    own = [size for pattern in _OWN if (size := _gibibytes(pattern.search(said))) is not None]
    if total is None or free is None or not own:
        return None
    cached = _gibibytes(_CACHED.search(said)) or 0.0
    others = total - free - max(own) - cached
    return others > max(_CONTEXT_GIB, total * _SHARE)


def _first(patterns: tuple[re.Pattern[str], ...], said: str) -> float | None:
    sizes = (_gibibytes(pattern.search(said)) for pattern in patterns)
    return next((size for size in sizes if size is not None), None)


def _gibibytes(match: re.Match[str] | None) -> float | None:
    return None if match is None else float(match[1]) * _IN_GIB[match[2]]
