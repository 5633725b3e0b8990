"""Drivers, cards, releases and machines, some newer than the rules: what must hold whatever they are."""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from gpudoctor import assume, derive, remedy, ruledb, versions
from gpudoctor.derive.view import as_texts
from gpudoctor.engine import evaluate
from gpudoctor.facts import CATALOGUE
from gpudoctor.model import (
    Absent, Fact, Finding, Judgement, Known, Record, RuleDatabase, Scope, Severity, Snapshot, Unknown, Value,
)

RULES = Path(__file__).parents[2] / "rules"
HIDDEN = Unknown(reason="hidden by the test")
NOT_THERE = Absent(source="hidden by the test")
DRIVERS = (
    "418.226.00", "450.80.02", "470.256.02", "510.108.03", "525.60.13", "535.288.01", "550.163.01",
    "555.58.02", "560.35.05", "565.77", "570.86.15", "575.64.05", "580.65.06", "590.48.01", "610.43.02",
    "640.10", "700.1",
)
CARDS = (
    "3.5", "5.2", "6.1", "7.0", "7.5", "8.6", "8.7", "8.9", "9.0", "10.0", "10.3", "11.0", "12.1", "13.0",
)
RELEASES = (
    "tensorflow==2.4.0", "tensorflow==2.10.0", "tensorflow==2.15.1", "tensorflow==2.16.1",
    "tensorflow==2.20.0", "tensorflow==2.21.0", "torch==1.13.1", "torch==2.1.0", "torch==2.6.0",
    "torch==2.9.1", "torch==2.11.0", "torch==2.15.0",
)
# What the release notes of CUDA and of the frameworks, or the compatibility guide, say works together.
WORKING = (
    ("torch==1.13.1", "450.80.02", "7.0"),
    ("torch==2.1.0", "525.60.13", "8.0"),
    ("torch==2.6.0", "525.60.13", "9.0"),
    ("torch==2.6.0", "550.163.01", "7.0"),
    ("torch==2.9.1", "525.60.13", "8.6"),
    ("torch==2.9.1", "570.86.15", "12.0"),
    ("torch==2.9.1", "580.65.06", "7.0"),
    ("torch==2.11.0", "580.65.06", "7.5"),
    ("torch==2.15.0", "580.95.05", "9.0"),
    ("torch==2.15.0", "580.95.05", "12.1"),
    ("torch==2.15.0", "610.43.02", "10.3"),
    ("tensorflow==2.4.0", "450.51.06", "8.0"),
    ("tensorflow==2.10.0", "450.80.02", "8.0"),
    ("tensorflow==2.15.1", "525.60.13", "8.6"),
    ("tensorflow==2.20.0", "525.60.13", "8.9"),
    ("tensorflow==2.20.0", "555.58.02", "9.0"),
    ("tensorflow==2.20.0", "610.43.02", "7.5"),
)
# Of these a machine can be without, and the reason is no fault.
WITHOUT = (
    "system.secure_boot", "system.gpu_modules", "system.pci_nvidia", "system.distribution", "system.kernel",
    "nvml.library", "nvml.init_code", "nvml.driver_version", "driver.module_kernels",
    "driver.kernel_version", "driver.kernel_flavour", "driver.libcuda_files", "driver.libcuda_file_version",
    "driver.proc_gpus",
    "python.pip_version", "loader.files", "container.cgroup_version",
)


# The rules that say that a driver's branch does not serve a card: it is older than the card, or dropped it.
UNSERVED = {"GPD2065": "a", "GPD2064": "c"}


@functools.cache
def database() -> RuleDatabase:
    """Return the rule pages of this checkout."""
    return ruledb.load_pages(RULES)


def known(value: Value) -> Fact:
    return Known(value=value, source="the test")


def laid(snapshot: Snapshot, facts: Mapping[str, Value | Fact]) -> Snapshot:
    """Return the snapshot with facts laid over it, in order."""
    wrapped = {name: fact if isinstance(fact, Known | Absent | Unknown) else known(fact)
               for name, fact in facts.items()}
    return assume.lay(snapshot, wrapped, database().tables, source="the test")


