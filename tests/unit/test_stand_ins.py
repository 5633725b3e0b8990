"""Snapshots that were made to be shared are compared by what their stand-ins stand for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from gpudoctor.compare import differences
from gpudoctor.model import Fact, Known, RuleDatabase, Snapshot, Value
from gpudoctor.ruledb import load_compiled
from gpudoctor.share import share

RULES = Path(__file__).parents[2] / "rules"


@pytest.fixture(scope="module")
def database() -> RuleDatabase:
    return load_compiled(RULES)


def machine(database: RuleDatabase, **facts: Value) -> Snapshot:
    known: dict[str, Fact] = {name.replace("__", "."): Known(value=value, source="the test")
                              for name, value in facts.items()}
    return replace(database.base, host={**known, **{
        name: fact for name, fact in database.base.host.items() if name not in known}})


MINE: dict[str, Value] = {"loader__library_path": ("/opt/acme/lib", "/opt/zeta/lib"),
                         "python__executable": "/opt/acme/bin/python"}


def test_a_name_more_is_one_change(database: RuleDatabase) -> None:
    """Every name behind it had another number, and each was said to have changed."""
    before = machine(database, **MINE)
    after = machine(database, loader__cache=({"soname": "libx.so.1", "path": "/opt/first/lib/libx.so.1"},),
                    **MINE)
    real = [change.name for change in differences(before, after)]
    assert real == ["loader.cache"]
    assert [change.name for change in differences(share(before), share(after))] == real
    assert [change.name for change in differences(before, share(after))] == real


def test_another_place_is_a_change(database: RuleDatabase) -> None:
    """That two paths are no longer in one folder is seen without their names."""
    before = machine(database, **MINE)
    after = machine(database, **{**MINE, "python__executable": "/opt/zeta/bin/python"})
    (change,) = differences(share(before), share(after))
    assert (change.name, change.before == change.after) == ("python.executable", False)


def test_what_has_no_partner_is_no_other(database: RuleDatabase) -> None:
    """A folder that is gone is not the one that has its number now."""
    before = machine(database, loader__library_path=("/opt/gone/lib", "/opt/acme/lib"))
    after = machine(database, loader__library_path=("/opt/acme/lib",))
    (change,) = differences(share(before), share(after))
    assert change.name == "loader.library_path"
    assert (change.before.count("lib"), change.after.count("lib")) == (2, 1)


def test_the_same_machine_has_not_changed(database: RuleDatabase) -> None:
    assert differences(share(machine(database, **MINE)), share(machine(database, **MINE))) == ()
