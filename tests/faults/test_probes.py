"""Each way to break each probe's child; see probes.py."""

from __future__ import annotations

import pytest

from tests.faults import probes
from tests.faults.fault import Fault
from tests.faults.scene import Stage


@pytest.mark.parametrize("fault", list(probes.faults()), ids=lambda fault: fault.name)
def test_fault(fault: Fault, stage: Stage) -> None:
    """The probe's facts are lost, with a reason; no other is."""
    fault.survive(stage)
