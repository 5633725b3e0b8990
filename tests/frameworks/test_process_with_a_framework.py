"""check --pid beyond files: a real torch is imported and run where a running process lives."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from tests.harness.nvidia import H100
from tests.harness.patient import Patient
from tests.hosts.beside import beside, sleeper
from tests.machines.catalogue import r580

# Only the process has it, and with it torch is never imported.
REFUSING = {"/opt/custom/sitecustomize.py": "import sys\nsys.modules['torch'] = None\n"}
STAGES = {"import": (), "smoke": ("--gpu", "0", "--stages", "matmul")}
COMMAND = (sys.executable, "-m", "gpudoctor", "check", "--format", "json")


def torch_of(python: Patient, depth: str, environment: Mapping[str, str]) -> Mapping[str, Any]:
    """Return what is known of torch in a process that has this environment."""
    done = beside(r580(H100).adding(files=REFUSING), sleeper(python.python), environment=environment,
                  doctor=[*COMMAND, "--depth", depth, *STAGES[depth]])
    assert done.returncode in (0, 1, 3), done.stderr
    assert (done.stderr, done.leftover) == ("", ())
    report = json.loads(done.stdout)
    assert isinstance(report["snapshot"]["host"]["process.id"]["value"], int)
    (facts,) = report["snapshot"]["frameworks"]
    return {name: fact["value"] for name, fact in facts.items() if "value" in fact}


@pytest.mark.parametrize("depth", ["import", "smoke"])
def test_framework_is_imported_and_run_where_the_process_lives(
        environment: Callable[[str], Patient], depth: str) -> None:
    """A CPU build: the stage ends on the CPU."""
    torch = torch_of(environment("torch-cpu"), depth, {"HOME": "/root"})
    outcomes = {stage["stage"]: stage["outcome"] for stage in torch["framework.stages"]}
    assert torch["framework.import_outcome"] == "passed"
    assert outcomes == ({"matmul": "ran-on-cpu"} if depth == "smoke" else {"all": "skipped"})


def test_environment_of_the_process_decides(environment: Callable[[str], Patient]) -> None:
    """The shell's Python could import it."""
    torch = torch_of(environment("torch-cpu"), "import", {"PYTHONPATH": "/opt/custom"})
    assert torch["framework.import_outcome"] == "failed"
    assert "import of torch halted" in " ".join(torch["framework.import_words"])
