"""What the C library, bash and sudo say in another language is read as they say it in English.

Programs of CUDA speak English wherever they run; the loader's reason beside it, and the shell's, do not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gpudoctor.derive.remembered import of_same
from gpudoctor.model import Tables, Value

_LONGEST = 2000


def in_english(lines: Sequence[str], tables: Tables) -> Mapping[int, str]:
    """Return the lines that hold such a message, by their place from 0, each with it in English."""
    table = tables.get("locale_messages")
    whole = "\n".join(line[:_LONGEST] for line in lines).replace("\xa0", " ")
    said = [one for one in _phrases(table.rows) if one[0] in whole] if table else []
    if not said:
        return {}
    found = {}
    for place, line in enumerate(whole.split("\n")):
        english = line
        for phrase, says in said:
            english = english.replace(phrase, says)
        if english != line:
            found[place] = english
    return found


@of_same
def _phrases(rows: Sequence[Mapping[str, Value]]) -> Sequence[tuple[str, str]]:
    """Return each translation with its English message, the longest first: one may begin another."""
    found = [(str(phrase), str(row["says"])) for row in rows
             for phrase in (row["phrases"] if isinstance(row["phrases"], tuple) else ())]
    return sorted(found, key=lambda one: -len(one[0]))
