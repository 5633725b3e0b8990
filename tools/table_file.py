"""Write reference tables (rules/tables/NAME.toml): deterministic, one column a line, replaced in one step."""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.wheel_cache import write_atomically

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Row = dict[str, Any]
LINE_LIMIT = 110


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table's head; its rows come and go.

    One that `is_vocabulary` states no facts, and has no sources; one that is `informative` nothing reads.
    """

    summary: str
    key: tuple[str, ...]
    columns: Mapping[str, str]
    generated_by: str = "tools/update_tables.py"
    origin: str = "the published wheels"
    is_vocabulary: bool = False
    informative: bool = False


def render_table(table: Table, rows: Sequence[Row]) -> str:
    """Return the TOML text; a column without a value is left out, columns follow the table's order."""
    lines = [
        f"# Generated from {table.origin}: do not edit, run the script named below.",
        "",
        "[table]",
        f"summary = {_text(table.summary)}",
        f"key = {_inline(list(table.key))}",
        *(["vocabulary = true"] if table.is_vocabulary else []),
        f"generated_by = {_text(table.generated_by)}",
        *(["informative = true"] if table.informative else []),
        "",
        "[columns]",
        *(f"{name} = {_text(kind)}" for name, kind in table.columns.items()),
    ]
    for row in rows:
        unknown = set(row) - set(table.columns) - {"source", "accessed"}
        if unknown:
            raise ValueError(f"row with columns that the table does not have: {sorted(unknown)}")
        lines += ["", "[[row]]"]
        for name in (*table.columns, "source", "accessed"):
            if row.get(name) is not None:
                lines += _column(name, row[name])
    return "\n".join(lines) + "\n"


def write_table(path: Path, table: Table, rows: Sequence[Row]) -> None:
    """Write the table whole or not at all."""
    text = render_table(table, rows)
    tomllib.loads(text)  # what cannot be read back is never written
    write_atomically(path, text)


def read_rows(path: Path) -> list[Row]:
    """Return a table's rows, none if the file does not exist."""
    if not path.exists():
        return []
    rows: list[Row] = tomllib.loads(path.read_text(encoding="utf-8")).get("row", [])
    return rows


def changes(table: Table, before: Sequence[Row], after: Sequence[Row]) -> Iterator[str]:
    """Yield a line for each row that came or went, and for each column of a row that differs."""
    old_rows = {tuple(row[name] for name in table.key): row for row in before}
    new_rows = {tuple(row[name] for name in table.key): row for row in after}
    for key in [*new_rows, *(key for key in old_rows if key not in new_rows)]:
        old, new = old_rows.get(key), new_rows.get(key)
        name = " ".join(str(part) for part in key)
        if old is None or new is None:
            yield f"{name}: {'new' if old is None else 'gone'}"
            continue
        for column in (*table.columns, "source"):
            if old.get(column) != new.get(column):
                yield f"{name}: {column}: {_brief(old.get(column))} -> {_brief(new.get(column))}"


def _brief(value: object) -> str:
    text = "nothing" if value is None else repr(value)
    return text if len(text) <= LINE_LIMIT else f"{text[:LINE_LIMIT]}..."


def _column(name: str, value: object) -> list[str]:
    line = f"{name} = {_inline(value)}"
    if isinstance(value, list) and value and (len(line) > LINE_LIMIT or isinstance(value[0], dict)):
        return [f"{name} = [", *(f"  {_inline(item)}," for item in value), "]"]
    return [line]


def _inline(value: object) -> str:
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return f"{value:.10g}" if value % 1 else f"{value:.1f}"
    if isinstance(value, list):
        return f"[{', '.join(_inline(item) for item in value)}]"
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{key} = {_inline(item)}' for key, item in value.items())} }}"
    raise TypeError(f"no TOML for {value!r}")


def _text(value: str) -> str:
    # A TOML basic string escapes as JSON does, except that JSON leaves DEL alone.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")
