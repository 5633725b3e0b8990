"""A framework that came along with another one: what pip and uv really write down, and what is made of it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gpudoctor import derive, ruledb
from gpudoctor.assume import assumed, lay
from gpudoctor.model import Absent, Known, Scope, Snapshot, Subject, Unknown
from gpudoctor.probes import frameworks
from gpudoctor.remedy import diagnose
from tests.machines import local_wheels
from tests.unit.file_answers import ask

BUILD_INFO = """build_info = {'cuda_version': '11.8', 'cudnn_version': '8', 'is_cuda_build': True,
              'cuda_compute_capabilities': ['sm_80'], 'is_rocm_build': False}
"""


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make wheels that stand in for TensorFlow 2.12, jax, and a library that needs jax itself."""
    folder = tmp_path_factory.mktemp("wheels")
    local_wheels.build(folder, "tensorflow", "2.12.1", {}, requires=["jax>=0.3.15"], texts={
        "tensorflow/__init__.py": "", "tensorflow/python/platform/build_info.py": BUILD_INFO})
    local_wheels.build(folder, "jax", "0.4.30", {}, requires=["jaxlib; python_version > '3'"], texts={
        "jax/__init__.py": "", "jax/version.py": "_version = '0.4.30'\n"})
    local_wheels.build(folder, "jaxlib", "0.4.30", {}, texts={"jaxlib/__init__.py": ""})
    local_wheels.build(folder, "flax", "0.8.0", {}, requires=["JAX>=0.4", "orbax; extra == 'all'"])
    local_wheels.build(folder, "orbax", "0.1.0", {}, requires=["jax; extra == 'gpu'"])
    return folder


def installed(wheels: Path, prefix: Path, tool: str, *rounds: str) -> Path:
    """Have pip or uv install what each round names, for real; return the interpreter."""
    python = prefix / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", str(prefix)], check=True)
    installs = [str(python), "-m", "pip"] if tool == "pip" else [sys.executable, "-m", "uv", "pip"]
    options = ["--no-index", "--find-links", str(wheels)]
    options += ["--disable-pip-version-check"] if tool == "pip" else ["--python", str(python), "--offline"]
    for names in rounds:
        subprocess.run([*installs, "install", *options, *names.split()], check=True, capture_output=True,
                       env={"PATH": os.environ["PATH"], "UV_NO_CACHE": "1"})
    return python


def examined(python: Path) -> Snapshot:
    """Return a machine with a working card and what is installed for this interpreter."""
    database = ruledb.load()
    assert database.base is not None
    found = frameworks.read_frameworks(ask("frameworks", interpreter=str(python)))
    facts = assumed([("cc", "8.6"), ("driver", "580.95.05")])
    machine = lay(database.base, facts, database.tables, source="test")
    return Snapshot(host=machine.host, gpus=machine.gpus, frameworks=found)


def jax_of(machine: Snapshot) -> Subject:
    """Return jax there."""
    return next(one for one in derive.subjects(machine, ruledb.load())[Scope.FRAMEWORK] if one.name == "jax")


def told_of_jax(machine: Snapshot) -> list[tuple[str, str]]:
    """Return what is found of jax: rule and severity."""
    return [(one.rule, one.severity.value) for one in diagnose(machine, ruledb.load()).findings
            if one.subject == "jax"]


def test_what_pip_was_not_told_came_along(wheels: Path, tmp_path: Path) -> None:
    """A healthy TensorFlow 2.12 was called faulty, because jax, which it requires, has no CUDA plugin."""
    machine = examined(installed(wheels, tmp_path / "venv", "pip", "tensorflow"))
    assert jax_of(machine).fact("framework.brought_by") == Known(
        value=("tensorflow",), source="METADATA of every distribution")
    assert told_of_jax(machine) == [("GPD6035", "info")]


@pytest.mark.parametrize("rounds", [("tensorflow jax",), ("jax", "tensorflow")])
def test_what_pip_was_told_is_wanted(rounds: tuple[str, ...], wheels: Path, tmp_path: Path) -> None:
    """Together with the other one, or before it."""
    machine = examined(installed(wheels, tmp_path / "venv", "pip", *rounds))
    assert isinstance(jax_of(machine).fact("framework.brought_by"), Absent)
    assert told_of_jax(machine) == [("GPD6030", "error")]


