"""Real TensorFlow behind a machine that changes between the prediction and the run: the prediction is wrong.

That is the only way to a wrong prediction that does not need a fault of ours. The change is made by a
sitecustomize.py, in the child that imports TensorFlow and in no other, through the real command.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.frameworks.agreement import computer, library_path
from tests.frameworks.test_smoke_on_cpu_builds import check, with_changed
from tests.harness.machine import Machine
from tests.harness.patient import Patient
from tests.machines.examination import every

OTHER = "/opt/other"
CUFFT, CUSOLVER = "libcufft.so.11", "libcusolver.so.11"
LOADED_FROM_ELSEWHERE = f"import ctypes\nctypes.CDLL('{OTHER}/{CUFFT}')\n"
GONE = f"import os\nos.remove('{OTHER}/{CUSOLVER}')\n"


@pytest.fixture
def patient(environment: Callable[[str], Patient]) -> Patient:
    """Return the environment with TensorFlow 2.21, which finds cuSOLVER by LD_LIBRARY_PATH alone."""
    return environment("tensorflow-2.21")


def told(machine: Machine, patient: Patient, change: str) -> str:
    """Return what a check with this change before the import says of our own fault."""
    checked = check(with_changed(change, machine), patient, "--depth", "import")
    found = next(f for f in every(checked.report["findings"]) if f["cause"] == "loader-trace-differs")
    return str(found["message"])


def test_a_library_that_came_from_another_file_is_our_error(patient: Patient) -> None:
    """It was loaded before TensorFlow asked for it, so that TensorFlow got that one."""
    original = Path(library_path(patient, CUFFT))
    machine = computer(patient).adding(libraries={f"{OTHER}/{CUFFT}": original})
    said = told(machine, patient, LOADED_FROM_ELSEWHERE)
    assert f"{CUFFT}: loaded from {OTHER}/{CUFFT}, foretold {original}" in said
    assert "please send" in said


def test_a_library_that_the_log_says_is_not_there_is_our_error(patient: Patient) -> None:
    """Nothing is mapped then: only TensorFlow's own log tells it."""
    link = f"{OTHER}/{CUSOLVER}"
    machine = computer(patient).adding(
        links={link: library_path(patient, CUSOLVER)}, environment={"LD_LIBRARY_PATH": OTHER})
    said = told(machine, patient, GONE)
    assert f"{CUSOLVER}: its log says that there is none, foretold {link}" in said


def test_without_a_change_nothing_differs(patient: Patient) -> None:
    checked = check(computer(patient), patient, "--depth", "import")
    assert checked.framework("tensorflow")["framework.trace_differs"] == []
