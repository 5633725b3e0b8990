"""The same machine with one thing broken has that cause first."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import hypothesis
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpudoctor import assume, derive, ruledb, versions
from gpudoctor.derive.device_code import coverage
from gpudoctor.derive.view import as_records
from gpudoctor.engine import evaluate
from gpudoctor.model import Judgement, Known, RuleDatabase, Snapshot
from gpudoctor.proving.proofs import strangers
from tests.laws import working
from tests.laws.breaking_frameworks import BREAKAGES, seen_by_running
from tests.laws.described import errors, faults, laid, snapshot_of
from tests.laws.working import Machine, cards, cuda_of, drawn, major, serves, table

ANY_NUMBER = st.integers(0, 99)
MACHINES = st.deferred(drawn)


@cache
def can_break(kind: str) -> st.SearchStrategy[Machine]:
    """Draw a machine that can break in this way."""
    return drawn(lambda machine: BREAKAGES[kind](machine, 0) is not None)


@cache
def whole() -> RuleDatabase:
    """Return the rules with the texts of their pages."""
    return ruledb.load(extent="whole")


def judged(snapshot: Snapshot) -> Judgement:
    """Return all that is found, in no order."""
    return evaluate(derive.subjects(snapshot, whole()), whole().rules, whole().tables, worded=False)


@pytest.mark.parametrize("kind", sorted(BREAKAGES))
def test_what_was_broken_is_the_first_cause(kind: str) -> None:
    """On whatever machine; what follows from it stands below, on pages that name each other in a family."""

    @settings(max_examples=8)
    @given(can_break(kind), ANY_NUMBER)
    def check(machine: Machine, number: int) -> None:
        broken = BREAKAGES[kind](machine, number)
        assert broken is not None
        facts, cause = broken
        snapshot = laid(snapshot_of(machine), facts)
        found = faults(snapshot)
        assert list(strangers(judged(snapshot), whole())) == []
        assert found
        assert found[0].cause == cause, [finding.cause for finding in found]

    check()


def test_each_framework_and_platform_breaks_in_many_ways() -> None:
    """No way to break is about machines that never come up, and none is left out of a framework."""
    ways = dict.fromkeys(working.kinds(), 0)
    for kind in BREAKAGES:
        able = [(framework, platform) for framework, platform in working.kinds()
                if any(BREAKAGES[kind](group[0], 0) for group in working.alike(framework, platform))]
        assert able, kind
        for one in able:
            ways[one] += 1
    assert min(ways.values()) > 30, ways


@settings(max_examples=80)
@given(MACHINES, st.data())
def test_a_driver_of_an_older_major_cuda_is_the_first_cause(machine: Machine, data: st.DataObject) -> None:
    """The same machine with a driver that knows no release of the build's major CUDA."""
    rows = [row for row in table("cuda_toolkits").rows if "minimum_driver" in row]
    older = [str(row["minimum_driver"]) for row in rows if major(row["cuda"]) < major(cuda_of(machine.build))]
    found = errors(snapshot_of(replace(machine, driver=data.draw(st.sampled_from(older)))))
    assert found
    assert found[0].cause == "driver-too-old", [finding.cause for finding in found]


@settings(max_examples=80)
@given(MACHINES, st.data())
def test_a_card_without_code_is_the_first_cause(machine: Machine, data: st.DataObject) -> None:
    """The same machine with a card for which its build has neither machine code nor PTX."""
    code = as_records(machine.build.row["code"])
    here = cards(machine.build.platform)
    served = [card.capability for card in here if coverage(code, card.capability).kind != "none"]
    unserved = [card for card in here if card.capability not in served]
    card = data.draw(st.sampled_from(unserved)) if unserved else None
    if card is None:
        return
    found = errors(snapshot_of(replace(machine, card=card)))
    is_older = any(versions.parse(card.capability) < versions.parse(one) for one in served)
    expected = "gpu-too-old-for-build" if is_older else "gpu-too-new-for-build"
    # a driver that serves no such card may be named before the build, and is where it decides
    of_driver = set() if serves(machine.driver, card) else {"driver-dropped-gpu", "driver-too-old"}
    assert found
    assert found[0].cause in {expected, *of_driver}, [finding.cause for finding in found]


@settings(max_examples=60)
@given(MACHINES, st.sampled_from([0, 1]), st.sampled_from([
    ("gpu.lost", True, "gpu-fell-off-bus"), ("gpu.compute_mode", "prohibited", "compute-mode-exclusive"),
    ("gpu.compute_capability", "3.0", "gpu-too-old-for-build")]))
def test_one_of_two_cards_is_the_one_that_is_named(
    machine: Machine, place: int, broken: tuple[str, str | bool, str],
) -> None:
    """The other one is healthy, and no error is about it, nor about the driver that serves it."""
    name, value, cause = broken
    hypothesis.assume(coverage(as_records(machine.build.row["code"]), "3.0").kind == "none")
    both = ",".join([machine.card.capability] * 2)
    two = laid(snapshot_of(machine), {"cc": both, "driver": machine.driver})
    snapshot = assume.lay(two, {name: Known(value=value, source="the test")}, working.database().tables,
                          source="the test", place=assume.Place(gpu=place))
    found = errors(snapshot)
    assert [finding.cause for finding in found][:1] == [cause]
    assert [finding.subject for finding in found if f"GPU {place}" not in finding.subject] == []


# -- PTX ---------------------------------------------------------------------------------------------


@settings(max_examples=60)
@given(st.deferred(lambda: st.sampled_from(working.compiling(known=False))))
def test_ptx_that_the_driver_does_not_know_is_the_first_cause(machine: Machine) -> None:
    """By minor-version compatibility such a driver runs the build, but compiles nothing of it."""
    found = errors(snapshot_of(machine))
    assert [finding.cause for finding in found][:1] == ["ptx-isa-newer-than-driver"]


# -- what is seen by running -------------------------------------------------------------------------


@settings(max_examples=60)
@given(MACHINES, st.sampled_from([("failed", "framework-fails-on-gpu"), ("wrong-result", "wrong-result"),
                                  ("crashed", "framework-crashed"), ("timed-out", "framework-hangs"),
                                  ("ran-on-cpu", "ran-on-cpu"), ("no-proof", "gpu-execution-unproven")]))
def test_a_stage_that_went_wrong_is_the_first_cause(machine: Machine, ended: tuple[str, str]) -> None:
    """Where nothing that is known explains it."""
    outcome, cause = ended
    found = faults(laid(snapshot_of(machine), seen_by_running(machine, convolution=outcome)))
    assert [finding.cause for finding in found][:1] == [cause]


def test_a_tensorflow_for_arm_is_told_to_be_a_cpu_build_alone() -> None:
    """There is none with CUDA: no advice may name another release."""
    database: RuleDatabase = working.database()
    host = laid(database.base, {"system.architecture": "aarch64", "python": "3.12"})
    versions_ = [str(row["version"]) for row in table("tensorflow").rows
                 if row["platform"] == "linux_aarch64" and row["build"] == "cpu"]
    assert len(versions_) > 10
    for version in versions_:
        found = faults(laid(host, {"release": f"tensorflow=={version}", "cc": "9.0", "driver": "580.95.05"}))
        assert [finding.cause for finding in found] == ["wheel-arch-linux-aarch64"], version
