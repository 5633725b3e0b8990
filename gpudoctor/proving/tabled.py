"""What a table must prove: every row says where it was read, its key is there once, its cells fit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from gpudoctor import table_meaning
from gpudoctor.model import RuleDatabase, Table
from gpudoctor.words import show


def table_problems(database: RuleDatabase) -> Iterator[str]:
    """Yield every problem of every table, `path: problem`, one line for each kind of it."""
    for name, table in sorted(database.tables.items()):
        yield from (f"tables/{name}.toml: {fault.problem}" for fault in table_meaning.of_table(table))
        yield from (f"tables/{name}.toml: {problem}" for problem in _keys(table))


def _keys(table: Table) -> Iterator[str]:
    keys = Counter(", ".join(show(row[column]) for column in table.key) for row in table.rows)
    yield from (f"{count} rows have the key {key}" for key, count in keys.items() if count > 1)
