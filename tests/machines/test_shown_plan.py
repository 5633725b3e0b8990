"""The guide shows the plan for a broken machine, in the words that the command prints today."""

from __future__ import annotations

import sys

import pytest

from tests.harness import namespace
from tests.harness.interpreters import need_python
from tests.harness.pages import ROOT, assert_shows
from tests.machines.catalogue import SCENARIOS
from tests.machines.patients import WITH_UV, Patients

MACHINE = "V100 and a fresh TensorFlow"
VENV = "/home/ana/venv"


def printed(patients: Patients) -> str:
    """Return what the command prints on the machine, whose shell hides its card besides."""
    scenario = SCENARIOS[MACHINE]
    patient = patients(scenario.patient)
    machine = scenario.build(patient).adding(links={VENV: str(patient.prefix)})
    run = machine.run(
        [sys.executable, "-m", "gpudoctor", "fix", "--depth", "static", "--python", f"{VENV}/bin/python"],
        timeout=120, cwd=str(ROOT), environment={"COLUMNS": "100", "CUDA_VISIBLE_DEVICES": "", **WITH_UV})
    assert run.returncode == 1, run.stderr
    return run.stdout


def test_the_guide_shows_the_plan_that_is_printed(
    tmp_path_factory: pytest.TempPathFactory, updating: bool,
) -> None:
    """`--update-golden` writes it anew."""
    need_python("3.12")  # the page shows one
    reason = namespace.unavailable()
    if reason:
        pytest.skip(f"no machine can be built here: {reason}")
    command = f"gpudoctor fix --depth static --python {VENV}/bin/python"
    text = printed(Patients(tmp_path_factory.mktemp("patients")))
    assert_shows("plan", f"```text\n$ {command}\n{text}```\n", updating=updating)
