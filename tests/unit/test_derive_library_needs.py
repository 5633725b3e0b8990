"""What a library needs in turn: read from its file, looked for as the loader does, counted once."""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from gpudoctor.derive.loader_trace import Inputs, trace_with_needs
from gpudoctor.model import Record
from gpudoctor.payloads import libraries
from gpudoctor.probes.shapes import needs, record
from tests.harness.elf import standin

CUSPARSE, NVJITLINK, CUBLAS = "libcusparse.so.12", "libnvJitLink.so.12", "libcublas.so.12"


def world(*records: Record, runpath: str = "/own", library_path: str = "") -> Inputs:
    """Return a loader's world of these files."""
    return Inputs(
        files={str(one["path"]): {"machine": "x86_64", "error": "", **one} for one in records}, rpath=(),
        runpath=(runpath,), library_path=(library_path,) if library_path else (), cache=(),
        default_folders=(), machine="x86_64")


def found(inputs: Inputs, *sonames: str) -> dict[str, str | None]:
    """Return library -> path of all that these and their needs lead to."""
    steps = trace_with_needs(sonames, inputs, lambda name: name == "libcuda.so.1")
    return {step.soname: step.path for step in steps}


def cusparse(**search_path: tuple[str, ...]) -> Record:
    """Return a cuSPARSE that needs nvJitLink and the driver."""
    return {"path": f"/own/{CUSPARSE}", "needed": (NVJITLINK, "libcuda.so.1"), **search_path}


def test_a_need_is_looked_for_where_its_library_looks() -> None:
    """By that library's RUNPATH, not by the one of the framework."""
    neighbour: Record = {"path": f"/jit/{NVJITLINK}"}
    inputs = world(cusparse(runpath=("$ORIGIN/../jit",)), neighbour)
    assert found(inputs, CUSPARSE) == {CUSPARSE: f"/own/{CUSPARSE}", NVJITLINK: f"/jit/{NVJITLINK}"}


def test_a_need_that_is_nowhere_is_missing() -> None:
    """It is what the loader blames; the driver's own library is nobody's package."""
    assert found(world(cusparse()), CUSPARSE) == {CUSPARSE: f"/own/{CUSPARSE}", NVJITLINK: None}


def test_a_need_that_lies_elsewhere_is_left_to_the_framework() -> None:
    """Some load it by its path before: nothing is claimed of it."""
    inputs = world(cusparse(), {"path": f"/elsewhere/{NVJITLINK}"})
    assert found(inputs, CUSPARSE) == {CUSPARSE: f"/own/{CUSPARSE}"}


def test_rpath_outranks_ld_library_path_and_what_is_loaded_stays() -> None:
    """A need that an earlier library found beside itself is the one that later ones get."""
    inputs = world(
        {"path": f"/own/{CUBLAS}", "needed": ("libcublasLt.so.12",), "rpath": ("$ORIGIN",)},
        {"path": "/own/libcublasLt.so.12"}, {"path": "/other/libcublasLt.so.12", "error": "empty file"},
        library_path="/other")
    assert found(inputs, CUBLAS, "libcublasLt.so.12")["libcublasLt.so.12"] == "/own/libcublasLt.so.12"
    assert found(inputs, "libcublasLt.so.12", CUBLAS)["libcublasLt.so.12"] == "/other/libcublasLt.so.12"


def test_what_is_linked_is_loaded_before_the_needs_of_any() -> None:
    """A regression: torch links cuBLAS and cuBLASLt, by its RPATH; cuBLAS alone would look by its RUNPATH."""
    inputs = world(
        {"path": f"/own/{CUBLAS}", "needed": ("libcublasLt.so.12",), "runpath": ("$ORIGIN",)},
        {"path": "/own/libcublasLt.so.12"}, {"path": "/other/libcublasLt.so.12", "error": "empty file"},
        library_path="/other")
    linked = replace(inputs, rpath=("/own",), runpath=())
    both = (CUBLAS, "libcublasLt.so.12")
    steps = trace_with_needs(both, linked, lambda name: name == "libcuda.so.1", linked=both)
    assert [step.path for step in steps] == [f"/own/{CUBLAS}", "/own/libcublasLt.so.12"]
    assert found(linked, *both)["libcublasLt.so.12"] == "/other/libcublasLt.so.12"


def test_libraries_that_need_one_another_end() -> None:
    """A circle of needs is no loop."""
    inputs = world(
        {"path": "/own/libcudnn_a.so.9", "needed": ("libcudnn_b.so.9",), "runpath": ("$ORIGIN",)},
        {"path": "/own/libcudnn_b.so.9", "needed": ("libcudnn_a.so.9",), "runpath": ("$ORIGIN",)})
    assert set(found(inputs, "libcudnn_a.so.9")) == {"libcudnn_a.so.9", "libcudnn_b.so.9"}


@pytest.mark.parametrize("beside", [True, False])
def test_the_real_loader_agrees(tmp_path: Path, beside: bool) -> None:
    """Real libraries with a real need, opened in a child, with and without what they need."""
    own, jit = tmp_path / "nvidia" / "own", tmp_path / "nvidia" / "jit"
    own.mkdir(parents=True)
    jit.mkdir()
    shutil.copy(standin(CUSPARSE, runpath="$ORIGIN/../jit", needed=(NVJITLINK,)), own / CUSPARSE)
    if beside:
        shutil.copy(standin(NVJITLINK), jit / NVJITLINK)
    files = libraries.describe_files([str(own), str(jit)], [])
    records = [record(path=one["path"], machine=one["machine"], **needs(one)) for one in files]
    predicted = found(world(*records, runpath=str(own)), CUSPARSE)
    assert predicted[NVJITLINK] == (str(jit / NVJITLINK) if beside else None)
    opened = subprocess.run(
        [sys.executable, "-c", f"import ctypes; ctypes.CDLL({str(own / CUSPARSE)!r})"],
        capture_output=True, text=True, timeout=60, check=False)
    assert (opened.returncode == 0) == beside
    assert (f"{NVJITLINK}: cannot open shared object file" in opened.stderr) == (not beside)
