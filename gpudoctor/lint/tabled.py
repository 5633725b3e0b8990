"""What a table must prove: every row says where it was read, its key is there once, its cells fit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from gpudoctor import meaning
from gpudoctor.engine import show
from gpudoctor.lint.form import DATED, PINNED
from gpudoctor.model import RuleDatabase, Table, Value


def table_problems(database: RuleDatabase) -> Iterator[str]:
    """Yield every problem of every table, `path: problem`, one line for each kind of it."""
    for name, table in sorted(database.tables.items()):
        found: dict[str, list[int]] = {}
        for number, row in enumerate(table.rows, start=1):
            for problem in _source(row):
                found.setdefault(problem, []).append(number)
        yield from (f"tables/{name}.toml: row {_numbers(rows)}: {problem}" for problem, rows in found.items())
        yield from (f"tables/{name}.toml: {problem}" for problem in _keys(table))
        yield from (f"tables/{name}.toml: {fault.problem}" for fault in meaning.of_table(table))


def _numbers(rows: list[int]) -> str:
    return f"{rows[0]}" + (f" and {len(rows) - 1} more" if len(rows) > 1 else "")


def _source(row: Mapping[str, Value]) -> Iterator[str]:
    for source in str(row.get("source", "")).split():
        if source.startswith("https://"):
            if not DATED.match(str(row.get("accessed", ""))):
                yield "its https source lacks the day it was read (accessed = \"YYYY-MM-DD\")"
        elif not PINNED.match(source):
            yield f"its source {source[:80]!r} is neither https:// nor pypi:NAME==VERSION"


def _keys(table: Table) -> Iterator[str]:
    keys = Counter(", ".join(show(row[column]) for column in table.key) for row in table.rows)
    yield from (f"{count} rows have the key {key}" for key, count in keys.items() if count > 1)
