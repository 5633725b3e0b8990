"""Which rows of a reference table are wanted: `--where COLUMN=VALUE`, compared by the column's type."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from gpudoctor import codec, versions
from gpudoctor.cli.errors import UsageError
from gpudoctor.facts import LISTS, FactType
from gpudoctor.model import Row, Table, Tables, Value
from gpudoctor.nearest import did_you_mean
from gpudoctor.render.plain import printable

Wanted: TypeAlias = Callable[[Row], bool]

CARD = "cc"  # as in --assume: a card of this compute capability, whatever the column is called
_CARD_COLUMNS = (FactType.COMPUTE_CAPABILITY, FactType.COMPUTE_CAPABILITIES)
_CODE = "code"
_NAME, _FORMS = "name", "forms"  # forms in which people write the name
_COLUMNS, _LEAST_COLUMNS = 80, 20  # a site's own table may have a long name
_FEW = 12  # words in a column that are worth listing
_FLAGS = {"true": True, "yes": True, "false": False, "no": False}


def table_named(name: str, tables: Mapping[str, Table]) -> Table:
    """Return the table; raise `UsageError` naming those that there are."""
    if name not in tables:
        raise UsageError(f"there is no table {printable(name, 80)}{did_you_mean(name, tables)}; "
                         "`gpudoctor rules table` lists them all")
    return tables[name]


def names(tables: Tables, *, as_json: bool) -> str:
    """Return the names of the tables, one a line with what it holds as far as that fits; in JSON, a list."""
    listed = sorted(tables)
    if as_json:
        return json.dumps(listed) + "\n"
    widest = max(map(len, listed), default=0)
    return "".join(f"{name.ljust(widest)}  {_shortened(tables[name].summary, _COLUMNS - widest - 2)}".rstrip()
                   + "\n" for name in listed)


def _shortened(text: str, columns: int) -> str:
    import textwrap  # for the few who list them

    return textwrap.shorten(printable(text, 400), max(columns, _LEAST_COLUMNS), placeholder=" ...")


def chosen(table: Table, conditions: Sequence[str], tables: Tables) -> tuple[Row, ...]:
    """Return the rows that fulfil every condition; raise `UsageError` for one that fits no row here.

    A list fulfils it that holds the value. A row that does not know the column does not.
    """
    wanted = [_wanted(table, condition, tables) for condition in conditions]
    return tuple(row for row in table.rows if all(fulfils(row) for fulfils in wanted))


def none_of(table: Table, conditions: Sequence[str]) -> str:
    """Return in words that no row fulfils the conditions, and what stands in columns of few words."""
    if not table.rows:
        return f"{table.name} has no rows"
    texts = FactType.TEXT.value
    held = {column: {str(row[column]) for row in table.rows if column in row}
            for column in dict.fromkeys(condition.partition("=")[0].strip() for condition in conditions)
            if table.columns.get(column) == texts}
    listed = "".join(f"; its {column}: {', '.join(sorted(words))}" for column, words in held.items()
                     if 0 < len(words) <= _FEW)
    listed += "".join(_whole(table, condition) for condition in conditions)
    return (f"no row of {table.name} has {printable(' and '.join(conditions), 200)}, "
            f"of {len(table.rows)}{printable(listed, 600)}")


def _whole(table: Table, condition: str) -> str:
    """Return the versions in a column that begin with the one that was asked for, which is equal to none."""
    column, _, text = (part.strip() for part in condition.partition("="))
    if not table.columns.get(column, "").endswith("_version"):
        return ""
    longer = dict.fromkeys(str(row[column]) for row in table.rows
                           if str(row.get(column, "")).startswith(f"{text}."))
    few = [*list(longer)[:_FEW], *(["..."] if len(longer) > _FEW else [])]
    return f"; write its {column} whole: {', '.join(few)}" if few else ""


def _wanted(table: Table, condition: str, tables: Tables) -> Wanted:
    column, equals, text = (part.strip() for part in condition.partition("="))
    if not (column and equals and text):
        raise UsageError(f"--where '{printable(condition, 80)}': write COLUMN=VALUE, as in cuda=12.8")
    if column == CARD and CARD not in table.columns:
        return _of_card(table, text, tables)
    if column not in table.columns:
        raise UsageError(f"--where '{printable(condition, 80)}': {table.name} has no such column; "
                         f"there are: {', '.join(table.columns)}")
    return _equal_to(column, FactType(table.columns[column]), text)


def _of_card(table: Table, text: str, tables: Tables) -> Wanted:
    """Return the condition of a card: a column of compute capabilities, or device code that serves it."""
    _check(CARD, FactType.COMPUTE_CAPABILITY, text)
    columns = [name for name, kind in table.columns.items() if FactType(kind) in _CARD_COLUMNS]
    if len(columns) == 1:
        return _equal_to(columns[0], FactType(table.columns[columns[0]]), text)
    if not columns and table.columns.get(_CODE) == FactType.RECORDS.value:
        return lambda row: _serves(row, text, table.name.partition("_")[0], tables)  # jax_distributions: jax
    named = f"which of {', '.join(columns)} is meant?" if columns else (
        f"{table.name} has neither compute capabilities nor device code; "
        f"there are: {', '.join(table.columns)}")
    raise UsageError(f"--where {CARD}={printable(text, 80)}: {named}")


def _serves(row: Row, capability: str, framework: str, tables: Tables) -> bool:
    """Return whether a row's code is known to work on a card, as a recommendation asks it of a release."""
    from gpudoctor.derive import ptx_failures
    from gpudoctor.derive.integrated import coverage

    code, cuda = row.get(_CODE), row.get("cuda")
    records = [record for record in code if isinstance(record, Mapping)] if isinstance(code, tuple) else []
    return bool(records) and ptx_failures.is_known_to_work(
        framework, coverage(records, capability, str(cuda or ""), tables), capability, tables)


