"""What the tests with real frameworks share: environments by name, and machines that can be built."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import NoReturn

import pytest

from tests.frameworks.environments import Environments, NotOffered, Unavailable
from tests.harness import namespace
from tests.harness.patient import Patient


def cannot(reason: str) -> NoReturn:
    """Skip the test, except in continuous integration, which must run it."""
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def environment() -> Callable[[str], Patient]:
    """Return `environment(name)`: a real environment with a framework, for tests that build machines."""
    reason = namespace.unavailable()
    if reason:
        cannot(f"no machine can be built here: {reason}")
    environments = Environments()

    def find(name: str) -> Patient:
        try:
            return environments(name)
        except NotOffered as error:
            pytest.skip(str(error))
        except Unavailable as error:
            cannot(str(error))

    return find
