"""README.md shows the plan for a broken machine, in the words that the command prints today."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.harness import namespace
from tests.harness.interpreters import need_python
from tests.machines.catalogue import SCENARIOS
from tests.machines.patients import Patients

ROOT = Path(__file__).parents[2]
MACHINE = "V100 and a fresh TensorFlow"
VENV = "/home/ana/venv"
BEGIN, END = "<!-- plan: begin -->\n", "<!-- plan: end -->"


def printed(patients: Patients) -> str:
    """Return what the command prints on the machine, whose shell hides its card besides."""
    scenario = SCENARIOS[MACHINE]
    patient = patients(scenario.patient)
    machine = scenario.build(patient).adding(links={VENV: str(patient.prefix)})
    run = machine.run(
        [sys.executable, "-m", "gpudoctor", "fix", "--depth", "static", "--python", f"{VENV}/bin/python"],
        timeout=120, cwd=str(ROOT), environment={"COLUMNS": "100", "CUDA_VISIBLE_DEVICES": ""})
    assert run.returncode == 1, run.stderr
    return run.stdout


def test_readme_shows_the_plan_that_is_printed(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest,
) -> None:
    """`--update-golden` writes it anew."""
    need_python("3.12")  # the page shows one
    reason = namespace.unavailable()
    if reason:
        pytest.skip(f"no machine can be built here: {reason}")
    command = f"gpudoctor fix --depth static --python {VENV}/bin/python"
    block = f"```text\n$ {command}\n{printed(Patients(tmp_path_factory.mktemp('patients')))}```\n"
    readme = ROOT / "README.md"
    page = readme.read_text("utf-8")
    before, _, rest = page.partition(BEGIN)
    shown, _, after = rest.partition(END)
    if request.config.getoption("--update-golden"):
        readme.write_text(before + BEGIN + block + END + after, "utf-8")
        return
    assert shown == block
