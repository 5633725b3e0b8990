"""Start a Python beside gpudoctor in one machine, and have it examined by its number."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.harness.machine import Machine
from tests.harness.namespace import Completed
from tests.hosts.looking import ROOT, Looked, arguments, looked

SLEEPER = "/opt/sleeper.py"
UP = "/tmp/up"
# Loads what it is told to, does what it is told to, says that it is up, and waits.
SLEEPER_CODE = f"""
import ctypes, os, sys, time
os.umask(0)
for library in sys.argv[2:]:
    ctypes.CDLL(library)
exec(sys.argv[1])
open({UP!r}, "w").close()
time.sleep(300)
"""


def beside(
    machine: Machine,
    command: Sequence[str],
    *more: str,
    environment: Mapping[str, str] | None = None,
    doctor: Sequence[str] | None = None,
    before: Sequence[str] = (),
    after: str = "",
    cwd: str = "/opt",
) -> Completed:
    """Start `command` with exactly `environment`, run gpudoctor on it in the machine's own, and end it.

    `after` is shell that runs between; `before` stands in front of gpudoctor's command line.
    """
    variables = ["env", "-i", *(f"{name}={value}" for name, value in (environment or {}).items())]
    line = list(doctor or arguments(rules=None))
    script = f"""
        rm -f {UP}
        (cd {shlex.quote(cwd)} && exec {shlex.join([*variables, *command])}) & pid=$!
        tries=0
        while [ ! -e {UP} ] && [ $tries -lt 400 ]; do sleep 0.05; tries=$((tries + 1)); done
        {after or ":"}
        {shlex.join([*before, *line, *more])} --pid $pid
        code=$?
        kill -9 $pid
        wait $pid 2>/dev/null
        exit $code
    """
    return machine.adding(files={SLEEPER: SLEEPER_CODE}).run(["sh", "-c", script], cwd=str(ROOT), timeout=90)


def examined(machine: Machine, command: Sequence[str], *more: str, **options: object) -> Looked:
    """Return the report on that process, held to what every run promises."""
    return looked(beside(machine, command, *more, **options))  # type: ignore[arg-type]


def sleeper(python: Path | str, *libraries: str, code: str = "pass") -> list[str]:
    """Return the command line of a Python that waits."""
    return [str(python), SLEEPER, code, *libraries]


def causes(report: Looked) -> set[str]:
    """Return what was found, consequences apart."""
    return {finding["cause"] for finding in report.report["findings"]}


def said(completed: Completed) -> str:
    """Return the one line that a command ended with instead of a report."""
    assert (completed.returncode, completed.stdout) == (4, ""), (completed.returncode, completed.stderr)
    lines = [line for line in completed.stderr.splitlines() if line.startswith("gpudoctor: ")]
    assert len(lines) == 1, completed.stderr
    assert "Traceback" not in completed.stderr
    return lines[0]
