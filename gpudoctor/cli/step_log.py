"""The log of what was done to a machine: at each moment a whole file that says how far it came.

It is written anew, as a whole, before and after each command. So whatever ends us, even without a signal, it
says what was begun, and what undoes that. Its owner alone may read it.
"""

from __future__ import annotations

import os
import pwd
import re
import time
from collections.abc import Sequence

from gpudoctor import host, share
from gpudoctor.cli.errors import InputError
from gpudoctor.model.plan import Plan, Step
from gpudoctor.render.plain import counted_words, printable

FIRST_LINES, LAST_LINES, LINE_CHARACTERS = 100, 200, 500  # of what one command says
_NAMES_TRIED = 100


class Log:
    """A log that is being written; `path` is where, `failed` says why it cannot be any more."""

    def __init__(self, path: str, head: Sequence[str]) -> None:
        self.path = path
        self.failed = ""
        self._lines = list(head)
        self._undo: Sequence[str] = ()
        self._kept: list[str] = []

    def step(self, step: Step) -> None:
        """Write that a step begins."""
        cured = ", ".join(f"{fault.cause} [{fault.subject}]" for fault in step.cures)
        self._lines += ["", f"{_now()} step {step.number} ({step.risk}): {printable(step.title)}",
                        f"  to cure {printable(cured, 1000)}"]

    def begin(self, command: str, undo: Sequence[str]) -> None:
        """Write that a command is about to be run, and what would undo it."""
        self._undo = undo
        self._lines.append(f"{_now()} $ {command}")
        self._lines.append("  (running; if nothing follows here, it was cut off)")
        self.write()

    def ended(self, how: str, said: bytes, undo: Sequence[str]) -> None:
        """Write how the command ended and what it said."""
        self._undo = undo
        self._lines[-1:] = [f"  | {line}" for line in _bounded(said)]
        self._lines.append(f"{_now()} {how}")
        self.write()

    def keep(self, heading: str, lines: Sequence[str]) -> None:
        """Write what was there before a step, behind all else."""
        self._kept += ["", heading, *(f"  {printable(line, LINE_CHARACTERS)}" for line in lines)]

    def note(self, text: str) -> None:
        """Write what became of a step that was not run."""
        self._lines += ["", f"{_now()} {printable(text, 1000)}"]
        self.write()

    def end(self, verdict: Sequence[str]) -> None:
        """Write how it all came out."""
        self._lines += ["", *(f"{_now()} {printable(said, 2000)}" for said in verdict)]
        self.write()

    def write(self) -> None:
        """Write the whole file anew."""
        undo = ["", "TO UNDO WHAT WAS DONE, in this order", *(f"  {command}" for command in self._undo)]
        text = "".join(f"{line}\n" for line in (*self._lines, *(undo if self._undo else ()), *self._kept))
        refused = host.write_atomically(self.path, text.encode("utf-8", "backslashreplace"))
        if refused is not None:
            self.failed = f"{self.path}: cannot be written: {refused.reason}"


def begin(path: str | None, plan: Plan) -> Log:
    """Return a log in a new file, before anything is done; `path` is where it was asked for."""
    head = [f"gpudoctor {plan.report.tool_version}, rules {plan.report.rules_version}: fix --apply, {_now()}",
            f"{counted_words(len(plan.steps), 'step')} planned"]
    made = _create(path) if path is not None else _create_somewhere()
    log = Log(made, head)
    log.write()
    if log.failed:
        raise InputError(log.failed)
    return log


def _now() -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime())


def _create(path: str) -> str:
    try:
        descriptor = os.open(path, os.O_CREAT | os.O_WRONLY, 0o600)
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from None
    with os.fdopen(descriptor, "wb") as file:
        if os.fstat(file.fileno()).st_size:
            raise InputError(f"{path}: is there already; an older log may be needed to undo things")
    return path


def folder_of_logs() -> str:
    """Return where logs go that nobody named a file for."""
    given = os.environ.get("XDG_STATE_HOME", "")
    state = given if os.path.isabs(given) else os.path.join(_home(), ".local", "state")
    return os.path.join(state, "gpudoctor")


def _create_somewhere() -> str:
    folder = folder_of_logs()
    stem = os.path.join(folder, time.strftime("fix-%Y%m%dT%H%M%SZ", time.gmtime()))
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        for number in range(_NAMES_TRIED):
            path = f"{stem}-{number}.log" if number else f"{stem}.log"
            try:
                os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            except FileExistsError:
                continue
            return path
    except OSError as error:
        why = f"no log can be written there ({error.strerror}); name a file with --log"
        raise InputError(f"{folder}: {why}") from None
    raise InputError(f"{stem}.log: is there already, and {_NAMES_TRIED - 1} more; name a file with --log")


def _home() -> str:
    """Return HOME, and that of the user's own entry where HOME names no folder: empty, it is not `/`."""
    given = os.environ.get("HOME", "")
    if os.path.isabs(given):
        return given
    try:
        return pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:
        raise InputError("no log can be written: this user has no home; name a file with --log") from None


def _bounded(said: bytes) -> list[str]:
    """Return the first and the last lines of what a command said, without secrets and control characters."""
    text = share.without_secrets(said.decode("utf-8", "replace"))
    lines = [printable(line, LINE_CHARACTERS) for line in re.split(r"[\r\n]+", text) if line.strip()]
    if len(lines) <= FIRST_LINES + LAST_LINES:
        return lines
    left_out = len(lines) - FIRST_LINES - LAST_LINES
    return [*lines[:FIRST_LINES], f"... ({left_out} lines left out)", *lines[-LAST_LINES:]]
