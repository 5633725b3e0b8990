"""Run the whole command on a machine, hold it to what every run promises, and compare what it saw.

What every run promises: an exit code and a report that agree, a report that obeys the schema, no traceback,
no process left behind, and an end within four times the limit of a probe.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from gpudoctor.facts import CATALOGUE, FILE, TEXT, promised
from gpudoctor.model import Scope
from tests.harness.machine import Machine
from tests.harness.namespace import Completed
from tests.harness.nvidia import H100, LIBRARY_FOLDER, nvidia_machine

ROOT = Path(__file__).parents[2]
RULES = (
    Path(__file__).parent / "rules"
)  # pages that are found or undecided by what cuInit and nvmlInit returned
COMMAND = (sys.executable, "-m", "gpudoctor")
DRIVER, CUDA = "570.86.15", 12080
LIBCUDA = f"{LIBRARY_FOLDER}/libcuda.so.{DRIVER}"
LIBNVIDIA_ML = f"{LIBRARY_FOLDER}/libnvidia-ml.so.{DRIVER}"
HEALTHY = nvidia_machine(driver=DRIVER, cuda=CUDA, cards=[H100])
TIMEOUT_SECONDS = 6.0
# Where the same machine answers otherwise from one run to the next.
RESTLESS = frozenset({"system.gpu_kernel_log"})


@dataclass(frozen=True, kw_only=True)
class Looked:
    """A run of `gpudoctor check` that kept every promise, and its report."""

    completed: Completed
    report: Mapping[str, Any]

    @property
    def exit_code(self) -> int:
        """The exit code of the command."""
        assert self.completed.returncode is not None
        return self.completed.returncode

    @property
    def outcomes(self) -> dict[str, str]:
        """How each probe ended."""
        return {run["probe"]: run["outcome"] for run in self.report["snapshot"]["probes"]}

    def fact(self, name: str, card: int = 0) -> Any:
        """Return a fact of the host or of a card, as it stands in the report."""
        snapshot = self.report["snapshot"]
        holder = snapshot["gpus"][card] if CATALOGUE[name].scope is Scope.GPU else snapshot["host"]
        return holder[name]

    def facts(self) -> dict[str, Any]:
        """Return every probed fact of the host and of each card by one flat name."""
        snapshot = self.report["snapshot"]
        cards = snapshot["gpus"] if isinstance(snapshot["gpus"], list) else []
        holders = {"": snapshot["host"], **{f"{index} ": card for index, card in enumerate(cards)}}
        return {
            prefix + name: _without_source(fact)
            for prefix, holder in holders.items()
            for name, fact in holder.items()
            if not CATALOGUE[name].derived and name not in RESTLESS
        }


def _without_source(fact: Mapping[str, Any]) -> Any:
    return fact.get("value", next(key for key in fact if key != "source"))


def arguments(*more: str, timeout_seconds: float = TIMEOUT_SECONDS, rules: Path | None = RULES) -> list[str]:
    """Return the command line of a check that prints JSON and runs no kernel."""
    chosen = [] if rules is None else ["--rules", str(rules)]
    depth = [] if "--from" in more else ["--depth", "static"]  # a recording has the depth that it has
    return [
        *COMMAND,
        "check",
        *depth,
        "--format",
        "json",
        "--timeout",
        f"{timeout_seconds:g}",
        *chosen,
        *more,
    ]


def look(
    machine: Machine,
    *more: str,
    timeout_seconds: float = TIMEOUT_SECONDS,
    rules: Path | None = RULES,
    environment: Mapping[str, str] | None = None,
    before: Sequence[str] = (),
    cwd: str = str(ROOT),
) -> Looked:
    """Run `check` in a machine; `before` stands in front of the command line (env -u HOME, ...)."""
    argv = [*before, *arguments(*more, timeout_seconds=timeout_seconds, rules=rules)]
    begun_at = time.monotonic()
    completed = machine.run(argv, cwd=cwd, environment=environment, timeout=10 * timeout_seconds)
    seconds = time.monotonic() - begun_at
    assert seconds < 4 * timeout_seconds, (
        f"{seconds:.1f} s, with a limit of {timeout_seconds} s\n{completed.stderr}"
    )
    return looked(completed)


def as_user(user: int) -> list[str]:
    """Return what stands in front of a command line to give up root's rights in the machine first."""
    if os.geteuid() != 0:
        pytest.skip("only root can become somebody else")
    interpreter = Path(sys.executable)
    above = [*interpreter.parents, *interpreter.resolve().parents]
    shut = sorted({str(folder) for folder in above if folder.stat().st_mode & 0o005 != 0o005})
    opened = (
        f"chmod o+rx {shlex.join(shut)} && " if shut else ""
    )  # in the machine's own layer of the file system
    return ["sh", "-c", f'{opened}exec setpriv --reuid={user} --regid={user} --clear-groups -- "$@"', "sh"]


def looked(completed: Completed) -> Looked:
    """Hold a finished check to what every run promises."""
    assert "Traceback" not in completed.stdout + completed.stderr, completed.stderr
    assert completed.leftover == ()
    assert completed.returncode in (0, 1, 3), (completed.returncode, completed.stderr)
    report = json.loads(completed.stdout)
    jsonschema.validate(report, report_schema())
    assert report["exit_code"] == completed.returncode
    expected = {s.name for s in CATALOGUE.values() if s.scope is Scope.HOST and s.probe not in (FILE, TEXT)}
    assert set(report["snapshot"]["host"]) >= expected
    return Looked(completed=completed, report=report)


@cache
def report_schema() -> Any:
    """Return the committed schema of reports."""
    return json.loads((ROOT / "gpudoctor" / "schema" / "report-1.json").read_text("utf-8"))


@cache
def healthy() -> Looked:
    """Return what is seen of the machine without a fault."""
    looked = look(HEALTHY)
    assert (looked.exit_code, looked.report["verdict"]) == (0, "healthy")
    return looked


def changed(one: Looked, other: Looked) -> set[str]:
    """Return the names of the probed facts in which two looks at a machine differ."""
    before, after = one.facts(), other.facts()
    return {name for name in {*before, *after} if before.get(name) != after.get(name)}


def of_probe(*probes: str) -> set[str]:
    """Return the names of all facts that these probes promise, those of the first card with its number."""
    host = {name for probe in probes for name in promised(probe, Scope.HOST)}
    return host | {f"0 {name}" for probe in probes for name in promised(probe, Scope.GPU)}
