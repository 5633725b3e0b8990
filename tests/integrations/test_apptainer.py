"""integrations/apptainer: the lines of the page, on machines that look inside as Apptainer makes them.

Apptainer itself is not to be had here. What it hands in is told by its own documents: --nv binds the driver's
libraries into /.singularity.d/libs, and puts that folder on LD_LIBRARY_PATH.
"""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.contract.checkout import ROOT, run_gpudoctor
from tests.harness.machine import Machine
from tests.harness.nvidia import H100, driver_libraries
from tests.machines import parts
from tests.machines.catalogue import r580

PAGE = (ROOT / "integrations" / "apptainer" / "README.md").read_text(encoding="utf-8")
LINES = [line for block in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL) for line in block.splitlines()]
LIBRARIES = "/.singularity.d/libs"
INSIDE = {"APPTAINER_CONTAINER": "/home/ana/train.sif", "APPTAINER_NAME": "train.sif"}
DRIVER, CUDA = "580.95.05", 13000


def without_nv() -> Machine:
    """Return a container on a node with an H100: the node's module and /dev show, none of its libraries."""
    bare = r580(H100).without(*parts.libcuda_files(DRIVER), *parts.nvml_files(DRIVER))
    return bare.adding(files={"/.singularity.d/runscript": "#!/bin/sh\n"}, environment=INSIDE)


def with_nv() -> Machine:
    """Return it with --nv: the libraries by the names that programs ask for, in a folder of their own."""
    libraries = {f"{LIBRARIES}/{Path(path).name.removesuffix(DRIVER)}1": library
                 for path, library in driver_libraries(DRIVER, CUDA).items()}
    return without_nv().adding(libraries=libraries, environment={"LD_LIBRARY_PATH": LIBRARIES})


def inside(line: str) -> list[str]:
    """Return the words that run in the container, without the shell's words behind them."""
    words = shlex.split(line.partition(" > ")[0])
    assert words[:3] == ["apptainer", "exec", "--nv"]
    return words[4:]


@pytest.fixture(scope="module")
def probe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the probe as the first line says."""
    folder = tmp_path_factory.mktemp("probe")
    words = shlex.split(LINES[0])
    done = run_gpudoctor(*words[1:-1], str(folder / words[-1]))
    assert done.returncode == 0, done.stderr
    return folder


def test_the_second_line_starts_what_the_first_one_wrote() -> None:
    assert inside(LINES[1]) == ["python3", shlex.split(LINES[0])[-1]]


@pytest.mark.parametrize(("machine", "code", "causes"), [
    (with_nv, 0, []), (without_nv, 1, ["singularity-no-nv"]),
], ids=["with --nv", "without --nv"])
def test_the_probe_is_judged_outside(probe: Path, tmp_path: Path, machine: Callable[[], Machine], code: int,
                                     causes: list[str]) -> None:
    """What is missing in the container is named; the third line is a gate."""
    looked = machine().run([sys.executable, *inside(LINES[1])[1:]], cwd=str(probe))
    assert looked.returncode == 0, looked.stderr
    (tmp_path / "raw.json").write_text(looked.stdout, encoding="utf-8")
    words = shlex.split(LINES[2].partition(" && ")[0])[1:]
    words[words.index("raw.json")] = str(tmp_path / "raw.json")
    done = run_gpudoctor(*words, "--format", "json")
    report = json.loads(done.stdout)
    assert report["snapshot"]["host"]["container.runtime"]["value"] == "apptainer"
    assert [one["cause"] for one in report["findings"] if one["severity"] == "error"][:1] == causes
    assert done.returncode == code, done.stdout


@pytest.mark.parametrize(("machine", "code", "said"), [
    (with_nv, 0, "The machine is healthy"), (without_nv, 1, "ERROR  singularity-no-nv  [host]"),
], ids=["with --nv", "without --nv"])
def test_gpudoctor_inside_is_a_gate(machine: Callable[[], Machine], code: int, said: str) -> None:
    done = machine().run([sys.executable, "-m", *inside(LINES[-1])], cwd=str(ROOT))
    assert done.returncode == code, done.stdout
    assert said in done.stdout
