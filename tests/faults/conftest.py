"""What the tests of faults share: the stage on which the runs are played."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.faults.fault import Fault
from tests.faults.scene import Stage


@pytest.fixture(scope="module")
def stage(request: pytest.FixtureRequest) -> Iterator[Stage]:
    """Return the stage of a file of tests, with all that its chosen tests want to see already announced."""
    stage = Stage()
    for item in request.session.items:
        callspec = getattr(item, "callspec", None)
        fault = callspec.params.get("fault") if callspec else None
        if isinstance(fault, Fault) and item.path == request.path:
            stage.announce(fault.scenes)
    yield stage
    stage.close()
