"""Real CPU builds on a machine with a scripted card: the whole road up to "ran on the CPU".

No GPU is behind the card, and no stage may ever say "passed" here.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from gpudoctor.courses import STAGES
from tests.frameworks.test_stages_on_cpu import CLAIMING
from tests.harness.machine import Machine
from tests.harness.nvidia import H100, bare_machine
from tests.harness.patient import Patient
from tests.machines.catalogue import r580
from tests.machines.examination import SCHEMA, every

ROOT = Path(__file__).parents[2]
BUILDS = {"cpu": ("tensorflow", "jax"), "torch-cpu": ("torch",), "paddle-cpu": ("paddle",)}
SINGLE = STAGES[:-1]


@dataclass(frozen=True, kw_only=True)
class Checked:
    """What `check` said: the report, the exit code, standard error, and who outlived it."""

    report: Mapping[str, Any]
    exit_code: int | None
    stderr: str
    leftover: tuple[str, ...]

    def framework(self, name: str) -> Mapping[str, Any]:
        """Return the values of a framework's facts that are known."""
        for facts in self.report["snapshot"]["frameworks"]:
            values = {fact: said["value"] for fact, said in facts.items() if "value" in said}
            if values["framework.name"] == name:
                return values
        raise AssertionError(f"{name} is not in the report")

    def stages(self, name: str) -> dict[str, Mapping[str, Any]]:
        """Return a framework's stages by name."""
        return {record["stage"]: record for record in self.framework(name)["framework.stages"]}

    def causes(self) -> Iterator[str]:
        """Yield every cause that was found, folded ones too."""
        return (finding["cause"] for finding in every(self.report["findings"]))


def check(machine: Machine, patient: Patient, *options: str) -> Checked:
    """Run the real command line in the machine at the default depth."""
    command = [sys.executable, "-m", "gpudoctor", "check", "--format", "json",
               "--python", str(patient.python), *options]
    result = replace(machine, loader_cache=True).run(command, timeout=400, cwd=str(ROOT))
    try:
        report = json.loads(result.stdout)
    except json.JSONDecodeError:
        raise AssertionError(f"no report (exit {result.returncode}):\n{result.stderr}") from None
    jsonschema.validate(report, SCHEMA)
    return Checked(report=report, exit_code=result.returncode, stderr=result.stderr, leftover=result.leftover)


@pytest.mark.parametrize("build", BUILDS)
def test_a_cpu_build_beside_a_card_runs_on_the_cpu_and_says_so(
        build: str, environment: Callable[[str], Patient]) -> None:
    checked = check(r580(H100), environment(build))
    for name in BUILDS[build]:
        facts, stages = checked.framework(name), checked.stages(name)
        assert facts["framework.import_outcome"] == "passed"
        assert facts["framework.seen_gpus"] == 0
        assert set(stages) == set(SINGLE)
        outcomes = {stage: record["outcome"] for stage, record in stages.items()}
        assert outcomes["matmul"] == outcomes["convolution"] == "ran-on-cpu"
        assert set(outcomes.values()) <= {"ran-on-cpu", "skipped"}
        for record in stages.values():
            assert record["outcome"] == "ran-on-cpu" or record["reason"]
            assert record.get("largest_error", 0.0) <= record.get("tolerance", 0.0)
    first = checked.report["findings"][0]
    assert (first["cause"], first["severity"]) == ("cpu-only-build", "error")
    assert "ran-on-cpu" in set(checked.causes())
    errors = [f["cause"] for f in checked.report["findings"] if f["severity"] == "error"]
    assert set(errors) <= {"cpu-only-build", "jax-cuda-plugin-missing"}, "the rest follows from the build"
    assert (checked.exit_code, checked.stderr, checked.leftover) == (1, "", ())


# Does something only where a framework is run: a sitecustomize.py is read by every Python.
_IN_A_STAGE = """
import sys
if "stages" in getattr(sys, "orig_argv", sys.argv):
    exec(open("/opt/custom/broken").read())
"""


def with_changed(text: str, machine: Machine | None = None) -> Machine:
    """Return the machine on which a sitecustomize.py changes a framework, in the child that runs it."""
    files = {"/opt/custom/sitecustomize.py": _IN_A_STAGE, "/opt/custom/broken": text}
    return (machine or r580(H100)).adding(files=files, environment={"PYTHONPATH": "/opt/custom"})


# The driver's compiler is mapped by the first product of a child and stays, as it does on a card.
COMPILING = CLAIMING + """
import mmap, os, tempfile, time
path = os.path.join(tempfile.mkdtemp(), "libnvidia-ptxjitcompiler.so.580.95.05")
with open(path, "wb") as file:
    file.write(bytes(4096))
kept, real = [], torch.matmul
def matmul(left, right):
    if not kept:
        with open(path, "rb") as file:
            kept.append(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    if left.dtype != torch.float32:
        time.sleep(600)
    return real(left, right)
def busy(*arguments):
    while True:
        pass
torch.matmul, torch.nn.functional.conv2d = matmul, busy
"""


