"""What a text states of versions, and the tables that know more of them."""

from __future__ import annotations

from gpudoctor.derive.view import as_texts
from gpudoctor.frozen import frozen
from gpudoctor.model import Facts, Known, Row, Tables, rows_of

FRAMEWORK_TABLES = {"pytorch": "torch", "tensorflow": "tensorflow", "keras": "tensorflow"}


@frozen
class Stated:
    """The facts of a text so far, and what the tables know of the framework's release."""

    facts: Facts
    tables: Tables
    rows: tuple[Row, ...]

    def text(self, name: str) -> str | None:
        """Return a stated value, None where the text does not say it."""
        fact = self.facts.get(name)
        return str(fact.value) if isinstance(fact, Known) else None

    def rows_of(self, table: str) -> tuple[Row, ...]:
        """Return the rows of a table, none where the rule database lacks it."""
        return rows_of(self.tables, table)

    def texts(self, name: str) -> tuple[str, ...]:
        """Return a list."""
        fact = self.facts.get(name)
        return as_texts(fact.value) if isinstance(fact, Known) else ()
