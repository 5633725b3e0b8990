"""A healthy machine drawn from the tables has no error, however it is looked at."""

from __future__ import annotations

import random
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from gpudoctor import derive
from gpudoctor.engine import evaluate
from gpudoctor.model import Facts, Severity, Snapshot, Unknown
from tests.laws import described, working
from tests.laws.breaking import ALWAYS
from tests.laws.breaking_frameworks import BREAKAGES, seen_by_running
from tests.laws.described import errors, faults, laid, snapshot_of
from tests.laws.working import Machine, drawn

ALL_KINDS = {("tensorflow", "linux_x86_64"), ("torch", "linux_x86_64"), ("torch", "linux_aarch64"),
             ("jax", "linux_x86_64"), ("jax", "linux_aarch64"), ("paddle", "linux_x86_64")}
MACHINES = st.deferred(drawn)


def test_the_tables_name_many_machines_that_work() -> None:
    """The laws below are about more than a handful, of every framework and platform and of many cards."""
    assert set(working.kinds()) == ALL_KINDS
    for framework, platform in ALL_KINDS:
        found = [machine for group in working.alike(framework, platform) for machine in group]
        assert len(found) > 1000, framework
        assert len({machine.build.release for machine in found}) >= 7, framework
        assert len({machine.card.capability for machine in found}) >= 6, framework
        assert len({machine.driver for machine in found}) >= 4, framework  # since CUDA 13.0, torch for Arm
        by_package = {machine.packaged for machine in found}
        assert (True in by_package) == (framework != "paddle")  # whose packages bring no CUDA


def test_a_driver_older_than_the_cuda_of_the_build_is_among_them() -> None:
    """Minor-version compatibility counts as healthy: the first driver of CUDA 12 runs CUDA 12.8."""
    old = [machine for group in working.alike("torch", "linux_x86_64") for machine in group
           if machine.build.row["cuda"] == "12.8" and machine.driver == "525.60.13"]
    assert {machine.card.capability for machine in old} >= {"8.0", "9.0"}


@settings(max_examples=200)
@given(MACHINES)
def test_a_healthy_machine_has_no_error(machine: Machine) -> None:
    """Any card, a driver that serves it, a framework that both run, and the libraries its pins resolve to."""
    assert [(found.cause, found.message) for found in errors(snapshot_of(machine))] == []


@settings(max_examples=60)
@given(st.deferred(lambda: st.sampled_from(working.compiling(known=True))))
def test_a_machine_that_compiles_what_its_driver_knows_has_no_error(machine: Machine) -> None:
    """A card for which the build holds PTX runs it, after a first start that takes its time."""
    assert [(found.cause, found.message) for found in errors(snapshot_of(machine))] == []


@settings(max_examples=100)
@given(MACHINES, st.data())
def test_a_healthy_machine_has_no_error_whatever_its_card_is_called(
    machine: Machine, data: st.DataObject,
) -> None:
    """Each product of a compute capability, by its own name and, where PCI ids tell it, its own device."""
    names = working.products()[machine.card.capability]
    name = data.draw(st.sampled_from(names))
    device = working.devices().get(name)
    seen: described.Facts = {} if device is None else {
        "gpu.pci_device_id": device,
        "system.pci_nvidia": ({"address": "0000:01:00.0", "device": device, "class": "0x030200",
                               "driver": "nvidia"},)}
    named = laid(snapshot_of(machine), {"gpu.name": f"NVIDIA {name}", **seen})
    assert [(found.cause, found.message) for found in errors(named)] == []


@settings(max_examples=60)
@given(MACHINES)
def test_a_healthy_machine_can_be_judged(machine: Machine) -> None:
    """Nothing that is as bad as an error is left open, but what nobody asked for."""
    found = derive.subjects(snapshot_of(machine), working.database())
    left = evaluate(found, working.database().rules, working.database().tables).undecided
    assert [(one.cause, one.reasons) for one in left if one.asked and one.severity is Severity.ERROR] == []


@settings(max_examples=60)
@given(MACHINES, st.integers(2, 8))
def test_many_healthy_cards_are_no_error(machine: Machine, count: int) -> None:
    """As with one card."""
    several = laid(snapshot_of(machine), {"cc": ",".join([machine.card.capability] * count),
                                          "driver": machine.driver})
    assert [(found.cause, found.message) for found in errors(several)] == []


@settings(max_examples=60)
@given(MACHINES)
def test_a_healthy_machine_that_was_run_has_no_fault(machine: Machine) -> None:
    """What the stages saw there changes nothing."""
    ran = laid(snapshot_of(machine), seen_by_running(machine))
    assert [(found.cause, found.message) for found in faults(ran)] == []


@settings(max_examples=120)
@given(MACHINES, st.lists(st.sampled_from(described.SEEN), min_size=1, max_size=6, unique=True))
def test_knowing_less_of_a_healthy_machine_is_no_error(machine: Machine, hidden: list[str]) -> None:
    """However much of it could not be looked at: what is open is told as open."""
    assert [found.cause for found in errors(without(snapshot_of(machine), hidden))] == []


def without(snapshot: Snapshot, names: list[str]) -> Snapshot:
    """Return the snapshot in which nobody could look at some facts."""
    return laid(snapshot, dict.fromkeys(names, Unknown(reason="hidden by the test")))


def matches(snapshot: Snapshot) -> set[tuple[str, str]]:
    """Return which rules match what, before any of it is folded."""
    subjects = derive.subjects(snapshot, working.database())
    judgement = evaluate(subjects, working.database().rules, working.database().tables)
    return {(found.rule, found.subject) for found in judgement.findings
            if found.severity.is_fault}


@settings(max_examples=200)
@given(MACHINES, st.sampled_from(sorted(BREAKAGES)), st.integers(0, 99), st.data())
def test_knowing_more_of_a_broken_machine_never_takes_a_finding_back(
    machine: Machine, kind: str, number: int, data: st.DataObject,
) -> None:
    """What is said while something is hidden is still said when that is known, derived facts included."""
    broken = BREAKAGES[kind](machine, number)
    facts = broken[0] if broken is not None else {}
    telling = [name for name in facts if name in described.SEEN] or described.SEEN
    names = st.sampled_from(telling) | st.sampled_from(described.SEEN)
    hidden = data.draw(st.lists(names, min_size=1, max_size=5, unique=True))
    snapshot = laid(snapshot_of(machine), facts)
    assert matches(without(snapshot, hidden)) <= matches(snapshot)


@settings(max_examples=60)
@given(MACHINES, st.sampled_from(ALWAYS), st.randoms(use_true_random=False))
def test_order_of_facts_does_not_matter(machine: Machine, kind: str, chance: random.Random) -> None:
    """The same findings, in the same order, however the facts of a snapshot are arranged."""
    broken_facts = BREAKAGES[kind](machine, 0)
    assert broken_facts is not None
    broken = laid(snapshot_of(machine), broken_facts[0])

    def shuffled(facts: Facts) -> Facts:
        names = list(facts)
        chance.shuffle(names)
        return {name: facts[name] for name in names}

    assert not isinstance(broken.gpus, Unknown)
    assert not isinstance(broken.frameworks, Unknown)
    again = replace(broken, host=shuffled(broken.host), gpus=tuple(map(shuffled, broken.gpus)),
                    frameworks=tuple(map(shuffled, broken.frameworks)))
    assert faults(again) == faults(broken)
