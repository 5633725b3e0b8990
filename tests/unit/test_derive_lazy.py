"""Derived facts are computed when they are read, once, and never raise."""

from __future__ import annotations

from gpudoctor.derive.lazy import LazyFacts
from gpudoctor.derive.view import View
from gpudoctor.model import Fact, Known, RuleDatabase, Snapshot, Table, Tables, Unknown

MISSING = Unknown(reason="nobody said")


def database(tables: Tables) -> RuleDatabase:
    """Return a database that holds these tables and nothing else."""
    return RuleDatabase(version="1", sha256="", rules=(), tables=tables, base=Snapshot(host={}))


def test_a_fact_is_computed_once_and_only_when_it_is_read() -> None:
    """Two readings, one computation; what nobody reads is not computed."""
    computed: list[str] = []

    def derive(_: View) -> Fact:
        computed.append("driver.version")
        return Known(value="580.95.05", source="a test")

    facts = LazyFacts({}, {}, {"driver.version": derive, "driver.works": derive}, database({}), MISSING)
    assert facts["driver.version"] == facts["driver.version"]
    assert computed == ["driver.version"]


def test_a_table_without_a_column_makes_the_fact_unknown() -> None:
    """Rules of another age, a site's own tables: what cannot be read is not wrong."""
    table = Table(name="cards", summary="", key=("name",), columns={"name": "text"}, rows=({"name": "x"},))

    def derive(view: View) -> Fact:
        return Known(value=view.table("cards").rows[0]["flavour"], source="a test")

    facts = LazyFacts({}, {}, {"driver.version": derive}, database({"cards": table}), MISSING)
    assert facts["driver.version"] == Unknown(reason="the rule database lacks 'flavour'")
