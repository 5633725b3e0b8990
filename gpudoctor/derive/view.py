"""Read facts in a derivation: what is not known ends the derivation with the right kind of not-knowing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any, TypeVar

from gpudoctor import versions
from gpudoctor.facts import CATALOGUE, FactType
from gpudoctor.frozen import frozen
from gpudoctor.model import (
    Absent, Fact, Facts, Known, Record, Row, RuleDatabase, Scalar, SymptomPattern, Table, Tables, Unknown,
    Value, value_of,
)

T = TypeVar("T")


class NotKnown(Exception):
    """A needed fact is absent or unknown; `fact` is what the derivation yields instead."""

    def __init__(self, fact: Absent | Unknown) -> None:
        super().__init__(fact)
        self.fact = fact


@frozen
class View:
    """The facts of one subject, and what the rule database knows besides its rules."""

    facts: Facts
    database: RuleDatabase
    missing: Unknown = Unknown(reason="no probe answered for it")
    memory: dict[str, Any] = field(default_factory=dict)

    def once(self, name: str, compute: Callable[[View], T]) -> T:
        """Return what `compute` gives for this subject, computed once; not-knowing is remembered as well."""
        if name not in self.memory:
            try:
                self.memory[name] = compute(self)
            except NotKnown as error:
                self.memory[name] = error
        found = self.memory[name]
        if isinstance(found, NotKnown):
            raise found
        return found  # type: ignore[no-any-return]

    def fact(self, name: str) -> Fact:
        """Return the fact, never raising."""
        assert name in CATALOGUE, name
        return self.facts.get(name, self.missing)

    def value(self, name: str) -> Value | None:
        """Return the value when known, else None."""
        assert name in CATALOGUE, name
        return value_of(self.facts, name)

    def need(self, name: str) -> Value:
        """Return the value or end the derivation."""
        fact = self.fact(name)
        if isinstance(fact, Known):
            return fact.value
        if isinstance(fact, Absent):
            raise NotKnown(Absent(source=f"{name} is not there ({fact.source})"))
        raise NotKnown(Unknown(reason=f"{name}: {fact.reason}", asked=fact.asked))

    def look(self, name: str) -> Value | None:
        """Return the value, None of what is not there; end the derivation where nobody could look."""
        fact = self.fact(name)
        if isinstance(fact, Unknown):
            raise NotKnown(Unknown(reason=f"{name}: {fact.reason}", asked=fact.asked))
        return fact.value if isinstance(fact, Known) else None

    def need_text(self, name: str) -> str:
        """Return a text value or end the derivation."""
        return str(self.need(name))

    def source(self, name: str) -> str:
        """Return where a fact was seen, "" when it is not known."""
        fact = self.fact(name)
        return fact.source if isinstance(fact, Known) else ""

    def bound(self, name: str) -> str | None:
        """Return the value, or what it is at least, None where neither is known."""
        fact = self.fact(name)
        if isinstance(fact, Unknown):
            return fact.at_least
        return str(fact.value) if isinstance(fact, Known) else None

    def texts(self, name: str) -> tuple[str, ...]:
        """Return a list of texts, empty when not known."""
        return as_texts(self.value(name))

    def records(self, name: str) -> tuple[Record, ...]:
        """Return records, empty when not known."""
        return as_records(self.value(name))

    def number(self, name: str) -> int:
        """Return an integer, 0 when not known."""
        value = self.value(name)
        return value if isinstance(value, int) else 0

    def unknown_among(self, names: Sequence[str]) -> Unknown | None:
        """Return the first of these facts that is unknown; one that was asked for comes first."""
        found = [fact for name in names if isinstance(fact := self.fact(name), Unknown)]
        return min(found, key=lambda fact: not fact.asked, default=None)

    def table(self, name: str) -> Table:
        """Return a table; a database without it makes the derivation unknown, not wrong."""
        table = self.tables.get(name)
        if table is None:
            raise NotKnown(Unknown(reason=f"the rule database has no table {name}"))
        return table

    @property
    def tables(self) -> Tables:
        """Return every table; one that has to be there is asked for with `table`."""
        return self.database.tables

    @property
    def symptoms(self) -> Sequence[SymptomPattern]:
        """Return the patterns of what programs say."""
        return self.database.symptoms


def as_texts(value: Value | None) -> tuple[str, ...]:
    """Return the texts of a list value."""
    return tuple([item for item in value if isinstance(item, str)]) if isinstance(value, tuple) else ()


def as_records(value: Value | None) -> tuple[Record, ...]:
    """Return the records of a list value."""
    return tuple([item for item in value if isinstance(item, Mapping)]) if isinstance(value, tuple) else ()


def text_in(record: Mapping[str, Scalar] | Mapping[str, Value], key: str) -> str:
    """Return a text of a record, "" when it is not there."""
    value = record.get(key, "")
    return value if isinstance(value, str) else str(value)


def text_of(facts: Facts, name: str) -> str:
    """Return the value of a fact as a text, "" of one that is not known."""
    value = value_of(facts, name)
    return "" if value is None else str(value)


def floor_row(table: Table, column: str, version: str) -> Row | None:
    """Return the row with the greatest `column` that is not above `version`."""
    kind = FactType(table.columns[column])
    rows = [row for row in table.rows if column in row and not versions.below(kind, version, row[column])]
    return max(rows, key=lambda row: versions.parse(str(row[column])), default=None)
