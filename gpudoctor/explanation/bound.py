"""What the place that a text states cannot have: causes of other systems, and commands that do not run there.

The table `bound_to_places` says which causes and which words belong to which places. A text that names no
system leaves all of them open. `causes_by_place` says what a cause mostly is in a place that has its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from gpudoctor.derive.view import as_texts
from gpudoctor.model import Ask, Fix, Row, Subject, Suspect, Tables, Value, rows_of

_TABLE, _BY_PLACE, _PLACES = "bound_to_places", "causes_by_place", "text.places"
_GREP = re.compile(r"""\| *grep (?:-[iE]+ )*(?:'([^']+)'|"([^"]+)"|([\w.-]+))""")
_EXPORTS = "export "  # a word of shells of Unix alone
_BARE_VALUE = re.compile(r"[\w.,:/+-]*")
_SYSTEMS = frozenset({"linux", "windows", "macos"})


def causes_elsewhere(subject: Subject, tables: Tables) -> frozenset[str]:
    """Return the causes that can be found only in places other than the stated ones."""
    return frozenset(cause for row in _of_other_places(subject, tables) for cause in as_texts(row["causes"]))


def as_there(found: Mapping[str, Mapping[str, Suspect]], subject: Subject, tables: Tables
             ) -> dict[str, dict[str, Suspect]]:
    """Return suspicions, by cause and symptom, as they are in the stated place, which may have its own."""
    places = as_texts(subject.value(_PLACES))
    rows = [row for row in rows_of(tables, _BY_PLACE)
            if row["place"] in places and row.get("unless") not in places and row["cause"] in found]
    there = {cause: dict(suspects) for cause, suspects in found.items()}
    for row in rows:
        own = there.setdefault(str(row["instead"]), {})
        for symptom, suspect in found[str(row["cause"])].items():
            other = replace(_weighing(suspect, row["share"]), cause=str(row["instead"]),
                            because=str(row["because"]))
            if symptom not in own or own[symptom].weight < other.weight:
                own[symptom] = other
            there[str(row["cause"])][symptom] = _weighing(suspect, row["left"])
    return there


def _weighing(suspect: Suspect, percent: Value) -> Suspect:
    share = percent if isinstance(percent, int) else 100
    return replace(suspect, weight=round(suspect.weight * share / 100))


def foreign_words(subject: Subject, tables: Tables) -> tuple[str, ...]:
    """Return the words of commands that run only in places other than the stated ones."""
    return tuple(word for row in _of_other_places(subject, tables) for word in as_texts(row["words"]))


def foreign_to_fixes(subject: Subject, tables: Tables) -> tuple[str, ...]:
    """Return the words that keep a fix out there, those of a shell among them."""
    own = (word for row in _of_other_places(subject, tables) for word in as_texts(row.get("in_fixes")))
    return (*foreign_words(subject, tables), *own)


def as_asked_there(ask: Ask, elsewhere: tuple[str, ...]) -> Ask:
    """Return a question with the filter of its command as the stated place has it: `findstr` for `grep`."""
    if "grep" not in elsewhere:
        return ask
    return replace(ask, command=_GREP.sub(_findstr, ask.command))


def _findstr(grep: re.Match[str]) -> str:
    words = (grep[1] or grep[2] or grep[3]).strip().removeprefix("^").strip("()").split("|")
    if any(" " in word for word in words):
        return "| findstr /i " + " ".join(f'/c:"{word}"' for word in words)
    return f'| findstr /i "{" ".join(words)}"'


def fits(ask: Ask, foreign: tuple[str, ...]) -> bool:
    """Say whether a question can be answered where its command runs."""
    return not speaks_of(f"{ask.question}\n{ask.command}", foreign)


def of_place(fix: Fix, foreign: tuple[str, ...]) -> Fix | None:
    """Return a fix without commands that do not run there; None where its very title speaks of them."""
    if speaks_of(fix.title, foreign):
        return None
    if speaks_of("\n".join((*fix.commands, *fix.env)), foreign):
        return replace(fix, commands=(), env={}, undo=None)
    undo = None if speaks_of(fix.undo or "", foreign) else fix.undo
    if fix.env and _EXPORTS in foreign:
        return _in_powershell(replace(fix, undo=undo))
    return replace(fix, undo=undo)


def _in_powershell(fix: Fix) -> Fix:
    """Return a fix that sets its variables as PowerShell does; one is left whose value would need quoting."""
    if not all(map(_BARE_VALUE.fullmatch, fix.env.values())):
        return replace(fix, commands=(), env={}, undo=None)
    lines = (f"$env:{name} = '{value}'    # in PowerShell" for name, value in fix.env.items())
    undo = "; ".join(f"Remove-Item Env:{name}" for name in fix.env)
    return replace(fix, commands=(*fix.commands, *lines), env={}, undo=fix.undo or undo)


def speaks_of(text: str, words: tuple[str, ...]) -> bool:
    """Say whether a text has any of the words."""
    return any(word in text for word in words)


def _of_other_places(subject: Subject, tables: Tables) -> Iterator[Row]:
    places = frozenset(as_texts(subject.value(_PLACES)))
    if not places.isdisjoint(_SYSTEMS):
        yield from (row for row in rows_of(tables, _TABLE) if places.isdisjoint(as_texts(row["places"])))
