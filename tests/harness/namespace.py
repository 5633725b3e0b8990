"""Run a plan: start enter.py, wait with a deadline, and say how it ended. The test's side of the harness."""

from __future__ import annotations

import base64
import functools
import json
import os
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

from tests.harness.plan import Plan

REPOSITORY = Path(__file__).parents[2]


class MachineError(Exception):
    """The machine could not be built or the command not be started: a fault of the test, not of what it
    tests."""


@dataclass(frozen=True, kw_only=True)
class Completed:
    """How a command in a machine ended."""

    argv: tuple[str, ...]
    returncode: int | None  # negative: killed by that signal; None: not over when the time was
    stdout: str
    stderr: str
    leftover: tuple[str, ...] = ()  # command lines of processes that outlived the command
    calls: tuple[str, ...] = ()  # functions of the scripted driver that were called
    files: dict[str, bytes] | None = None  # what `collect` asked for and was there

    @property
    def timed_out(self) -> bool:
        """Say whether the command had to be killed."""
        return self.returncode is None


class Running:
    """A command that was started in a machine and has not been waited for."""

    def __init__(self, plan: Plan, stdin: int | IO[bytes] = subprocess.DEVNULL) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="gpudoctor-machine-")
        root = Path(self._folder.name)
        (root / "mount").mkdir()
        self._status = (root / "status").open("w+b")  # a file: nobody reads a pipe before the end
        self.plan = replace(plan, folder=str(root / "mount"), status_descriptor=self._status.fileno())
        (root / "plan.json").write_text(self.plan.to_json())
        self._stdout = (root / "stdout").open("w+b")
        self._stderr = (root / "stderr").open("w+b")
        self.process = subprocess.Popen(
            [sys.executable, "-E", "-s", "-S", "-m", "tests.harness.enter", str(root / "plan.json")],
            cwd=REPOSITORY,
            stdin=stdin,
            stdout=self._stdout,
            stderr=self._stderr,
            pass_fds=(self._status.fileno(),),
            start_new_session=True,
        )

    def interrupt(self, number: signal.Signals = signal.SIGINT) -> None:
        """Send a signal as a terminal does: to the whole process group."""
        os.killpg(self.process.pid, number)

    def output_so_far(self) -> tuple[str, str]:
        """Return what was printed until now (stdout, stderr)."""
        root = Path(self._folder.name)
        return ((root / "stdout").read_text(errors="replace"), (root / "stderr").read_text(errors="replace"))

    def wait(self, timeout: float) -> Completed:
        """Wait until the command ends or the time is over; then the whole machine is gone."""
        try:
            self.process.wait(timeout)
            ended = True
        except subprocess.TimeoutExpired:
            self.interrupt(signal.SIGKILL)
            self.process.wait()
            ended = False
        self._status.seek(0)
        lines = self._status.read().splitlines()
        stdout, stderr = self.output_so_far()
        self._status.close()
        self._stdout.close()
        self._stderr.close()
        self._folder.cleanup()
        return self._completed(lines if ended else [], stdout, stderr, ended)

    def _completed(self, lines: list[bytes], stdout: str, stderr: str, ended: bool) -> Completed:
        argv = self.plan.argv
        if not ended:
            return Completed(argv=argv, returncode=None, stdout=stdout, stderr=stderr)
        status: dict[str, Any] = (
            json.loads(lines[0]) if lines else {"error": "the machine ended without a word"}
        )
        if "error" in status:
            raise MachineError(f"{status['error']}\n{stderr}")
        return Completed(
            argv=argv,
            returncode=status["returncode"],
            stdout=stdout,
            stderr=stderr,
            leftover=tuple(status["leftover"]),
            calls=tuple(status["calls"]),
            files={path: base64.b64decode(data) for path, data in status["files"].items()},
        )


@functools.cache
def unavailable() -> str | None:
    """Return why no machine can be built here, or None when it works. Tried for real, once."""
    if not sys.platform.startswith("linux"):
        return "machines need Linux namespaces"
    try:
        result = Running(Plan(folder="", argv=("/bin/true",), environment={})).wait(20)
    except MachineError as error:
        return str(error).strip()
    return None if result.returncode == 0 else f"a first command in a machine ended with {result.returncode}"
