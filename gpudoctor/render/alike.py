"""Messages that differ in their numbers alone, said in one line that is true of each."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gpudoctor import versions

_NUMBER = re.compile(r"[0-9]+(?:\.\w+)*(?:\+\w+)?")  # a version too, with the local label that it may have
_TO = " to "  # between the ends of a range


def form(message: str) -> str:
    """Return what a message has in common with those that differ from it in numbers alone."""
    return _NUMBER.sub("0", message)


def of_all(messages: Sequence[str]) -> str:
    """Return messages of one form as one: numbers in which they differ become their ends, newest first.

    Ranges (`3.6 to 3.9`) become the one that spans them all.
    """
    between = _NUMBER.split(messages[0])
    numbers = list(zip(*(_NUMBER.findall(message) for message in messages), strict=True))
    said = [_ends(some) for some in numbers]
    for place, words in enumerate(between[1:-1], start=1):
        if words == _TO:
            said[place - 1:place + 1] = min(numbers[place - 1], key=_order), max(numbers[place], key=_order)
    return "".join(part for pair in zip(between, [*said, ""], strict=True) for part in pair)


def _ends(numbers: Sequence[str]) -> str:
    ordered = sorted(dict.fromkeys(numbers), key=_order)
    return numbers[0] if len(ordered) == 1 else f"{ordered[-1]} ... {ordered[0]}"


def _order(number: str) -> tuple[bool, object]:
    """Return what to sort by: what is no version comes before all that are."""
    try:
        return True, versions.parse(number.partition("+")[0])
    except versions.Incomparable:
        return False, number
