"""Each call of the driver's libraries with each of its codes; see calls.py."""

from __future__ import annotations

import pytest

from tests.faults import calls
from tests.faults.fault import Fault
from tests.faults.scene import Stage


@pytest.mark.parametrize("fault", list(calls.faults()), ids=lambda fault: fault.name)
def test_fault(fault: Fault, stage: Stage) -> None:
    """What is promised is kept."""
    fault.survive(stage)
