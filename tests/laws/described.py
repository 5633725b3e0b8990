"""Machines as the probes describe them: a machine that works becomes a snapshot, and is judged."""

from __future__ import annotations

from collections.abc import Mapping

from gpudoctor import assume, remedy
from gpudoctor.derive import planned
from gpudoctor.derive.view import as_texts
from gpudoctor.facts import CATALOGUE
from gpudoctor.model import Absent, Fact, Finding, Known, Record, Severity, Snapshot, Unknown, Value
from tests.laws.working import (
    SITE, Build, Machine, at_least, database, loader_of, nvidia_packages, own_libraries, packages, sonames,
)
from tools import sweep_states as sweep

Facts = Mapping[str, Value | Fact]
SYSTEM = "/opt/cuda/lib"
NOT_THERE = Absent(source="the test")
_OPEN_BY_DEFAULT, _GRACE_HOPPER = 560, "2342"
_LOADED_BY_NAME = ("tensorflow", "jax")  # these ask for their libraries one by one, the others need them
# Every fact that a probe promises, but the name that tells one framework from another.
SEEN = [spec.name for spec in CATALOGUE.values() if spec.seen_on_machine and spec.name != "framework.name"]


def laid(snapshot: Snapshot, facts: Facts) -> Snapshot:
    """Return the snapshot with facts laid over it, in order."""
    wrapped: dict[str, Fact] = {
        name: fact if isinstance(fact, Known | Absent | Unknown) else Known(value=fact, source="the test")
        for name, fact in facts.items()}
    return assume.lay(snapshot, wrapped, database().tables, source="the test")


def snapshot_of(machine: Machine) -> Snapshot:
    """Return the machine as the probes describe it when nothing is run."""
    build = machine.build
    bare = laid(database().base, {
        **_system_facts(machine), "python": machine.python, "release": build.release,
        "cc": machine.card.capability, "driver": machine.driver})
    return laid(bare, {**_card_facts(machine), **_loader_facts(build), **_library_facts(machine)})


def _system_facts(machine: Machine) -> Facts:
    architecture = machine.build.platform.partition("_")[2]
    folders = (f"/lib/{architecture}-linux-gnu", f"/usr/lib/{architecture}-linux-gnu", "/lib", "/usr/lib")
    facts: dict[str, Value | Fact] = {
        "system.architecture": architecture, "loader.default_folders": folders,
        "driver.kernel_flavour": _flavour(machine), "python.site_packages": (SITE,),
        "system.pci_nvidia": ({"address": "0000:01:00.0", "device": _device(machine), "class": "0x030200",
                               "driver": "nvidia"},)}
    if architecture == "aarch64":
        facts.update({"system.cpu_flags": (), "system.kernel": "6.1.0-28-arm64",
                      "driver.module_kernels": ("6.1.0-28-arm64",)})
    return facts


def _flavour(machine: Machine) -> str:
    """Return which kernel module it has: before 560 the installers took the proprietary one."""
    old = int(machine.driver.partition(".")[0]) < _OPEN_BY_DEFAULT
    only_open = _device(machine) == _GRACE_HOPPER or at_least(machine.card.capability, "10.0")
    return "proprietary" if old and not only_open else machine.card.flavour


def _device(machine: Machine) -> str:
    is_grace = machine.build.platform == "linux_aarch64" and machine.card.capability == "9.0"
    return _GRACE_HOPPER if is_grace else machine.card.device


def _card_facts(machine: Machine) -> Facts:
    name = sweep.products(database())[machine.card.capability][0]
    return {"gpu.name": f"NVIDIA {name}", "gpu.pci_device_id": _device(machine), "gpu.bus_id": "0000:01:00.0",
            "gpu.memory_total_bytes": 24 * 2**30, "gpu.memory_used_bytes": 2**29,
            "gpu.memory_reserved_bytes": 2**28}


def _loader_facts(build: Build) -> Facts:
    """Return the library of it that opens CUDA's, as a look at the files on disk finds it."""
    linked = () if build.framework in _LOADED_BY_NAME else sonames(build)
    facts: dict[str, Value | Fact] = {"framework.loader": f"{SITE}/{loader_of(build)}",
                                      "framework.loader_needed": linked}
    for kind in ("rpath", "runpath"):
        entries = as_texts(build.row.get(kind))
        facts[f"framework.loader_{kind}"] = entries or NOT_THERE
    return facts


def _library_facts(machine: Machine) -> Facts:
    if machine.packaged:
        return packaged_facts(machine.build, packages(machine.build))
    cache = tuple({"soname": name, "path": f"{SYSTEM}/{name}"} for name in own_libraries(machine.build))
    return {"loader.cache": cache, "python.planned_distributions": ()}


def packaged_facts(build: Build, files: Mapping[str, Record], *, without: str = "",
                   installed: Mapping[str, str] | None = None) -> Facts:
    """Return what is seen of NVIDIA's packages: the files, and what pip says is installed.

    `without` is not installed. `installed` has versions, by the beginning of a name, that are not the newest;
    where it is empty nothing is installed.
    """
    listed: list[Record] = []
    for requirement in planned.parse(as_texts(build.row.get("requires_nvidia"))):
        if requirement.name == without or installed == {}:
            continue
        chosen = planned.newest(requirement, nvidia_packages(build.platform))
        version = chosen[1] if chosen else next((one.version for one in requirement.specifier), "1")
        other = [v for name, v in (installed or {}).items() if requirement.name.startswith(name)]
        listed.append({"name": requirement.name, "version": (*other, version)[0], "location": SITE})
    return {"loader.files": tuple(files.values()), "python.nvidia_distributions": tuple(listed),
            "python.planned_distributions": ()}


# -- what is found -----------------------------------------------------------------------------------


def faults(snapshot: Snapshot) -> list[Finding]:
    """Return errors and warnings, as they are printed."""
    return [finding for finding in remedy.diagnose(snapshot, database()).findings
            if finding.severity.is_fault]


def errors(snapshot: Snapshot) -> list[Finding]:
    """Return the errors, as they are printed."""
    return [finding for finding in faults(snapshot) if finding.severity is Severity.ERROR]
