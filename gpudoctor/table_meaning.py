"""Whether a table says anything that can be judged by: its cells, its columns' names, its sources.

Each kind of fault is one, however many rows have it. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date

from gpudoctor.facts import FactType
from gpudoctor.meaning import Fault, fits
from gpudoctor.model import Row, Table, Tables

_DATED = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}\Z")
PINNED = re.compile(r"pypi:[A-Za-z0-9._-]+==\S+\Z")


def is_day(text: str) -> bool:
    """Say whether a text is a day of the calendar, YYYY-MM-DD."""
    try:
        return _DATED.match(text) is not None and date.fromisoformat(text) is not None
    except ValueError:
        return False


def of_table(table: Table) -> Iterator[Fault]:
    """Yield what its cells cannot mean, and rows that do not say where and when they were read."""
    kinds = {column: FactType(kind) for column, kind in table.columns.items()}
    found: dict[tuple[str, str], list[int]] = {}
    shown: dict[tuple[str, str], str] = {}
    for number, row in enumerate(table.rows):
        for column, value in row.items():
            if not fits(kinds[column], value):
                kind = column, "no cell of its column"
                found.setdefault(kind, []).append(number)
                shown.setdefault(kind, f"{column} = {str(value)[:60]!r} is no {kinds[column].value}")
        for problem in _source(row):
            found.setdefault(("source", problem), []).append(number)
            shown.setdefault(("source", problem), problem)
    yield from (Fault(place=f"row[{first}].{kind[0]}",
                      problem=f"row {first + 1}{f' and {len(more)} more' if more else ''}: {shown[kind]}")
                for kind, (first, *more) in found.items())


def lacking(table: Table, shipped: Tables, *, older: bool) -> Iterator[Fault]:
    """Yield the columns that a table no longer has: what reads them in the shipped one would find nothing.

    `older` rules lack columns that came later, and newer ones have more; only renamed ones do both.
    """
    known = shipped[table.name].columns if table.name in shipped else table.columns
    gone = ", ".join(column for column in known if column not in table.columns)
    strange = [column for column in table.columns if column not in known]
    if gone and strange:
        yield Fault(place=f"columns.{strange[0]}",
                    problem=f"has {', '.join(strange)} where the shipped table has {gone}: "
                            "a column keeps its name, for programs read it by that")
    elif gone and not older:
        yield Fault(place="columns",
                    problem=f"lacks {gone}, which the shipped table has: a column stays, if need be without "
                            "a cell, for programs read it; older rules say in db.toml that they are older")


def _source(row: Row) -> Iterator[str]:
    for source in str(row.get("source", "")).split():
        if source.startswith("https://"):
            if not is_day(str(row.get("accessed", ""))):
                yield "its https source lacks the day it was read (accessed = \"YYYY-MM-DD\")"
        elif not PINNED.match(source):
            yield f"its source {source[:80]!r} is neither https:// nor pypi:NAME==VERSION"
