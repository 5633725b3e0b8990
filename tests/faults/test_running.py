"""Each way to break a framework that is run; see running.py."""

from __future__ import annotations

import pytest

from tests.faults import running
from tests.faults.fault import Fault
from tests.faults.scene import Stage


@pytest.mark.parametrize("fault", list(running.faults()), ids=lambda fault: fault.name)
def test_fault(fault: Fault, stage: Stage) -> None:
    """What it said before is kept, what follows is run; no other fact is lost."""
    fault.survive(stage)
