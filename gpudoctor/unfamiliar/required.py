"""A version that a line asks for, and the other one that it says is there: too old, or simply another."""

from __future__ import annotations

from collections.abc import Sequence

from gpudoctor.unfamiliar.phrases import Named

_WANTS = frozenset("require required requirement need needed expect expected want wanted".split())
_HAS = frozenset("but found got have has detected installed actual given only current".split())
_FARTHEST = 4  # words between such a word and its number
_MOST_PARTS = 3
TOO_OLD, OTHER, MET = "too old", "does not match", ""


def held_against(words: Sequence[str]) -> Named | None:
    """Return what is to say of what is there, by both versions; None where a line does not state two.

    It stands where the wanted thing is named: between the word that asks and its number.
    """
    asks = next((place for place, word in enumerate(words) if word in _WANTS), None)
    wanted = None if asks is None else _number(words, asks + 1)
    if asks is None or wanted is None:
        return None
    has = next((place for place in range(wanted[1], len(words)) if words[place] in _HAS), None)
    found = None if has is None else _number(words, has + 1)
    if found is None:
        return None
    both = [(one, other) for one, other in zip(found[0], wanted[0], strict=False) if one != other]
    said = MET if not both else TOO_OLD if both[0][0] < both[0][1] else OTHER
    return Named(said, asks, wanted[1])


def _number(words: Sequence[str], begin: int) -> tuple[tuple[int, ...], int] | None:
    """Return the first number from a place on, part by part, and where it ends."""
    for place in range(begin, min(begin + _FARTHEST + 1, len(words))):
        if words[place].isdecimal():
            end = place
            while end < min(place + _MOST_PARTS, len(words)) and words[end].isdecimal():
                end += 1
            return tuple(int(part[:9]) for part in words[place:end]), end
    return None
