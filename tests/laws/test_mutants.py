"""The cases of a page notice when one of its conditions is changed (docs/mutants.md)."""

from __future__ import annotations

from functools import cache

import pytest
from packaging.version import Version

from gpudoctor import ruledb
from gpudoctor.facts import FactType
from gpudoctor.model import Case, Condition, Detect, Operand, Rule, RuleDatabase, Scope, Severity
from tools.mutate_rules import (
    EQUIVALENT, FIGURE, LEAST_SHARE, Count, chosen, count, equivalents, ladders_of, next_to,
)

SEED = 2026
DRIVER = Condition(fact="driver.kernel_version", op="at_least", right=Operand(value="570.86.15"))
WSL = Condition(fact="system.wsl", op="missing")


@cache
def database() -> RuleDatabase:
    """Return the rules that ship, with their cases."""
    return ruledb.load(extent="whole")


def page(*cases: Case) -> Rule:
    """Return a page with two conditions and these cases."""
    return Rule(
        id="GPDX0001", cause="made-up", severity=Severity.ERROR, scope=Scope.HOST, summary="", since="1",
        detect=(Detect(name="new", when=(DRIVER, WSL)),), case=cases, title="", page="", path="made/up.md")


def case(expect: str, **facts: str | int) -> Case:
    """Return a case of that page."""
    return Case(name=str(facts), expect=expect, block="new" if expect == "match" else None,  # type: ignore[arg-type]
                facts={name.replace("__", "."): value for name, value in facts.items()})


AT = case("match", driver__kernel_version="570.86.15")
FAR_ABOVE = case("match", driver__kernel_version="595.45.04")
FAR_BELOW = case("clear", driver__kernel_version="418.226.00")
JUST_BELOW = case("clear", driver__kernel_version="570.86.14")
IN_WSL = case("clear", driver__kernel_version="570.86.15", system__wsl=2)
ALL = {"driver.kernel_version is at least 570.86.15 -> " + what
       for what in ("below", "dropped", "next above", "next below")} | {
           "system.wsl is not there -> " + what for what in ("exists", "dropped")}


@pytest.mark.parametrize(("cases", "survivors"), [
    ((), ALL),
    ((FAR_ABOVE,), {what for what in ALL if what.endswith(("dropped", "next above", "next below"))}),
    ((FAR_ABOVE, FAR_BELOW), {what for what in ALL if what.endswith(("next above", "next below"))
                              or what == "system.wsl is not there -> dropped"}),
    ((AT, FAR_BELOW, IN_WSL), {what for what in ALL if what.endswith("next below")}),
    ((AT, JUST_BELOW, IN_WSL), set()),
])
def test_each_kind_of_change_needs_a_case_of_its_own(cases: tuple[Case, ...], survivors: set[str]) -> None:
    """A version is moved to its neighbours in the tables; only a case next to the boundary notices."""
    found = count(database(), [page(*cases)])
    assert found.made == len(ALL)
    assert {name.removeprefix("GPDX0001 / new / ") for name in found.survived} == survivors


def test_a_case_next_to_the_boundary_kills_the_last() -> None:
    """The version that the tables know next below, and the boundary itself."""
    below = next_to("570.86.15", FactType.DRIVER_VERSION, -1, ladders_of(database().tables))
    neighbour = case("clear", driver__kernel_version=str(below))
    assert count(database(), [page(AT, neighbour, IN_WSL)]).survived == ()


def test_a_page_whose_cases_fail_unchanged_is_refused() -> None:
    """Its mutants would all count as killed."""
    with pytest.raises(ValueError, match="fail without any change"):
        count(database(), [page(case("clear", driver__kernel_version="595.45.04"))])


@pytest.mark.parametrize(("value", "step", "expected"), [
    ("2.0", 1, "3"), ("2.0", -1, "1.5"), ("1.7", 1, "2"), ("1.7", -1, "1.5"), ("3", 1, "4.0"),
    ("1.5", -1, "0"), (802, 1, 803), (802, -1, 801)])
def test_neighbours_are_those_of_the_tables(value: str | int, step: int, expected: str | int) -> None:
    """Beyond the last, one that is newer than all; numbers have theirs."""
    ladders = {FactType.CUDA_VERSION: [Version("1.5"), Version("2"), Version("3")]}
    assert next_to(value, FactType.CUDA_VERSION, step, ladders) == expected


def test_equivalent_mutants_are_not_counted_as_killed() -> None:
    """They are taken out of both sides of the fraction, and named apart."""
    found = Count(made=10, survived=("a", "b"))
    assert found.share(frozenset({"a", "not among them"})) == 8 / 9
    assert "8 killed, 1 survived, 1 equivalent; 88.9%" in found.words(frozenset({"a"}))


def test_the_figure_is_the_one_row_of_the_document() -> None:
    """So `--write` finds the row that it replaces."""
    row = Count(made=10, survived=("a", "b")).row(database(), frozenset({"a"}))
    assert row.endswith(" cases | 10 | 8 | 1 | 1 |")
    assert FIGURE.fullmatch(row)
    assert len(FIGURE.findall(EQUIVALENT.read_text("utf-8"))) == 1


def test_cases_of_the_pages_notice_the_mutants() -> None:
    """Of every page: a share of them, the same each time, let the others go unproven."""
    found = count(database(), chosen(database(), (), 1.0, SEED))
    print(found.words(equivalents()))
    assert found.share(equivalents()) >= LEAST_SHARE, found.survived


def test_what_is_called_equivalent_survives() -> None:
    """A line of the list whose mutant is gone, or is killed, argues for nothing."""
    pages = sorted({name.partition(" ")[0] for name in equivalents()})
    assert pages
    assert equivalents() <= set(count(database(), chosen(database(), pages, 1.0, SEED)).survived)
