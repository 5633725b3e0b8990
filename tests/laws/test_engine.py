"""Knowing more never flips a verdict, and order never matters."""

from __future__ import annotations

import random
from functools import cache

from hypothesis import given, settings
from hypothesis import strategies as st

from gpudoctor import derive, remedy, ruledb
from gpudoctor.engine import Truth, evaluate, judge_block
from gpudoctor.facts import CATALOGUE
from gpudoctor.model import (
    Absent, Condition, Detect, Fact, Known, Operand, Operator, RuleDatabase, Scope, Snapshot, Subject,
    Unknown,
)
from tests.laws.made_up import facts_of, known, snapshots


@cache
def database() -> RuleDatabase:
    """Return the rules that ship."""
    return ruledb.load()


@cache
def blocks() -> tuple[Detect, ...]:
    """Return every block of every page."""
    return tuple(block for rule in database().rules for block in rule.detect)


def names_in(block: Detect) -> list[str]:
    """Return the facts that a block reads."""
    names: list[str] = []
    for condition in block.when:
        right = condition.right
        keys = [] if right is None else [right.other, *(key for key in right.key if not key.startswith("'"))]
        names += [condition.fact, *(name for name in keys if name)]
    return list(dict.fromkeys(names))


@st.composite
def judged_blocks(draw: st.DrawFn) -> tuple[Detect, dict[str, Fact], dict[str, Fact]]:
    """Return a block, the facts that it reads, and the same facts with each unknown one made known."""
    block = draw(st.sampled_from(blocks()))
    before = {name: draw(facts_of(CATALOGUE[name])) for name in names_in(block)}
    after = {
        name: draw(known(CATALOGUE[name])) if isinstance(fact, Unknown) else fact
        for name, fact in before.items()
    }
    return block, before, after


@settings(max_examples=400)
@given(judged_blocks())
def test_knowing_more_never_flips_a_verdict(case: tuple[Detect, dict[str, Fact], dict[str, Fact]]) -> None:
    """What was decided without a fact stays decided whatever the fact turns out to be."""
    block, before, after = case
    tables = database().tables
    first = judge_block(block, Subject(name="subject", facts=before), tables).truth
    second = judge_block(block, Subject(name="subject", facts=after), tables).truth
    assert first in (Truth.UNKNOWN, second)


@given(judged_blocks(), st.randoms(use_true_random=False))
def test_order_does_not_matter(
    case: tuple[Detect, dict[str, Fact], dict[str, Fact]], chance: random.Random
) -> None:
    """Neither the order of conditions nor that of facts changes a verdict."""
    block, facts, _ = case
    names, conditions = list(facts), list(block.when)
    chance.shuffle(names)
    chance.shuffle(conditions)
    shuffled = Detect(name=block.name, certainty=block.certainty, when=tuple(conditions))
    tables = database().tables
    expected = judge_block(block, Subject(name="subject", facts=facts), tables).truth
    again = Subject(name="subject", facts={name: facts[name] for name in names})
    assert judge_block(shuffled, again, tables).truth is expected


@given(
    st.sampled_from(["equals", "differs", "below", "at_least", "within", "in", "not_in", "contains", "lacks"])
)
def test_absence_speaks_only_through_missing(op: Operator) -> None:
    """A comparison with what is not there is false whichever way it is put."""
    facts: dict[str, Fact] = {"driver.kernel_version": Absent(source="x")}
    block = Detect(name="b", when=(Condition(fact="driver.kernel_version", op=op, right=Operand(value="1")),))
    assert judge_block(block, Subject(name="host", facts=facts), {}).truth is Truth.FALSE


@given(snapshots())
def test_every_snapshot_can_be_diagnosed(snapshot: Snapshot) -> None:
    """Whatever facts there are, the rules give findings or say what they lack; nothing is raised."""
    judgement = remedy.diagnose(snapshot, database())
    for undecided in judgement.undecided:
        assert undecided.reasons
    derive.complete(snapshot, database())


@given(snapshots())
def test_scope_that_could_not_be_listed_is_never_healthy(snapshot: Snapshot) -> None:
    """Each rule about cards is open where they could not be listed, or clear without them."""
    blind = Snapshot(
        host=snapshot.host, gpus=Unknown(reason="nobody could look"), frameworks=snapshot.frameworks
    )
    found = derive.subjects(blind, database())
    assert [subject.name for subject in found[Scope.GPU]] == ["every GPU"]
    rules = [rule for rule in database().rules if rule.scope is Scope.GPU]
    judgement = evaluate(found, rules, database().tables)
    assert {verdict.subject for verdict in judgement.undecided} <= {"every GPU"}
    for name in ("gpu.name", "gpu.compute_capability"):
        assert not isinstance(found[Scope.GPU][0].fact(name), Known)