def machine(**facts: Value) -> Snapshot:
    """Return the healthy machine of the cases, with its own `driver`, `cc`, `python` or `release`."""
    return laid(database().base, facts)


def judged(snapshot: Snapshot) -> Judgement:
    return evaluate(derive.subjects(snapshot, database()), database().rules, database().tables)


def rules_of(snapshot: Snapshot) -> set[str]:
    """Return the ids of the rules that match."""
    return {finding.rule for finding in judged(snapshot).findings}


def errors(snapshot: Snapshot) -> list[tuple[str, str]]:
    """Return the errors found, as (cause, subject)."""
    found = judged(snapshot).findings
    return [(finding.cause, finding.subject) for finding in found if finding.severity is Severity.ERROR]


def open_errors(snapshot: Snapshot) -> list[str]:
    """Return the error-level causes that were asked for and could not be judged."""
    left = judged(snapshot).undecided
    return [rule.cause for rule in left if rule.asked and rule.severity is Severity.ERROR]


@functools.cache
def with_release(release: str) -> Snapshot:
    """Return a machine with a release, a Python that has its wheel, and every library that it opens."""
    name, _, version = release.partition("==")
    row = next(row for row in database().tables[name].rows
               if row["version"] == version and row["platform"] == "linux_x86_64")
    libraries = (*as_texts(row.get("loads")), *as_texts(row.get("loads_optional")))
    cache = tuple({"soname": library, "path": f"/opt/cuda/lib/{library}"} for library in libraries)
    python = max(as_texts(row["python"]), key=versions.parse)
    return laid(machine(python=python, release=release), {"loader.cache": cache})


def combination(release: str, driver: str, card: str) -> Snapshot:
    return laid(with_release(release), {"cc": card, "driver": driver})


# -- drivers, cards and releases ---------------------------------------------------------------------


@pytest.mark.parametrize("release", RELEASES)
def test_a_newer_driver_never_adds_an_error(release: str) -> None:
    """Of those whose branch serves the card: first comes none that does, at the end none that still does."""
    for card in CARDS:
        before: set[tuple[str, str]] | None = None
        branches = []
        for driver in DRIVERS:
            snapshot = combination(release, driver, card)
            said = rules_of(snapshot)
            branches.append(next((place for rule, place in UNSERVED.items() if rule in said), "b"))
            if branches[-1] == "b":
                now = set(errors(snapshot))
                assert before is None or now <= before, (release, card, driver)
                before = now
        assert branches == sorted(branches), (release, card)


@pytest.mark.parametrize("release", RELEASES)
def test_every_combination_can_be_judged(release: str) -> None:
    """Save one: whether the PTX of TensorFlow runs on a card newer than all others."""
    for driver, card in itertools.product(("450.80.02", "535.288.01", "580.95.05", "700.1"), CARDS):
        left = open_errors(combination(release, driver, card))
        if card == CARDS[-1] and release.startswith("tensorflow"):
            assert left in ([], ["gpu-too-new-for-build"]), (release, driver, card)
        else:
            assert left == [], (release, driver, card)


@pytest.mark.parametrize(("release", "driver", "card"), WORKING)
def test_what_is_documented_to_work_is_no_error(release: str, driver: str, card: str) -> None:
    assert errors(combination(release, driver, card)) == []


def advised(snapshot: Snapshot) -> Iterator[tuple[Finding, Snapshot | None]]:
    """Follow the first fix of the first error again and again; None where no fix is offered."""
    for _ in range(6):
        found = [f for f in remedy.diagnose(snapshot, database()).findings if f.severity is Severity.ERROR]
        if not found:
            return
        fixes = found[0].fixes
        if not fixes:
            yield found[0], None
            return
        snapshot = laid(snapshot, {name: NOT_THERE if value is None else value
                                   for name, value in fixes[0].effect.items()})
        yield found[0], snapshot
    raise AssertionError("the advice never comes to an end")


