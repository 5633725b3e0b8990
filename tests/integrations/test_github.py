"""integrations/github: the steps of the action, run as a runner runs them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.harness.machine import Machine
from tests.harness.namespace import Completed
from tests.harness.nvidia import H100
from tests.integrations.services import complaints, copied, document, with_contexts
from tests.machines import parts
from tests.machines.catalogue import r580

ACTION = document("integrations/github/action.yml")
INSTALL, LOOK = ACTION["runs"]["steps"]
BASH = ("bash", "--noprofile", "--norc", "-e", "-o", "pipefail")  # what `shell: bash` stands for


def environment(step: Any, contexts: Mapping[str, str]) -> dict[str, str]:
    return {name: with_contexts(value, contexts) for name, value in step["env"].items()}


@pytest.fixture(scope="module")
def runner(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run the first step on a copy of the checkout; return the runner's folder for temporary files."""
    checkout = copied(tmp_path_factory.mktemp("action"))
    temporary = tmp_path_factory.mktemp("temporary")
    variables = {**os.environ, "RUNNER_TEMP": str(temporary),
                 **environment(INSTALL, {"github.action_path": f"{checkout}/integrations/github"})}
    ran = subprocess.run([*BASH, "-c", INSTALL["run"]], env=variables, stdin=subprocess.DEVNULL,
                         capture_output=True, text=True, timeout=300, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return temporary


def look(machine: Machine, runner: Path, **inputs: str) -> Completed:
    """Run the second step on a machine, with these inputs and the defaults of the others."""
    defaults = {name.replace("-", "_"): value["default"] for name, value in ACTION["inputs"].items()}
    given = {**defaults, "python": sys.executable, **inputs}
    contexts = {f"inputs.{name.replace('_', '-')}": value for name, value in given.items()}
    variables = {"RUNNER_TEMP": str(runner), "GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": "/tmp/summary",
                 **environment(LOOK, contexts)}
    return machine.run([*BASH, "-c", LOOK["run"]], environment=variables, collect=["/tmp/summary"])


def test_github_takes_the_file() -> None:
    """By the schema of such files; it would not take a step without a shell."""
    assert complaints("github-actions", ACTION) == []
    wrong = {**ACTION, "runs": {"using": "composite", "steps": [{"run": "true"}]}}
    assert complaints("github-actions", wrong)


def test_no_input_is_a_part_of_a_program() -> None:
    """Expressions stand in variables alone."""
    assert [step["name"] for step in ACTION["runs"]["steps"] if "${{" in step["run"]] == []


def test_a_machine_that_works_lets_the_job_go_on(runner: Path) -> None:
    done = look(r580(H100), runner)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(("machine", "inputs", "code", "said"), [
    (parts.mismatched, {}, 1, "::error title=gpudoctor%3A driver-kernel-userspace-mismatch [host]::"),
    (lambda: r580(H100), {"require": "gpu>=1\ngpu>=2\n"}, 1,
     "::error title=gpudoctor%3A requirement-not-met [host]::"),
    (lambda: r580(H100), {"require": "$(touch /tmp/obeyed)"}, 2, ""),
    (lambda: r580(H100).adding(shim="crash.nvmlInit=1"), {"fail_on": "error"}, 3,
     "::warning title=gpudoctor%3A could not be judged::"),
    (lambda: r580(H100).adding(shim="crash.nvmlInit=1"), {"fail_on": "error", "allow_undecided": "true"}, 0,
     "::warning title=gpudoctor%3A could not be judged::"),
], ids=["broken", "two requirements", "hostile", "undecided", "undecided, allowed"])
def test_the_job_ends_as_the_look_does(runner: Path, machine: Callable[[], Machine], inputs: dict[str, str],
                                       code: int, said: str) -> None:
    """With an annotation, and the report in the job's summary."""
    done = look(machine(), runner, **inputs)
    assert done.returncode == code, done.stdout + done.stderr
    assert said in done.stdout
    assert ("/tmp/summary" in (done.files or {})) == bool(said)


def test_an_old_python_is_named(tmp_path: Path) -> None:
    """In an annotation with the next command; nothing is installed."""
    (tmp_path / "python3").write_text(
        '#!/bin/sh\n[ "$1" != --version ] || { echo Python 3.8.10; exit 0; }\nexit 1\n')
    (tmp_path / "python3").chmod(0o755)
    variables = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "RUNNER_TEMP": str(tmp_path)}
    ran = subprocess.run([*BASH, "-c", INSTALL["run"]], env=variables, capture_output=True, text=True,
                         check=False)
    assert ran.returncode == 4
    assert ran.stdout.startswith(
        "::error::gpudoctor did not look: it needs python3 3.10 or newer on PATH, and Python 3.8.10 is "
        "there. Next: a step with actions/setup-python")
    assert [path.name for path in tmp_path.iterdir()] == ["python3"]
