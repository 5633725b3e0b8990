"""A healthy machine drawn from the tables has no error; with one thing broken, that is the first cause."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache

import hypothesis
from hypothesis import given, settings
from hypothesis import strategies as st

from gpudoctor import assume, remedy, ruledb, versions
from gpudoctor.derive.device_code import coverage
from gpudoctor.derive.view import as_records, as_texts
from gpudoctor.facts import CATALOGUE
from gpudoctor.frozen import frozen
from gpudoctor.model import (
    Absent, Fact, Facts, Finding, Known, RuleDatabase, Severity, Snapshot, Table, Unknown, Value,
)

PLATFORM = "linux_x86_64"
FRAMEWORKS = ("tensorflow", "torch")
Row = Mapping[str, Value]


@cache
def database() -> RuleDatabase:
    """Return the rules that ship."""
    return ruledb.load()


@frozen
class Machine:
    """What works together: a release, a Python that has a wheel of it, a driver and a card."""

    release: str
    python: str
    driver: str
    card: str
    libraries: tuple[str, ...]


def table(name: str) -> Table:
    return database().tables[name]


def at_least(one: Value, other: Value) -> bool:
    return versions.parse(str(one)) >= versions.parse(str(other))


@cache
def builds() -> tuple[tuple[str, Row], ...]:
    """Return the releases with CUDA whose device code was read, for one platform."""
    return tuple((name, row) for name in FRAMEWORKS for row in table(name).rows
                 if row["platform"] == PLATFORM and {"cuda", "code", "python", "loads"} <= row.keys())


@cache
def toolkits() -> tuple[Row, ...]:
    """Return CUDA toolkits, each with the driver that it came with."""
    return tuple(row for row in table("cuda_toolkits").rows if "minimum_driver" in row)


def drivers_for(build: Row) -> list[Row]:
    """Return the toolkits as new as the build's: their drivers run it without any compatibility."""
    opened = [name.removeprefix("libcudart.so.") for name in as_texts(build["loads"]) if "cudart" in name]
    return [row for row in toolkits()  # some builds say "10" of themselves, and open the runtime of 10.1
            if all(at_least(row["cuda"], cuda) for cuda in (build["cuda"], *opened))]


def cards_for(build: Row, toolkit: Row) -> list[str]:
    """Return the cards that the build has machine code for and that the driver's toolkit compiles for."""
    code = as_records(build["code"])
    return [str(card["compute_capability"]) for card in table("architectures").rows
            if "first_cuda" in card and at_least(toolkit["cuda"], card["first_cuda"])
            and ("last_cuda" not in card or at_least(card["last_cuda"], toolkit["cuda"]))
            and coverage(code, str(card["compute_capability"])).kind == "native"]


def _machines() -> Iterator[Machine]:
    for name, build in builds():
        libraries = (*as_texts(build["loads"]), *as_texts(build.get("loads_optional")))
        python = max(as_texts(build["python"]), key=versions.parse)
        for toolkit in drivers_for(build):
            for card in cards_for(build, toolkit):
                yield Machine(release=f"{name}=={build['version']}", python=python, card=card,
                              driver=str(toolkit["minimum_driver"]), libraries=libraries)


@cache
def machines() -> tuple[Machine, ...]:
    """Return every combination that the tables say works."""
    return tuple(_machines())


def build_of(machine: Machine) -> Row:
    name, _, version = machine.release.partition("==")
    return next(row for of, row in builds() if of == name and row["version"] == version)


def cuda_of(machine: Machine) -> str:
    return str(build_of(machine)["cuda"])


def major(cuda: Value) -> int:
    return versions.parse(str(cuda)).major


def laid(snapshot: Snapshot, facts: Mapping[str, Value | Fact]) -> Snapshot:
    """Return the snapshot with facts laid over it, in order."""
    wrapped: dict[str, Fact] = {
        name: fact if isinstance(fact, Known | Absent | Unknown) else Known(value=fact, source="the test")
        for name, fact in facts.items()}
    return assume.lay(snapshot, wrapped, database().tables, source="the test")


