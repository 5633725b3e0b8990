"""What the tests with real frameworks share: environments by name, and machines that can be built."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.frameworks.environments import Environments, Unavailable
from tests.harness import namespace
from tests.harness.patient import Patient


@pytest.fixture(scope="session")
def environment() -> Callable[[str], Patient]:
    """Return `environment(name)`: a real environment with a framework, for tests that build machines."""
    reason = namespace.unavailable()
    if reason:
        pytest.skip(f"no machine can be built here: {reason}")
    environments = Environments()

    def find(name: str) -> Patient:
        try:
            return environments(name)
        except Unavailable as error:
            pytest.skip(str(error))

    return find
