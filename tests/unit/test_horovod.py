"""What Horovod was compiled without, read from its extension."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from gpudoctor import assume, derive, ruledb
from gpudoctor.model import Absent, Fact, Known, Scope, Unknown, Value
from gpudoctor.payloads import horovod as payload
from gpudoctor.probes import horovod

# What g++ writes for typeid of a class with virtual functions: so it stands in what it makes of Horovod
# 0.28.1, its nccl_operations.cc and gpu_operations.cc (HAVE_NCCL, HAVE_GPU; 2026-11-23), also stripped.
TYPE_NAME = 'const char name_%d[] __attribute__((used)) = "N7horovod6common%d%sE";\n'


def extension(folder: Path, framework: str, name: str, *classes: str) -> Path:
    """Compile a stripped extension with the names of these classes in it."""
    package = folder / "horovod" / framework
    package.mkdir(parents=True)
    (folder / "horovod" / "__init__.py").touch()
    source = folder / "extension.c"
    source.write_text("".join(TYPE_NAME % (number, len(word), word) for number, word in enumerate(classes))
                      + "int nothing(void) { return 0; }\n")
    library = package / name
    subprocess.run(["gcc", "-shared", "-fPIC", "-O2", "-s", "-o", library, source], check=True)
    return library


@pytest.mark.parametrize(("classes", "gpu", "nccl"), [
    (("GPUAllreduce", "NCCLAllreduce"), True, True),
    (("GPUAllreduce",), True, False),
    (("GlooAllreduce", "MPIAllreduce"), False, False),
])
def test_what_is_compiled_in_is_seen_in_a_stripped_library(
        tmp_path: Path, classes: tuple[str, ...], gpu: bool, nccl: bool) -> None:
    """By the names of the classes, as the C++ compiler writes them for typeid."""
    path = extension(tmp_path, "torch", "mpi_lib_v2.cpython-312-x86_64-linux-gnu.so", *classes)
    found = payload.examine("torch", [str(tmp_path)])
    assert found == {
        "folder": str(tmp_path / "horovod"),
        "extensions": [{"path": str(path), "gpu": gpu, "nccl": nccl, "runtimes": []}]}
    assert horovod.read({"horovod": found}) == Known(
        value=({"path": str(path), "gpu": gpu, "nccl": nccl},), source=str(tmp_path / "horovod"))
    assert payload.examine("tensorflow", [str(tmp_path)]) == {
        "folder": str(tmp_path / "horovod"), "extensions": []}


@pytest.mark.parametrize(("answer", "kind"), [
    ({}, Unknown), ({"horovod": None}, Absent), ({"horovod": {"error": "OSError: no"}}, Unknown),
    ({"horovod": {"folder": "/h", "extensions": [{"path": "/e", "error": "OSError: no"}]}}, Unknown),
    ({"horovod": [1]}, Unknown)])
def test_what_could_not_be_read_is_unknown(answer: dict[str, Any], kind: type[Fact]) -> None:
    """Only a package that is not there is absent."""
    assert isinstance(horovod.read(answer), kind)


def test_without_horovod_nothing_is_said(tmp_path: Path) -> None:
    """Nor of a framework that it does not serve."""
    assert payload.examine("torch", [str(tmp_path)]) is None
    extension(tmp_path, "torch", "mpi_lib_v2.so")
    assert payload.examine("jax", [str(tmp_path)]) is None


def test_an_extension_that_cannot_be_read_says_why(tmp_path: Path) -> None:
    """An empty file is no extension without NCCL."""
    extension(tmp_path, "torch", "mpi_lib_v2.so").write_bytes(b"")
    found: Any = payload.examine("torch", [str(tmp_path)])
    assert "error" in found["extensions"][0]


@pytest.mark.parametrize(("found", "expected"), [
    ((), "framework"), (({"path": "/e", "gpu": False, "nccl": False},), "GPU"),
    (({"path": "/e", "gpu": True, "nccl": False},), "NCCL"),
    (({"path": "/e", "gpu": True, "nccl": True},), None)])
def test_the_most_important_of_what_is_missing_is_told(found: Value, expected: str | None) -> None:
    """Without the extension nothing works, without the GPU NCCL does not matter."""
    database = ruledb.load()
    facts = {"release": Known(value="torch==2.8.0", source="test"),
             "framework.horovod": Known(value=found, source="/h")}
    snapshot = assume.lay(database.base, facts, database.tables, source="test")
    fact = derive.subjects(snapshot, database)[Scope.FRAMEWORK][0].fact("framework.horovod_lacks")
    assert (fact.value if isinstance(fact, Known) else None) == expected
    assert isinstance(fact, Known | Absent)