def snapshot_of(machine: Machine, files: bool = True) -> Snapshot:
    """Return the machine with every library that its framework opens in the loader's cache."""
    cache_ = tuple({"soname": name, "path": f"/opt/cuda/lib/{name}"} for name in machine.libraries)
    return laid(database().base, {
        "python": machine.python, "release": machine.release, "cc": machine.card, "driver": machine.driver,
        "loader.cache": cache_ if files else (), "python.planned_distributions": ()})


def faults(snapshot: Snapshot) -> list[Finding]:
    """Return errors and warnings, as they are printed."""
    return [finding for finding in remedy.diagnose(snapshot, database()).findings
            if finding.severity in (Severity.ERROR, Severity.WARNING)]


def errors(snapshot: Snapshot) -> list[Finding]:
    return [finding for finding in faults(snapshot) if finding.severity is Severity.ERROR]


def test_the_tables_name_many_machines_that_work() -> None:
    """The laws below are about more than a handful, of both frameworks and of many cards."""
    assert len(machines()) > 1000
    assert {machine.release.partition("==")[0] for machine in machines()} == set(FRAMEWORKS)
    assert len({machine.card for machine in machines()}) > 8
    assert len({machine.driver for machine in machines()}) > 15


@settings(max_examples=150)
@given(st.deferred(lambda: st.sampled_from(machines())))
def test_a_healthy_machine_has_no_error(machine: Machine) -> None:
    """Any card, a driver that serves it, a framework that both run, and the libraries that it opens."""
    assert [(found.cause, found.message) for found in errors(snapshot_of(machine))] == []


BROKEN: Mapping[str, tuple[Mapping[str, Value | Fact], frozenset[str]]] = {
    "no driver": ({"driver": "none"}, frozenset({"driver-not-installed"})),
    "every card hidden": ({"environment.CUDA_VISIBLE_DEVICES": "-1"}, frozenset({"cuda-visible-devices"})),
    "a CPU build": ({"framework.build": "cpu"}, frozenset({"cpu-only-build"})),
    "a card that is lost": ({"gpu.lost": True}, frozenset({"gpu-fell-off-bus"})),
    "a driver that was updated under the kernel": (
        {"nvml.init_code": 18, "driver.libnvidia_ml_file_version": "999.1", "cuda.init_code": 803,
         "driver.libcuda_file_version": "999.1", "cuda.library_version": "999.1"},
        frozenset({"driver-kernel-userspace-mismatch"})),
    "a module for unified memory that is not loaded": (
        {"system.gpu_modules": ("nvidia",), "driver.uvm_node": False, "cuda.init_code": 999},
        frozenset({"nvidia-uvm-missing"})),
    "device nodes that are another's": (
        {"driver.denied_nodes": ("/dev/nvidia0", "/dev/nvidiactl"), "cuda.init_code": 100},
        frozenset({"device-permission"})),
    "no fabric manager": (
        {"driver.nvswitch": True, "cuda.init_code": 802}, frozenset({"fabric-manager-missing"})),
    "a C library from long ago": ({"system.glibc": "2.3"}, frozenset({"glibc-too-old"})),
    "a card that somebody has to himself": (
        {"gpu.compute_mode": "exclusive-process", "gpu.compute_processes": 1},
        frozenset({"compute-mode-exclusive"})),
}


@settings(max_examples=120)
@given(st.deferred(lambda: st.sampled_from(machines())), st.sampled_from(sorted(BROKEN)))
def test_what_was_broken_is_the_first_cause(machine: Machine, kind: str) -> None:
    """On whatever machine; what follows from it stands below."""
    facts, causes = BROKEN[kind]
    hypothesis.assume("system.glibc" not in facts or "glibc" in build_of(machine))  # the oldest do not say
    found = faults(laid(snapshot_of(machine), facts))
    assert found, kind
    assert found[0].cause in causes, [finding.cause for finding in found]


@settings(max_examples=60)
@given(st.deferred(lambda: st.sampled_from(machines())), st.data())
def test_a_driver_of_an_older_major_cuda_is_the_first_cause(machine: Machine, data: st.DataObject) -> None:
    """The same machine with a driver that knows no release of the build's major CUDA."""
    cuda = cuda_of(machine)
    older = [row for row in toolkits() if major(row["cuda"]) < major(cuda)]
    toolkit = data.draw(st.sampled_from(older))
    found = errors(snapshot_of(replace(machine, driver=str(toolkit["minimum_driver"]))))
    assert found
    assert found[0].cause == "driver-too-old", [finding.cause for finding in found]


