"""Derived facts of the base machine after changes, on the tables of this checkout."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

from gpudoctor import derive
from gpudoctor.assume import lay
from gpudoctor.model import Absent, Fact, Known, RuleDatabase, Scope, Unknown, Value

Change: TypeAlias = Mapping[str, Value | Fact]

RULES = Path(__file__).parents[2] / "rules"
H100: Change = {"cc": "9.0", "driver": "580.95.05"}
V100: Change = {"cc": "7.0", "driver": "580.95.05"}
NOTHING_PLANNED: Change = {"python.planned_distributions": ()}


def fact(database: RuleDatabase, scope: Scope, name: str, *changes: Change) -> Fact:
    """Return one derived fact of the base machine after `changes`, laid over it in order."""
    facts = {
        key: value if isinstance(value, Known | Absent | Unknown) else Known(value=value, source="test")
        for change in changes
        for key, value in change.items()
    }
    snapshot = lay(database.base, facts, database.tables, source="test")
    return derive.subjects(snapshot, database)[scope][0].fact(name)


def value(database: RuleDatabase, name: str, *changes: Change) -> Value:
    """Return the value of a framework's derived fact, which must be known."""
    found = fact(database, Scope.FRAMEWORK, name, *changes)
    assert isinstance(found, Known), found
    return found.value


def release(text: str, python: str = "3.11.9") -> Change:
    """Return a release, installed with its CUDA libraries."""
    return {"python": python, "release": text}
