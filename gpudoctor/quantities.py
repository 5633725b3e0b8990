"""Two numbers of one line held against each other: free memory against all of it, a version against another.

A size has a unit, a version has dots: `73.88MiB` is less than `8.00 GiB`, and 10.1 is more than 9.2.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from gpudoctor.model import Comparison

_UNITS = {"B": 1, "BYTES": 1, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40,
          "KB": 10**3, "MB": 10**6, "GB": 10**9}
_QUANTITY = re.compile(r"([0-9]{1,18}(?:\.[0-9]{1,9}){0,4}) ?([A-Za-z]{0,5})\Z")
BELOW, ABOVE = "below", "above"
OPERATORS = frozenset({BELOW, ABOVE})


def all_hold(comparisons: Iterable[Comparison], captures: Mapping[str, str]) -> bool:
    """Say whether every comparison holds; one of what is no number does not."""
    return all(_holds(one, captures) for one in comparisons)


def _holds(comparison: Comparison, captures: Mapping[str, str]) -> bool:
    left, right = (_QUANTITY.match(captures.get(name, "").rstrip("."))
                   for name in (comparison.left, comparison.right))
    if left is None or right is None:
        return False
    difference: float | None = _compared(_version(left[1]), _version(right[1]))
    if comparison.times is not None:
        one, other = _size(left), _size(right)
        difference = None if one is None or other is None else one - comparison.times * other
    if difference is None:
        return False
    return difference < 0 if comparison.op == BELOW else difference > 0


def _version(digits: str) -> tuple[int, ...]:
    return tuple(int(part) for part in digits.split("."))


def _compared(one: tuple[int, ...], other: tuple[int, ...]) -> int:
    """Return the order of two versions as far as both are written out: 12 is neither side of 12.4."""
    both = [(left, right) for left, right in zip(one, other, strict=False) if left != right]
    return 0 if not both else both[0][0] - both[0][1]


def _size(found: re.Match[str]) -> float | None:
    unit = _UNITS.get(found[2].upper() or "B")
    return None if unit is None or found[1].count(".") > 1 else float(found[1]) * unit
