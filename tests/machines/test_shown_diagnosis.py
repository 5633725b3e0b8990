"""README.md opens with the diagnosis of a broken machine, in the words that the command prints today."""

from __future__ import annotations

import re
import sys

import pytest

from tests.harness import namespace
from tests.harness.interpreters import need_python
from tests.harness.pages import ROOT, assert_shows
from tests.machines.catalogue import SCENARIOS
from tests.machines.patients import WITH_UV, Patients

MACHINE = "10 plain tensorflow"
VENV = "/home/ana/venv"


def printed(patients: Patients) -> str:
    """Return what the command prints on the machine, without the tester's kernel and patch level."""
    scenario = SCENARIOS[MACHINE]
    patient = patients(scenario.patient)
    machine = scenario.build(patient).adding(links={VENV: str(patient.prefix)})
    run = machine.run([sys.executable, "-m", "gpudoctor", "check", "--depth", "static",
                       "--python", f"{VENV}/bin/python"],
                      timeout=120, cwd=str(ROOT), environment={"COLUMNS": "80", **WITH_UV})
    assert run.returncode == 1, run.stderr
    kernel = re.sub(r"kernel \d\S*,", "kernel 6.1.0-28-amd64,", run.stdout)
    return re.sub(r"(python +3\.12)\.\d+", r"\1.1", kernel)


def test_readme_opens_with_what_is_printed(
    tmp_path_factory: pytest.TempPathFactory, updating: bool,
) -> None:
    """`--update-golden` writes it anew."""
    need_python("3.12")  # the page shows one
    reason = namespace.unavailable()
    if reason:
        pytest.skip(f"no machine can be built here: {reason}")
    text = printed(Patients(tmp_path_factory.mktemp("patients")))
    assert_shows("diagnosis", f"```text\n$ gpudoctor check --depth static\n{text}```\n", updating=updating)
