"""The cases of a page notice when one of its fixes is changed (docs/mutants.md)."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

from gpudoctor import ruledb
from gpudoctor.model import Rule, RuleDatabase
from tools.mutate_fixes import KINDS, OFFERS, STEPS, count, written
from tools.mutate_rules import EQUIVALENT, LEAST_SHARE


@cache
def database() -> RuleDatabase:
    """Return the rules that ship, with their cases."""
    return ruledb.load(extent="whole")


def page(identifier: str) -> Rule:
    return next(rule for rule in database().rules if rule.id == identifier)


def survivors(rule: Rule, kind: str) -> set[str]:
    """Return what was changed in its fixes without a case noticing, by the first word of their titles."""
    return {name.removeprefix(f"{rule.id} / ") for name in count(database(), [rule])[kind].survived}


def test_a_page_that_names_its_offers_has_no_survivors() -> None:
    """Unset the variable, whose value is what hides the cards."""
    assert survivors(page("GPD1080"), OFFERS) == set()


def test_without_offers_a_fix_of_another_platform_is_not_missed() -> None:
    """So the driver for Windows could be left out, where two are offered."""
    rule = page("GPD2010")
    bare = replace(rule, case=tuple(replace(case, offers=None) for case in rule.case
                                    if case.offers != ()))  # where none is offered, that has to be said
    left_out = {name for name in survivors(bare, OFFERS) if name.endswith("/ left out")}
    assert left_out
    assert not {name for name in survivors(rule, OFFERS) if name.endswith("/ left out")}


def test_a_step_that_the_cure_needs_is_missed() -> None:
    """A fix that sets another variable than the one that is in the way cures nothing."""
    rule = page("GPD1070")
    steps = count(database(), [rule])[STEPS]
    assert steps.made
    assert len(steps.survived) < steps.made


def test_cases_of_the_pages_notice_the_mutants_of_what_is_offered() -> None:
    """Steps of effects have no bound: the document says why."""
    found = count(database(), [rule for rule in database().rules if rule.detect and rule.withdrawn is None])
    assert found[OFFERS].share(frozenset()) >= LEAST_SHARE, found[OFFERS].survived
    text = EQUIVALENT.read_text("utf-8")
    assert written(text, found, database()) == text  # `make pages` writes the figures


@pytest.mark.parametrize("kind", KINDS)
def test_the_document_has_one_row_of_each_kind(kind: str) -> None:
    """So `--write` finds the row that it replaces."""
    assert EQUIVALENT.read_text("utf-8").count(f"\n| {kind} | ") == 1
