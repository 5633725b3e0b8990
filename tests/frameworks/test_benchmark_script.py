"""The script that a full check is measured against does the same work as the stages do."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gpudoctor.payloads import stage_work
from tests.harness.patient import Patient

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "tensorflow_once.py"


def shape(values: Any) -> tuple[int, ...]:
    """Return the shape of nested lists."""
    return (len(values), *shape(values[0])) if isinstance(values, list) else ()


def test_the_bare_script_computes_what_the_stages_compute(
        environment: Callable[[str], Patient], tmp_path: Path) -> None:
    """Every stage that one card has, with results of the same shape, and every precision."""
    cases = {"matmul": stage_work.matmul(), "convolution": stage_work.convolution(channels_first=False),
             "compiled": stage_work.curve(),
             **{name: stage_work.reduced(name) for name in stage_work.SIGNIFICAND_BITS}}
    kinds = {"float16": "float16", "bfloat16": "bfloat16"}
    ran = subprocess.run([str(environment("cpu").python), str(SCRIPT), "anywhere"], cwd=tmp_path,
                         capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines() == [
        f"{name} {shape(case.expected)} {kinds.get(name, 'float32')}" for name, case in cases.items()]


def test_without_a_gpu_it_runs_nothing(environment: Callable[[str], Patient], tmp_path: Path) -> None:
    ran = subprocess.run([str(environment("cpu").python), str(SCRIPT)], cwd=tmp_path, capture_output=True,
                         text=True, check=True)
    assert ran.stdout == ""
