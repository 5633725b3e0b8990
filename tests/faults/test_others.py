"""What is run or read beside the collectors of every check; see others.py."""

from __future__ import annotations

import pytest

from tests.faults import others
from tests.faults.fault import Fault
from tests.faults.scene import Stage


@pytest.mark.parametrize("fault", list(others.faults()), ids=lambda fault: fault.name)
def test_fault(fault: Fault, stage: Stage) -> None:
    """What is promised is kept."""
    fault.survive(stage)
