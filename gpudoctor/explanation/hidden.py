"""What CUDA_VISIBLE_DEVICES is given, in any language: CUDA stops at the first entry that names no card.

`all`, `cuda:0` and `cpu` are no entries, so they hide every card, as -1 and nothing do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from gpudoctor.explanation.answers import Answered

HIDDEN = "CUDA_VISIBLE_DEVICES hides every card"
_NAME = "CUDA_VISIBLE_DEVICES"
# NAME=value of shells, Dockerfiles and -e; NAME: value of YAML; environ["NAME"] = "value"; "NAME", "value".
_GIVEN = re.compile(
    r"CUDA_VISIBLE_DEVICES(?:['\"]?\]?) ?(?P<mark>[=:,]) ?(?P<value>\"[^\"]{0,60}\"|'[^']{0,60}'|"
    r"[^\s\"'`;)]{0,60})")
_NO_CARD = re.compile(r"-[0-9]{1,3}|all|void|none|cpu|(?:gpu|cuda):?[0-9]{0,3}", re.IGNORECASE)
_PRINTED = frozenset({"none", "cpu"})  # unquoted behind a colon a program says so of what is not set
_MOST = 20


def hidden(lines: Sequence[str]) -> Iterator[Answered]:
    """Yield a line for each value that shows no card at all."""
    found = 0
    for number, line in enumerate(lines, start=1):
        if _NAME not in line:
            continue
        for given in _GIVEN.finditer(line[:2000]):
            if _hides(given["mark"], given["value"]):
                found += 1
                yield Answered(text=f"{HIDDEN}: {given['value']}", line=number)
                if found == _MOST:
                    return


def _hides(mark: str, value: str) -> bool:
    """Say whether no card is shown; an empty value counts where it is quoted."""
    quoted = value[:1] in ("'", '"')
    entries = value.strip("'\"").split(",")
    first = entries[0].strip()
    if not first:
        return quoted and len(entries) == 1 and mark != ":"
    if mark == ":" and not quoted and first.lower() in _PRINTED:
        return False
    return _NO_CARD.fullmatch(first) is not None
