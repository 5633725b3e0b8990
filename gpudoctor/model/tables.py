"""Tables of reference data, and how they are asked for rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from gpudoctor.frozen import frozen
from gpudoctor.model.snapshot import Value

Row: TypeAlias = Mapping[str, Value]


@frozen
class Table:
    """Reference data: rows of columns, each row with its source."""

    name: str
    summary: str
    key: tuple[str, ...]
    columns: Mapping[str, str]
    rows: tuple[Row, ...]


Tables: TypeAlias = Mapping[str, Table]


def rows_of(tables: Tables, name: str) -> tuple[Row, ...]:
    """Return the rows of a table; none where the rule database, which may be a stranger's, lacks it."""
    table = tables.get(name)
    return table.rows if table is not None else ()


def row_of(tables: Tables, name: str, **wanted: Value) -> Row | None:
    """Return the first row of a table in which the columns have these values."""
    return next((row for row in rows_of(tables, name)
                 if all(row.get(column) == value for column, value in wanted.items())), None)
