"""The log of TensorFlow that `check` takes down in its own child, at the verbosity that it chooses."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from tests.frameworks.agreement import VERSIONS, computer, hiding, library_path
from tests.frameworks.test_smoke_on_cpu_builds import check
from tests.harness.patient import Patient

LIBRARY = "libcufft.so.11"
COULD_NOT = re.compile(
    r"Could not load dynamic library '([^']+)'; dlerror: (\S+): cannot open shared object file")


@pytest.mark.parametrize("version", VERSIONS)
def test_log_names_the_library_that_is_missing(
        version: str, environment: Callable[[str], Patient]) -> None:
    """At TensorFlow's usual verbosity it names none. The others are opened; the static look says the same."""
    patient = environment(f"tensorflow-{version}")
    checked = check(hiding(computer(patient), library_path(patient, LIBRARY)), patient, "--depth", "import")
    facts = checked.framework("tensorflow")
    named = [found.groups() for line in facts["framework.log"] if (found := COULD_NOT.search(line))]
    assert facts["framework.import_outcome"] == "passed"
    assert set(named) == {(LIBRARY, LIBRARY)}
    assert facts["framework.libraries_missing"] == [LIBRARY]
    assert checked.exit_code == 1