@pytest.mark.parametrize("release", RELEASES)
def test_following_the_advice_comes_to_an_end(release: str) -> None:
    """Whoever does what is printed first never meets the same error twice."""
    for driver, card in itertools.product(("450.80.02", "535.288.01", "580.95.05"), CARDS[2::3]):
        met = [(f.rule, f.subject) for f, _ in advised(combination(release, driver, card))]
        assert len(met) == len(set(met)), (release, driver, card, met)


# -- what could not be seen --------------------------------------------------------------------------


def hiding(snapshot: Snapshot, name: str, fact: Fact) -> Snapshot:
    """Return the snapshot in which every subject's `name` is `fact`."""
    match CATALOGUE[name].scope:
        case Scope.HOST:
            return dataclasses.replace(snapshot, host={**snapshot.host, name: fact})
        case Scope.GPU:
            assert not isinstance(snapshot.gpus, Unknown)
            return dataclasses.replace(snapshot, gpus=tuple({**card, name: fact} for card in snapshot.gpus))
        case _:
            assert not isinstance(snapshot.frameworks, Unknown)
            return dataclasses.replace(
                snapshot, frameworks=tuple({**found, name: fact} for found in snapshot.frameworks))


@pytest.mark.parametrize("release", ["tensorflow==2.10.0", "tensorflow==2.20.0", "torch==2.9.1"])
def test_what_could_not_be_looked_at_is_never_an_error(release: str) -> None:
    healthy = combination(release, "580.95.05", "8.6")
    assert errors(healthy) == []
    for spec in CATALOGUE.values():
        if spec.seen_on_machine:
            assert errors(hiding(healthy, spec.name, HIDDEN)) == [], spec.name


@pytest.mark.parametrize("name", WITHOUT)
def test_a_working_machine_can_be_without(name: str) -> None:
    healthy = combination("torch==2.9.1", "580.95.05", "8.6")
    assert errors(hiding(healthy, name, NOT_THERE)) == []


# -- strangers' machines -----------------------------------------------------------------------------

JETSON: Mapping[str, Value | Fact] = {
    "system.architecture": "aarch64", "system.jetson": "36.4.0", "system.kernel": "5.15.148-tegra",
    "system.distribution": "ubuntu", "system.pci_nvidia": (), "system.secure_boot": NOT_THERE,
    "driver.module_kernels": ("5.15.148-tegra",), "cc": "8.7", "driver": "540.4.0", "cuda.ceiling": "12.6",
    "nvml.cuda_version": "12.6"}
WSL: Mapping[str, Value | Fact] = {
    "system.wsl": 2, "system.pci_nvidia": (), "system.gpu_modules": (), "driver.kernel_version": NOT_THERE,
    "driver.module_kernels": NOT_THERE, "driver.gpu_nodes": 0, "driver.uvm_node": False,
    "driver.proc_gpus": NOT_THERE, "cuda.library": "/usr/lib/wsl/lib/libcuda.so.1",
    "cuda.library_version": "576.88", "nvml.driver_version": "576.88",
    "driver.libcuda_file_version": NOT_THERE}
