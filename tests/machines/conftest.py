"""What the machine tests share: environments and reports that are made once for each worker."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.harness import namespace
from tests.machines.catalogue import SCENARIOS
from tests.machines.examination import Examination, examine
from tests.machines.parts import NVIDIA_SMI_MARK
from tests.machines.patients import Patients


@pytest.fixture(scope="session")
def patients(tmp_path_factory: pytest.TempPathFactory) -> Patients:
    """Make environments by name, each once."""
    return Patients(tmp_path_factory.mktemp("patients"))


@pytest.fixture(scope="session")
def diagnose(patients: Patients) -> Callable[[str], Examination]:
    """Return `diagnose(name)`: what the doctor says of a machine of the catalogue."""
    reason = namespace.unavailable()
    if reason:
        pytest.skip(f"no machine can be built here: {reason}")
    known: dict[str, Examination] = {}

    def look(name: str) -> Examination:
        if name not in known:
            scenario = SCENARIOS[name]
            patient = patients(scenario.patient)
            known[name] = examine(
                scenario.build(patient), patient, launcher=scenario.launcher, collect=[NVIDIA_SMI_MARK])
        return known[name]

    return look
