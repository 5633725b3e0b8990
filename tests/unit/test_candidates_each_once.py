"""Candidates are judged the short way: each state of the machine once, what was refused by the same rules."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from pathlib import Path

import pytest

from gpudoctor.candidates.ground import ground_of, with_facts
from gpudoctor.candidates.judging import Judge, Judged
from gpudoctor.derive.stacks import FRAMEWORKS, stacks_of
from gpudoctor.model import Known, RuleDatabase
from gpudoctor.ruledb import load_compiled
from tests.unit.asked_candidates import host

RULES = Path(__file__).parents[2] / "rules"


@pytest.fixture(scope="module")
def database() -> RuleDatabase:
    return load_compiled(RULES)


def said_of(judged: Judged) -> tuple[object, ...]:
    return (judged.objections, judged.pins, dict(judged.environment), [f.rule for f in judged.warnings],
            [(finding.rule, taken.title) for finding, taken in judged.remedies])


@pytest.mark.parametrize(("words", "python"), [
    (("cc=3.5", "driver=470.256.02"), "3.8"), (("cc=8.9", "driver=535.104.05"), "3.11"),
    (("cc=7.0", "cc=12.0", "driver=580.65.06"), "3.12"), (("driver=none",), "3.10"),
])
def test_what_is_alike_is_told_the_same_as_if_judged_alone(words: Iterable[str], python: str,
                                                           database: RuleDatabase) -> None:
    """The short way for a release that differs in nothing that is read loses no finding and no fix."""
    base = ground_of(host(database, *words), database, python)
    judge = Judge(base)
    for framework in FRAMEWORKS:
        for stack in stacks_of(framework, base.platform, database.tables):
            alone = Judge(base).of((stack,))
            assert said_of(judge.of((stack,))) == said_of(alone), stack.release
            assert judge.fits(stack) is not bool(alone.objections)


@pytest.mark.parametrize(("cards", "python", "older", "newer"), [
    (("cc=7.0", "cc=12.0"), "3.8", "450.80.02", "580.65.06"),
    (("cc=6.1", "cc=9.0"), "3.12", "535.104.05", "580.65.06"),
    (("cc=8.9",), "3.11", "525.60.13", "550.54.14"),
])
def test_what_another_driver_refused_is_refused_as_if_judged_anew(
        cards: Iterable[str], python: str, older: str, newer: str, database: RuleDatabase) -> None:
    """The rules that refused it are asked first; whether it fits does not depend on that."""
    before = ground_of(host(database, *cards, f"driver={older}"), database, python)
    after = with_facts(before, {"driver": Known(value=newer, source="the test")})
    nearby = Judge(before)
    every = [stack for framework in FRAMEWORKS
             for stack in stacks_of(framework, before.platform, database.tables)]
    for stack in every:
        nearby.of((stack,))
    quick, anew = Judge(after, nearby=nearby), Judge(after)
    assert [quick.fits(stack) for stack in every] == [not anew.of((stack,)).objections for stack in every]
    assert len(quick.courses) < len(anew.courses)  # some were refused without the rest of the rules


@pytest.mark.parametrize(("words", "python", "first", "second"), [
    (("cc=7.5", "driver=570.86.15"), "3.10", "tensorflow", "jax"),
    (("cc=6.1", "cc=7.0", "driver=580.95.05"), "3.10", "tensorflow", "jax"),
    (("cc=8.9", "driver=535.104.05"), "3.9", "torch", "tensorflow"),
])
def test_a_set_that_pip_refuses_after_a_fix_is_refused_as_if_judged_to_the_end(
        words: Iterable[str], python: str, first: str, second: str, database: RuleDatabase) -> None:
    """What the first fix brings is enough to tell, if it writes the files of another package; only then."""
    base = ground_of(host(database, *words), database, python)
    quick, whole = Judge(base), Judge(base)
    fitting = [[stack for stack in stacks_of(name, base.platform, database.tables) if whole.fits(stack)]
               for name in (first, second)]
    sets = list(itertools.product(*fitting))[::5]
    assert [quick.fits(*stacks) for stacks in sets] == [not whole.of(stacks).objections for stacks in sets]
    keys = {tuple(stack.alike for stack in stacks) for stacks in sets}
    refused = keys & quick.refused.keys() - quick.courses.keys()
    assert refused
    assert len(refused) < len(keys)
