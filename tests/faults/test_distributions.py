"""Each broken or hostile site-packages; see distributions.py."""

from __future__ import annotations

import pytest

from tests.faults import distributions
from tests.faults.fault import Fault
from tests.faults.scene import Stage


@pytest.mark.parametrize("fault", list(distributions.faults()), ids=lambda fault: fault.name)
def test_fault(fault: Fault, stage: Stage) -> None:
    """What is promised is kept."""
    fault.survive(stage)
