"""Driver libraries that crash, hang, flood or are no libraries: each costs its own facts and nothing else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.hosts.looking import (
    CUDA, DRIVER, HEALTHY, LIBCUDA, LIBNVIDIA_ML, Looked, changed, healthy, look, of_probe,
)
from tests.shim import build

SONAMES = {LIBCUDA: "libcuda.so.1", LIBNVIDIA_ML: "libnvidia-ml.so.1"}
PROBES = {LIBCUDA: "cuda", LIBNVIDIA_ML: "nvml"}
INIT_CODES = {LIBCUDA: "cuda.init_code", LIBNVIDIA_ML: "nvml.init_code"}
# The version in the bytes of the library file is read by the driver probe: another file, another version.
OF_THE_FILE = {
    LIBCUDA: {"driver.libcuda_files", "driver.libcuda_file_version", "loader.files"},
    LIBNVIDIA_ML: {"driver.libnvidia_ml_files", "driver.libnvidia_ml_file_version", "loader.files"},
}
each_library = pytest.mark.parametrize("library", [LIBCUDA, LIBNVIDIA_ML], ids=["libcuda", "libnvidia-ml"])


def replaced(library: str, by: Path, timeout_seconds: float = 6.0) -> Looked:
    """Look at the machine with another file in the place of a library."""
    return look(HEALTHY.adding(libraries={library: by}), timeout_seconds=timeout_seconds)


def of_another_machine(library: str, tmp_path: Path) -> Path:
    """Return the scripted library with AArch64 written into its ELF header."""
    original = {
        LIBCUDA: build.cuda(driver_version=DRIVER, cuda_version=CUDA),
        LIBNVIDIA_ML: build.nvml(driver_version=DRIVER),
    }[library]
    data = bytearray(original.read_bytes())
    data[18:20] = b"\xb7\x00"  # e_machine
    changed_file = tmp_path / "library"
    changed_file.write_bytes(data)
    return changed_file


def is_unknown_for(looked: Looked, library: str, reason: str) -> None:
    """Hold that the library's own facts are unknown for this reason, and all else is as it was."""
    said = looked.fact(INIT_CODES[library])
    assert reason in said["unknown"], said
    assert looked.exit_code == 3
    assert changed(healthy(), looked) <= of_probe(PROBES[library]) | OF_THE_FILE[library]


@each_library
def test_crash_while_being_loaded(library: str) -> None:
    """SIGSEGV in a constructor ends the child that asked, nothing more."""
    looked = replaced(library, build.crashing(soname=SONAMES[library]))
    assert looked.outcomes[PROBES[library]] == "signal"
    is_unknown_for(looked, library, "SIGSEGV")


@each_library
def test_hang_while_being_loaded(library: str) -> None:
    """A constructor that never returns costs one limit."""
    looked = replaced(library, build.hanging(soname=SONAMES[library]), timeout_seconds=2)
    assert looked.outcomes[PROBES[library]] == "timeout"
    is_unknown_for(looked, library, "no end within 2 s")


@each_library
def test_flood_while_being_loaded(library: str) -> None:
    """100 MB on stderr neither block the child nor reach the report."""
    looked = replaced(library, build.flooding(soname=SONAMES[library]))
    assert len(looked.completed.stdout) < 1_000_000
    assert looked.completed.stderr == ""
    # That library has none of the functions, which is an answer.
    assert changed(healthy(), looked) <= of_probe(PROBES[library]) | OF_THE_FILE[library]


@each_library
@pytest.mark.parametrize("kind", ["empty", "text", "another machine"])
def test_no_library(library: str, kind: str, tmp_path: Path) -> None:
    """What the loader refuses is said in its words, and the file is not mistaken for a driver."""
    file = {"empty": build.empty, "text": build.text}.get(
        kind, lambda: of_another_machine(library, tmp_path)
    )()
    looked = replaced(library, file)
    assert looked.outcomes[PROBES[library]] == "ok"
    said = looked.fact(INIT_CODES[library])
    assert SONAMES[library] in said["absent"] or "file too short" in said["absent"], said
    assert changed(healthy(), looked) <= of_probe(PROBES[library]) | OF_THE_FILE[library]


@pytest.mark.parametrize(("library", "function"), [(LIBCUDA, "cuInit"), (LIBNVIDIA_ML, "nvmlInit")])
@pytest.mark.parametrize(("signal", "name"), [("segv", "SIGSEGV"), ("abort", "SIGABRT")])
def test_crash_in_a_call(library: str, function: str, signal: str, name: str) -> None:
    """A call that raises a signal ends the child, and the report names the signal."""
    looked = look(HEALTHY.adding(shim=f"crash.{function}={signal}"))
    assert looked.outcomes[PROBES[library]] == "signal"
    is_unknown_for(looked, library, name)


@pytest.mark.parametrize(("library", "function"), [(LIBCUDA, "cuInit"), (LIBNVIDIA_ML, "nvmlInit")])
def test_hang_in_a_call(library: str, function: str) -> None:
    """A call that never returns is named, and what was answered before it is kept."""
    looked = look(HEALTHY.adding(shim=f"hang.{function}=forever"), timeout_seconds=3)
    assert looked.outcomes[PROBES[library]] == "timeout"
    is_unknown_for(looked, library, function)
    kept = {LIBCUDA: "cuda.ceiling", LIBNVIDIA_ML: "nvml.library"}[library]
    assert looked.fact(kept) == healthy().fact(kept)


def test_both_libraries_hang() -> None:
    """Two libraries that hang cost no more time than one, and the cards are still those of the PCI bus."""
    machine = HEALTHY.adding(
        libraries={library: build.hanging(soname=SONAMES[library]) for library in SONAMES}
    )
    looked = look(machine, timeout_seconds=2)
    assert looked.outcomes["cuda"] == looked.outcomes["nvml"] == "timeout"
    assert looked.exit_code == 3
    assert [card["gpu.pci_device_id"]["value"] for card in looked.report["snapshot"]["gpus"]] == ["2330"]
    assert looked.fact("driver.kernel_version") == healthy().fact("driver.kernel_version")


@pytest.mark.parametrize("function", ["cuInit", "nvmlInit", "nvmlDeviceGetName"])
def test_flood_in_a_call(function: str) -> None:
    """100 MB printed by a call that works change nothing at all."""
    looked = look(HEALTHY.adding(shim=f"flood.{function}=100000000"))
    assert (looked.exit_code, changed(healthy(), looked)) == (0, set())


def test_kernel_that_was_not_asked_for_is_not_run() -> None:
    """At depth static no context is made and nothing is launched."""
    looked = look(replace(HEALTHY, environment={"LC_ALL": "C"}))
    assert not {"cuCtxCreate", "cuLaunchKernel", "cuModuleLoadData"} & set(looked.completed.calls)
    assert "cuInit" in looked.completed.calls


@pytest.mark.parametrize("library", [LIBCUDA, LIBNVIDIA_ML], ids=["libcuda", "libnvidia-ml"])
def test_shipped_rules_never_call_a_dead_library_healthy(library: str) -> None:
    """With the pages that users have, a libcuda that crashes is found or leaves the verdict open."""
    machine = HEALTHY.adding(libraries={library: build.crashing(soname=SONAMES[library])})
    seen = look(machine, rules=None)
    assert seen.report["verdict"] != "healthy"
    assert seen.exit_code in (1, 3)
