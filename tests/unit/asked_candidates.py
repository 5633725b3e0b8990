"""Recommendations asked for about the healthy machine of the cases, changed."""

from __future__ import annotations

from gpudoctor.assume import assumed, lay, parse_assumption
from gpudoctor.candidates import Asked, recommend
from gpudoctor.model import Absent, Fact, Known, Recommendation, RuleDatabase, Snapshot, Value


def host(database: RuleDatabase, *words: str, **facts: Value | None) -> Snapshot:
    """Return the healthy machine of the cases with what `--assume` is told, and with facts (None: absent)."""
    snapshot = lay(database.base, assumed([parse_assumption(word) for word in words]), database.tables,
                   source="the test")
    laid: dict[str, Fact] = {
        name.replace("__", "."): Absent(source="the test") if value is None else
        Known(value=value, source="the test") for name, value in facts.items()}
    return lay(snapshot, laid, database.tables, source="the test")


def asked(snapshot: Snapshot, database: RuleDatabase, *frameworks: str, python: str | None = None,
          may_change: tuple[str, ...] = (), why: tuple[str, ...] = (), image: bool = False,
          pre: bool = False, only_python: str | None = None) -> Recommendation:
    return recommend(snapshot, database, Asked(
        frameworks=frameworks, python=python, may_change=may_change, why=why, image=image, pre=pre,
        only_python=only_python))