@settings(max_examples=60)
@given(st.deferred(lambda: st.sampled_from(machines())), st.data())
def test_a_card_without_code_is_the_first_cause(machine: Machine, data: st.DataObject) -> None:
    """The same machine with a card for which its build has neither machine code nor PTX."""
    code = as_records(build_of(machine)["code"])
    cards = [str(row["compute_capability"]) for row in table("architectures").rows]
    served = [card for card in cards if coverage(code, card).kind != "none"]
    card = data.draw(st.sampled_from([card for card in cards if card not in served]))
    is_older = any(versions.parse(card) < versions.parse(one) for one in served)  # than some: between counts
    found = errors(snapshot_of(replace(machine, card=card)))
    expected = "gpu-too-old-for-build" if is_older else "gpu-too-new-for-build"
    assert found
    # a driver that serves no such card any more may be named before the build, and is where its end decides
    causes = {expected, "driver-dropped-gpu"} if is_dropped(card, machine.driver) else {expected}
    assert found[0].cause in causes


def is_dropped(card: str, driver: str) -> bool:
    """Return whether the driver is of a branch after the last one that serves the card."""
    rows = [row for row in table("kernel_modules").rows if "first_capability" in row]
    below = [row for row in rows if versions.parse(str(row["first_capability"])) <= versions.parse(card)]
    last = max(below, key=lambda row: versions.parse(str(row["first_capability"]))).get("last_branch")
    return last is not None and major(driver) > int(str(last))


@settings(max_examples=40)
@given(st.deferred(lambda: st.sampled_from(machines())))
def test_libraries_that_are_gone_are_the_first_cause(machine: Machine) -> None:
    """The same machine without any of NVIDIA's libraries: a page on libraries, and none on driver or card.

    TensorFlow opens them by name. What torch needs stands in its own files, which an assumed release lacks.
    """
    hypothesis.assume(machine.release.startswith("tensorflow=="))
    found = errors(snapshot_of(machine, files=False))
    assert found
    rules = {rule.id: rule.path.partition("/")[0] for rule in database().rules}
    assert rules[found[0].rule] == "library", found[0].cause


SEEN = [spec.name for spec in CATALOGUE.values() if spec.seen_on_machine]


def without(snapshot: Snapshot, names: list[str]) -> Snapshot:
    """Return the snapshot in which nobody could look at some facts."""
    return laid(snapshot, dict.fromkeys(names, Unknown(reason="hidden by the test")))


@settings(max_examples=100)
@given(st.deferred(lambda: st.sampled_from(machines())),
       st.lists(st.sampled_from(SEEN), min_size=1, max_size=6, unique=True))
def test_knowing_less_of_a_healthy_machine_is_no_error(machine: Machine, hidden: list[str]) -> None:
    """However much of it could not be looked at: what is open is told as open."""
    assert [found.cause for found in errors(without(snapshot_of(machine), hidden))] == []


@settings(max_examples=60)
@given(st.deferred(lambda: st.sampled_from(machines())), st.sampled_from(sorted(BROKEN)),
       st.randoms(use_true_random=False))
def test_order_of_facts_does_not_matter(machine: Machine, kind: str, chance: random.Random) -> None:
    """The same findings, in the same order, however the facts of a snapshot are arranged."""
    broken = laid(snapshot_of(machine), BROKEN[kind][0])

    def shuffled(facts: Facts) -> Facts:
        names = list(facts)
        chance.shuffle(names)
        return {name: facts[name] for name in names}

    assert not isinstance(broken.gpus, Unknown)
    assert not isinstance(broken.frameworks, Unknown)
    again = replace(broken, host=shuffled(broken.host), gpus=tuple(map(shuffled, broken.gpus)),
                    frameworks=tuple(map(shuffled, broken.frameworks)))
    assert faults(again) == faults(broken)
