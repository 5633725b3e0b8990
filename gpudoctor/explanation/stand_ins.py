"""What stands in a fix for facts that the text does not state: words of a shell that find them there.

The table `stand_ins` has them. A machine that is looked at gives its own values instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from gpudoctor.model import Fix, Known, Row, Subject, Tables, rows_of
from gpudoctor.words import PLACEHOLDER, placeholders

_TABLE = "stand_ins"


def with_stand_ins(fix: Fix, cause: str, subject: Subject, tables: Tables) -> Fix:
    """Return a fix with words in place of facts that are not known; it stays itself where there are none.

    A variable whose value the shell is to find is set by a command: what stands in `env` is taken as it is.
    """
    words = {str(row["fact"]): row for row in rows_of(tables, _TABLE) if row["cause"] in ("", cause)}
    missing = {name: words[name] for name in _named(fix)
               if name in words and not isinstance(subject.fact(name), Known)}
    if not missing:
        return fix
    found = {name: value for name, value in fix.env.items()
             if not missing.keys().isdisjoint(placeholders(value))}
    notes = dict.fromkeys(str(row["note"]) for row in missing.values() if "note" in row)
    title = " ".join(_put(fix.title, missing, "called").split()).replace(" ,", ",")
    return replace(
        fix, title="; ".join([title, *notes]), by_hand=fix.by_hand or bool(notes),
        commands=(*(_put(command, missing, "words") for command in fix.commands),
                  *(f'export {name}="{_put(value, missing, "words")}"' for name, value in found.items())),
        env={name: value for name, value in fix.env.items() if name not in found},
        undo=_put(fix.undo, missing, "words") if fix.undo else None)


def _named(fix: Fix) -> frozenset[str]:
    texts = (fix.title, fix.undo or "", *fix.commands, *fix.env.values())
    return frozenset(name for text in texts for name in placeholders(text))


def _put(text: str, rows: Mapping[str, Row], column: str) -> str:
    return PLACEHOLDER.sub(lambda found: str(rows[found[1]][column]) if found[1] in rows else found[0], text)