def test_compiling_is_told_from_hanging_by_what_the_processor_did(
        environment: Callable[[str], Patient]) -> None:
    """A regression: busy with a compiler that was there before was a hang, asleep with a new one was none."""
    checked = check(with_changed(COMPILING), environment("torch-cpu"), "--smoke-timeout", "12")
    stages = checked.stages("torch")
    assert {name: record["outcome"] for name, record in stages.items()} == {
        "matmul": "no-proof", "convolution": "compiling", "compiled": "skipped",
        "reduced-precision": "timed-out"}
    said = {finding["cause"]: finding["message"] for finding in every(checked.report["findings"])}
    assert said["ptx-jit-slow-start"].endswith("for 0.2 minutes in convolution")
    assert "reduced-precision" in said["framework-hangs"]


CRASHING = """
import ctypes, torch
def conv2d(*arguments):
    ctypes.string_at(0)
torch.nn.functional.conv2d = conv2d
"""
HANGING = """
import time, torch
def conv2d(*arguments):
    time.sleep(600)
torch.nn.functional.conv2d = conv2d
"""


@pytest.mark.parametrize(("broken", "outcome", "cause"), [
    (CRASHING, "crashed", "framework-crashed"), (HANGING, "timed-out", "framework-hangs"),
], ids=["crashes", "hangs"])
def test_a_stage_that_breaks_is_named_and_the_next_is_run_by_a_fresh_child(
        broken: str, outcome: str, cause: str, environment: Callable[[str], Patient]) -> None:
    checked = check(with_changed(broken), environment("torch-cpu"), "--smoke-timeout", "12")
    stages = checked.stages("torch")
    assert {name: record["outcome"] for name, record in stages.items()} == {
        "matmul": "ran-on-cpu", "convolution": outcome, "compiled": "skipped",
        "reduced-precision": "ran-on-cpu"}
    assert "in conv2d" in stages["convolution"]["words"]
    assert 0.0 < stages["convolution"]["seconds"] <= 12.0
    assert cause in set(checked.causes())
    assert (checked.stderr, checked.leftover) == ("", ())


def test_without_a_gpu_the_stages_are_skipped_and_never_passed(environment: Callable[[str], Patient]) -> None:
    checked = check(bare_machine(), environment("torch-cpu"))
    stages = checked.stages("torch")
    assert [record["outcome"] for record in stages.values()] == ["skipped"]
    assert "no NVIDIA GPU" in stages["all"]["reason"]
    assert checked.framework("torch")["framework.import_outcome"] == "passed"
    assert "ran-on-cpu" not in set(checked.causes())


def test_depth_import_imports_and_runs_nothing(environment: Callable[[str], Patient]) -> None:
    checked = check(r580(H100), environment("torch-cpu"), "--depth", "import")
    facts = checked.framework("torch")
    assert facts["framework.import_outcome"] == "passed"
    assert [record["outcome"] for record in facts["framework.stages"]] == ["skipped"]


def test_only_the_stages_that_were_asked_for_are_run(environment: Callable[[str], Patient]) -> None:
    checked = check(r580(H100), environment("torch-cpu"), "--stages", "matmul,convolution", "--gpu", "0")
    assert set(checked.stages("torch")) == {"matmul", "convolution"}


def test_a_card_that_is_full_is_left_alone_and_that_is_not_called_healthy(
        environment: Callable[[str], Patient]) -> None:
    full = r580(H100).adding(shim=f"gpu.0.mem_used={(80 << 30) - (64 << 20)}\ngpu.0.mem_total={80 << 30}")
    checked = check(full, environment("torch-cpu"))
    reason = checked.stages("torch")["all"]["reason"]
    assert "no room on it: 64 MiB" in reason
    assert checked.report["verdict"] != "healthy"


SAYING = """
import os, sys
class Saying:
    def find_spec(self, name, path=None, target=None):
        if name in ("tensorflow", "jax"):
            for variable in ("TF_FORCE_GPU_ALLOW_GROWTH", "XLA_PYTHON_CLIENT_MEM_FRACTION"):
                print("%s: %s=%s" % (name, variable, os.environ.get(variable)), file=sys.stderr)
sys.meta_path.insert(0, Saying())
"""


def test_memory_is_asked_for_sparingly(environment: Callable[[str], Patient]) -> None:
    """What the frameworks find at their import, through the whole command, with a card."""
    checked = check(with_changed(SAYING), environment("cpu"), "--stages", "matmul")
    assert "tensorflow: TF_FORCE_GPU_ALLOW_GROWTH=true" in checked.framework("tensorflow")["framework.log"]
    card, = checked.report["snapshot"]["gpus"]
    share = (512 << 20) / card["gpu.memory_total_bytes"]["value"]
    assert f"jax: XLA_PYTHON_CLIENT_MEM_FRACTION={share:.6f}" in checked.framework("jax")["framework.log"]


def test_the_checked_kernel_asks_for_two_arrays(environment: Callable[[str], Patient]) -> None:
    """The scripted driver counts what is asked of it: a CPU build asks for nothing at all."""
    result = replace(r580(H100), loader_cache=True).run(
        [sys.executable, "-m", "gpudoctor", "check", "--python", str(environment("torch-cpu").python)],
        timeout=400, cwd=str(ROOT))
    allocations = [call for call in result.calls if call.startswith("cuMemAlloc")]
    assert len(allocations) <= 2, "the checked kernel's two arrays"