def _equal_to(column: str, kind: FactType, text: str) -> Wanted:
    if kind is FactType.RECORDS:
        raise UsageError(f"--where {column}=...: the column holds records, with which nothing is compared")
    value = _check(column, kind, text)
    if kind is FactType.COMPUTE_CAPABILITIES:
        card = FactType.COMPUTE_CAPABILITY
        return lambda row: any(_same(card, item, value) for item in _items(row, column))
    if kind in LISTS:
        return lambda row: _plain(value) in map(_plain, _items(row, column))
    if kind is FactType.TEXT:
        others = _FORMS if column == _NAME else column
        return lambda row: _plain(value) in map(_plain, (row.get(column, ""), *_items(row, others)))
    return lambda row: column in row and _same(kind, row[column], value)


def _plain(value: Value) -> str:
    """Return a text as it is compared: people write "rtx 4090" for "RTX 4090", and "RTX4090"."""
    return "".join(str(value).lower().split())


def _items(row: Row, column: str) -> Sequence[Value]:
    cell = row.get(column, ())
    return [item for item in cell if isinstance(item, str)] if isinstance(cell, tuple) else ()


def _same(kind: FactType, left: Value, right: Value) -> bool:
    try:
        return versions.equal(kind, left, right)
    except versions.Incomparable:  # a row of a stranger's table, or "9.0a", which is no version
        return left == right


def _check(column: str, kind: FactType, text: str) -> Value:
    """Return the value typed as the column is; raise `UsageError` when it cannot be."""
    try:
        if kind is FactType.FLAG:
            return _FLAGS[text.lower()]
        if kind in (FactType.INTEGER, FactType.NUMBER):
            return float(text) if kind is FactType.NUMBER else int(text)
        if kind.value.endswith(("_version", "_isa")) or kind in _CARD_COLUMNS:
            versions.parse(text)
    except (KeyError, ValueError):
        raise UsageError(f"--where {column}={printable(text, 80)}: {column} is of the type {kind.value}, "
                         "which this is not") from None
    return text


# -- words -----------------------------------------------------------------------------------------

def as_json(table: Table, rows: Sequence[Row]) -> str:
    """Return rows as JSON; every row has every column, and what is not known is null."""
    nothing = dict.fromkeys(table.columns)
    return json.dumps({"rows": [{**nothing, **_encoded(row)} for row in rows]}, indent=2) + "\n"


def as_text(rows: Sequence[Row]) -> str:
    """Return a line for each row, without cells that hold records."""
    return "".join(f"{_line(_encoded(row))}\n" for row in rows)


def _encoded(row: Row) -> dict[str, object]:
    return {column: codec.encode_value(value) for column, value in row.items()}


def _line(row: Mapping[str, object]) -> str:
    return "  ".join(f"{column}={value}" for column, value in row.items() if not _is_bulky(value))


def _is_bulky(value: object) -> bool:
    return isinstance(value, list) and any(isinstance(item, dict) for item in value)