STRANGERS: Mapping[str, Mapping[str, Value | Fact]] = {
    "Jetson Orin": JETSON,
    "WSL2": WSL,
    "GH200": {"system.architecture": "aarch64", "release": "torch==2.11.0"},
    "a card from after these rules": {"cc": "14.0", "driver": "700.1"},
    "a distribution nobody knows": {"system.distribution": "tomorrow", "system.distribution_version": "3",
                                    "system.kernel": "9.1.0-tomorrow", "glibc": "2.45"},
    "Python 3.15": {"python": "3.15", "python.version": "3.15.0a2+"},
    "MIG": {"gpu.mig_mode": True, "gpu.mig_instances": 7},
    "virtual machine without a PCI list": {"system.pci_nvidia": ()},
    "musl": {"system.distribution": "alpine", "system.glibc": NOT_THERE, "loader.cache": NOT_THERE},
    "container without utility": {"container.runtime": "docker", "nvml.library": NOT_THERE,
                                  "nvml.init_code": NOT_THERE, "nvml.driver_version": NOT_THERE},
    "two cards and two frameworks": {"cc": "8.6,9.0", "release": ("torch==2.9.1", "tensorflow==2.20.0")},
    "Jetson Xavier with JetPack 5": {
        **JETSON, "system.jetson": "35.4.1", "driver.kernel_version": NOT_THERE,
        "system.gpu_modules": ("nvgpu",), "nvml.library": NOT_THERE, "nvml.init_code": NOT_THERE,
        "system.kernel": "5.10.120-tegra", "driver.module_kernels": ("5.10.120-tegra",)},
    "libcuda older than the driver, and working": {
        "driver": "535.183.01", "cuda.library": "/usr/local/cuda/compat/libcuda.so.1",
        "cuda.library_version": "525.85.12", "container.compat_folders": ("/usr/local/cuda/compat",)},
    "an old card for the display, hidden from CUDA": {
        "cc": "8.9,7.0", "release": "torch==2.11.0", "environment.CUDA_VISIBLE_DEVICES": "0",
        "cuda.devices": ({"compute_capability": "8.9"}, {"compute_capability": "7.0"})},
    "devices listed with a blank": {"environment.CUDA_VISIBLE_DEVICES": "0 1"},
    "NVML of another version in an image": {
        "container.runtime": "docker", "nvml.init_code": 18, "driver.libnvidia_ml_file_version": "570.86.15"},
    "NVML that fails in a container": {"container.runtime": "docker", "nvml.init_code": 999},
    "libcuda newer than the module, and working": {
        "driver": "535.183.01", "cuda.library": "/usr/local/cuda/compat/libcuda.so.1",
        "cuda.library_version": "580.95.05", "cuda.ceiling": "13.0", "release": "torch==2.11.0"},
}


@pytest.mark.parametrize("name", STRANGERS)
def test_a_healthy_stranger_is_healthy(name: str) -> None:
    snapshot = laid(database().base, STRANGERS[name])
    assert errors(snapshot) == []
    assert open_errors(snapshot) == []


MACHINE_CODE: Record = {"sass": ("13.0",), "ptx": (), "fat_binaries": 300}
PTX_ALONE: Record = {"sass": (), "ptx": ("12.0@9.9",), "fat_binaries": 300}


@pytest.mark.parametrize("cuda", ["13.9", "14.0", "15.2"])
@pytest.mark.parametrize("code", [MACHINE_CODE, PTX_ALONE], ids=["machine code", "PTX alone"])
def test_a_build_for_a_cuda_of_the_future_is_no_error(cuda: str, code: Record) -> None:
    """A driver of that day runs it, whether or not the rules know that CUDA and its PTX."""
    build = laid(machine(release="torch==2.9.1"), {"cc": "13.0", "driver": "700.1", "cuda.ceiling": "16.0"})
    values: Mapping[str, Value] = {"version": "3.0.0", "cuda": cuda, "code": (code,)}
    for name, value in values.items():
        build = hiding(build, f"framework.{name}", known(value))
    assert errors(build) == []
    assert open_errors(build) == []


MACHINES_WITHOUT: Mapping[str, Mapping[str, Value | Fact]] = {
    "Linux": {},
    "macOS": {"system.os": "Darwin", "system.architecture": "arm64", "system.glibc": NOT_THERE,
              "system.pci_nvidia": NOT_THERE},
}


@pytest.mark.parametrize("name", MACHINES_WITHOUT)
def test_a_machine_without_nvidia_is_told_that_alone(name: str) -> None:
    snapshot = laid(database().base, {"driver": "none", "cc": "none", **MACHINES_WITHOUT[name]})
    assert errors(snapshot) == [("no-nvidia-gpu", "host")]