def test_what_pip_found_there_already_has_no_mark(wheels: Path, tmp_path: Path) -> None:
    """Somebody asked for jax afterwards: that nobody did is never claimed."""
    machine = examined(installed(wheels, tmp_path / "venv", "pip", "tensorflow", "jax"))
    assert isinstance(jax_of(machine).fact("framework.requested"), Unknown)
    found = diagnose(machine, ruledb.load()).findings
    assert [one.certainty.value for one in found if one.rule == "GPD6035"] == ["likely"]


def test_what_another_library_needs_is_wanted(wheels: Path, tmp_path: Path) -> None:
    """Nobody named jax, but flax computes with it."""
    machine = examined(installed(wheels, tmp_path / "venv", "pip", "tensorflow flax"))
    brought = jax_of(machine).fact("framework.brought_by")
    assert brought == Absent(source="flax requires it")
    assert told_of_jax(machine) == [("GPD6030", "error")]


def test_an_extra_that_may_not_have_been_asked_for_is_no_need(wheels: Path, tmp_path: Path) -> None:
    """A library requires jax only with an extra."""
    machine = examined(installed(wheels, tmp_path / "venv", "pip", "tensorflow orbax"))
    assert told_of_jax(machine) == [("GPD6035", "info")]


@pytest.mark.parametrize("names", ["tensorflow", "tensorflow jax"])
def test_uv_marks_everything_as_requested(names: str, wheels: Path, tmp_path: Path) -> None:
    """So its mark says nothing: another framework explains jax, and the note is only likely."""
    machine = examined(installed(wheels, tmp_path / "venv", "uv", names))
    marked = {path.parent.name.partition("-")[0]
              for path in (tmp_path / "venv").glob("lib/python*/site-packages/*.dist-info/REQUESTED")}
    assert {"tensorflow", "jax", "jaxlib"} <= marked
    assert isinstance(jax_of(machine).fact("framework.requested"), Unknown)
    assert told_of_jax(machine) == [("GPD6035", "info")]


@pytest.mark.parametrize("installer", ["conda", "", "poetry 2.1"])
def test_whoever_notes_nothing_leaves_it_open(installer: str, wheels: Path, tmp_path: Path) -> None:
    """No REQUESTED of conda or a distribution does not mean that nobody asked."""
    python = installed(wheels, tmp_path / "venv", "pip", "tensorflow")
    for path in (tmp_path / "venv").glob("lib/python*/site-packages/*.dist-info/INSTALLER"):
        path.write_text(installer)
        (path.parent / "REQUESTED").unlink(missing_ok=True)
    assert isinstance(jax_of(examined(python)).fact("framework.requested"), Unknown)


def test_jax_alone_is_wanted(wheels: Path, tmp_path: Path) -> None:
    """Nothing else explains it, whoever installed it."""
    machine = examined(installed(wheels, tmp_path / "venv", "uv", "jax"))
    assert told_of_jax(machine) == [("GPD6030", "error")]


def test_a_record_that_cannot_be_read_is_not_no_requirement(wheels: Path, tmp_path: Path) -> None:
    """It may be the one that needs jax: undecided."""
    python = installed(wheels, tmp_path / "venv", "pip", "tensorflow flax")
    path = next((tmp_path / "venv").glob("lib/python*/site-packages/flax-*/METADATA"))
    path.unlink()
    path.mkdir()
    machine = examined(python)
    assert isinstance(jax_of(machine).fact("framework.brought_by"), Unknown)
    undecided = diagnose(machine, ruledb.load()).undecided
    assert [one.asked for one in undecided if one.rule == "GPD6030"] == [True]


def test_an_egg_info_requires_as_well(wheels: Path, tmp_path: Path) -> None:
    """What setup.py installed has its requirements in requires.txt, those of extras in sections."""
    python = installed(wheels, tmp_path / "venv", "pip", "tensorflow")
    folder = next((tmp_path / "venv").glob("lib/python*/site-packages"))
    egg = folder / "objax-1.0.egg-info"
    egg.mkdir()
    (egg / "PKG-INFO").write_text("Metadata-Version: 1.0\nName: objax\nVersion: 1.0\n")
    (egg / "requires.txt").write_text("numpy\n\n[gpu]\njax>=0.4\n")
    assert told_of_jax(examined(python)) == [("GPD6035", "info")]
    (egg / "requires.txt").write_text("numpy\njax>=0.4\n")
    assert told_of_jax(examined(python)) == [("GPD6030", "error")]
