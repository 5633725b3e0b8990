"""What somebody may have meant who named something that is not there."""

from __future__ import annotations

import re
from collections.abc import Iterable

_MOST = 3
_LONGEST = 80  # of a name; the comparison takes the square of its length
_ALIKE = 0.7
_WORD = re.compile(r"[-_.]")
_ID = re.compile(r"(GPDX?)([0-9]{1,5})\Z", re.IGNORECASE)


def did_you_mean(named: str, known: Iterable[str]) -> str:
    """Return "; did you mean A or B?" for the names that resemble it most, else those that have it as a word.

    Nothing, too, of a name that is there: then something else is wrong. Of ids those with the nearest
    numbers: pages of one family stand together.
    """
    import difflib  # for the few who mistyped

    spelt = {name.lower(): name for name in known}
    if named in spelt.values():
        return ""
    number = _number(named)
    if number is not None:
        ids = {name: other for name in spelt.values() if (other := _number(name)) is not None}
        kind, place = number
        near = sorted(ids, key=lambda name: (ids[name][0] != kind, abs(ids[name][1] - place)))[:_MOST]
    else:
        wanted = named[:_LONGEST].lower()
        near = [spelt[name] for name in difflib.get_close_matches(wanted, spelt, n=_MOST, cutoff=_ALIKE)]
        near = near or [spelt[name] for name in sorted(spelt) if wanted in _WORD.split(name)][:_MOST]
    return f"; did you mean {' or '.join(near)}?" if near else ""


def _number(name: str) -> tuple[str, int] | None:
    """Return the prefix and the number of a page's id."""
    found = _ID.match(name)
    return None if found is None else (found[1].upper(), int(found[2]))
