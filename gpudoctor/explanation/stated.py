"""What a text states of versions, and the tables that know more of them."""

from __future__ import annotations

from gpudoctor.derive.view import as_texts
from gpudoctor.frozen import frozen
from gpudoctor.model import Facts, Row, Tables, rows_of, value_of

FRAMEWORK_TABLES = {"pytorch": "torch", "tensorflow": "tensorflow", "keras": "tensorflow"}
# Where the code of every release is told: of these a version alone does not tell the build.
CODE_TABLES = {**FRAMEWORK_TABLES, "jax": "jax_distributions", "paddle": "paddle_distributions",
               "cupy": "cupy_distributions"}


@frozen
class Stated:
    """The facts of a text so far, and what the tables know of the framework's release."""

    facts: Facts
    tables: Tables
    rows: tuple[Row, ...]

    def text(self, name: str) -> str | None:
        """Return a stated value, None where the text does not say it."""
        value = value_of(self.facts, name)
        return None if value is None else str(value)

    def rows_of(self, table: str) -> tuple[Row, ...]:
        """Return the rows of a table, none where the rule database lacks it."""
        return rows_of(self.tables, table)

    def texts(self, name: str) -> tuple[str, ...]:
        """Return a list."""
        return as_texts(value_of(self.facts, name))
