"""Examine a running process: its interpreter, its environment as it started, its root and its user.

What a process has differs from what the shell beside it has; that is why it is asked for. Its files are read
below /proc/N/root, and every collector is started where it lives (payloads/launch.py), by its interpreter.
"""

from __future__ import annotations

import functools
import json
import os
import posixpath
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path

from gpudoctor import child, host, patient, zipapp
from gpudoctor.child import Job
from gpudoctor.frozen import frozen
from gpudoctor.host import Data, Host, Missing, Refused, Text
from gpudoctor.patient import Patient

LAUNCHER = Path(__file__).resolve().parent.parent / "payloads" / "launch.py"
_ENVIRONMENT_LIMIT_BYTES = 16 << 20
_MAPS_LIMIT_BYTES = 64 << 20
_COMMAND_CHARACTERS = 300
_DELETED = " (deleted)"
_KERNEL_THREAD = 0x00200000  # PF_KTHREAD in the flags of /proc/N/stat
_PACKAGES = re.compile(r"(/.+)/lib(?:64)?/(?:python|pypy)[0-9][0-9.]*t?/site-packages/")
_OPTIONS_WITH_VALUE = ("-W", "-X", "--check-hash-based-pycs")


@frozen
class Process:
    """A running process, and the interpreter to examine for it; `numbers`: in each of its pid namespaces."""

    number: int
    numbers: Sequence[int]
    started: int  # in clock ticks since the machine's start: a number alone is given to others later
    command: str
    environment: Mapping[str, str] = field(repr=False)
    patient: Patient
    script_folders: Sequence[str] = ()


@frozen
class NoProcess:
    """The process cannot be examined; one line says why."""

    reason: str


class _Refusal(Exception):
    """Why the process cannot be examined; never leaves this module."""


def find(number: int, *, as_root: str, is_root: bool, machine: Host | None = None) -> Process | NoProcess:
    """Return the process; `as_root` is the command that would be let in where we are not."""
    machine = machine or Host()
    try:
        return _Look(machine, number, as_root=as_root, is_root=is_root).process()
    except _Refusal as refusal:
        return NoProcess(reason=patient.one_line(str(refusal)))


def launched(process: Process, job: Job) -> Job:
    """Return a job that runs the same collector where the process lives, by the same interpreter.

    The environment travels on standard input: command lines can be read by every user, and the launcher must
    not have it.
    """
    interpreter, _, collector, _, request = job.argv
    order = {"process": process.number, "started": process.started, "interpreter": interpreter,
             "collector": collector, "request": request, "environment": dict(job.environment)}
    return replace(
        job, argv=[sys.executable, "-I", "-S", str(LAUNCHER), child.ANSWER], environment=host.environment(),
        stdin=json.dumps(order).encode("ascii") + b"\n" + _payload())


@functools.cache
def _payload() -> bytes:
    return zipapp.build()


class _Look:
    """What is read of one process."""

    def __init__(self, machine: Host, number: int, *, as_root: str, is_root: bool) -> None:
        self.machine, self.number = machine, number
        self.as_root, self.is_root = as_root, is_root
        self.folder = f"/proc/{number}"

    def process(self) -> Process:
        """Return all that is needed to examine it."""
        stat = self._stat()
        words = os.fsdecode(self._bytes("cmdline").rstrip(b"\0")).split("\0")
        command = host.readable(" ".join(words))[:_COMMAND_CHARACTERS] or f"[{stat[0]}]"  # as ps shows it
        self._require_runnable(stat, command)
        environment = _variables(self._bytes("environ", _ENVIRONMENT_LIMIT_BYTES))
        root = self._link("root")
        apart = self._is_apart(root)
        if apart and not self.is_root:
            raise _Refusal(f"process {self.number} ({command}) lives in {apart}, which only root can enter: "
                           f"{self.as_root}")
        its_root = Host(root=posixpath.join(self.machine.root, f"proc/{self.number}/root"))
        inside = its_root if apart else self.machine
        folder = _below(self._link("cwd"), root)
        chooser = _Interpreter(inside, environment, words[0], folder, _below(self._link("exe"), root),
                               self._mapped())
        interpreter, why = chooser.chosen(f"process {self.number} ({command})")
        where = f", inside {apart}" if apart else ""
        return Process(
            number=self.number, numbers=self._numbers(), started=int(stat[20]), command=command,
            environment=environment, script_folders=_script_folders(words, folder),
            patient=Patient(executable=interpreter, because=patient.one_line(
                f"process {self.number} runs it{where}: {why}")))

    def _stat(self) -> list[str]:
        """Return the name and then the fields of /proc/N/stat, counted as its manual page does, from 2."""
        if isinstance(self.machine.entry("/proc/self/stat"), Missing | Refused):
            raise _Refusal("there is no /proc here, and without it no process can be examined")
        answer = self.machine.read_text(f"{self.folder}/stat")
        if not isinstance(answer, Text) or ")" not in answer.text:
            raise _Refusal(f"there is no process {self.number}")
        name, _, rest = answer.text.rpartition(")")
        fields = [name.partition("(")[2], *rest.split()]
        if len(fields) < 21:
            raise _Refusal(f"{self.folder}/stat cannot be understood")
        return fields

    def _require_runnable(self, stat: list[str], command: str) -> None:
        if int(stat[7]) & _KERNEL_THREAD:
            raise _Refusal(f"process {self.number} ({command}) is a thread of the kernel, no program")
        if stat[1] in "ZX":
            raise _Refusal(f"process {self.number} ({command}) has ended; only its parent does not know yet")

    def _is_apart(self, root: str) -> str:
        """Return what separates its files from ours, in words; nothing when they are the same."""
        mine, its = (self.machine.link_target(f"/proc/{of}/ns/mnt") for of in ("self", self.number))
        if isinstance(mine, Text) and isinstance(its, Text) and mine != its:
            return "a mount namespace of its own (a container, mostly)"
        return "" if root == "/" else f"a root of its own ({root})"

    def _numbers(self) -> tuple[int, ...]:
        status = self._bytes("status").decode("utf-8", "replace")
        found = re.search(r"^NSpid:((?:\s+[0-9]+)+)$", status, re.MULTILINE)
        return tuple(map(int, found.group(1).split())) if found else (self.number,)

    def _mapped(self) -> list[str]:
        """Return the paths of the files that are mapped, each once, the often mapped first."""
        counted: dict[str, int] = {}
        for line in os.fsdecode(self._bytes("maps", _MAPS_LIMIT_BYTES)).splitlines():
            fields = line.split(None, 5)
            if len(fields) == 6 and fields[5].startswith("/"):
                counted[fields[5]] = counted.get(fields[5], 0) + 1
        return sorted(counted, key=lambda path: -counted[path])

    def _bytes(self, name: str, limit_bytes: int = 1 << 20) -> bytes:
        answer = self.machine.read_bytes(f"{self.folder}/{name}", limit_bytes=limit_bytes)
        if isinstance(answer, Data):
            return answer.data
        raise self._closed(answer)

    def _link(self, name: str) -> str:
        answer = self.machine.link_target(f"{self.folder}/{name}")
        if isinstance(answer, Text):
            return answer.text
        raise self._closed(answer)

    def _closed(self, answer: Missing | Refused) -> _Refusal:
        if isinstance(answer, Missing):
            return _Refusal(f"there is no process {self.number} any more")
        who = self.machine.entry(self.folder)
        owner = "" if isinstance(who, Missing | Refused) else f" of user {who.owner}"
        what = f"process {self.number}{owner} cannot be looked into ({answer.reason})"
        if self.is_root:
            return _Refusal(f"{what} although we are root: a right is missing here (in a container, look "
                            "from outside of it)")
        return _Refusal(f"{what}; as root: {self.as_root}")


class _Interpreter:
    """The choice of the interpreter that is to be examined in the place of a running one.

    /proc/N/exe leads to the base interpreter; a virtual environment is only how it was called.
    """

    def __init__(self, inside: Host, environment: Mapping[str, str], called: str, folder: str, program: str,
                 mapped: Sequence[str]) -> None:
        self.inside, self.environment, self.called, self.folder = inside, environment, called, folder
        self.program, self.mapped = program.removesuffix(_DELETED), mapped
        self.replaced = program.endswith(_DELETED)
        self.is_python = patient.refused(self.program, inside) is None

    def chosen(self, name: str) -> tuple[str, str]:
        """Return the interpreter and why it is this one; `name` is what a person calls the process."""
        own = next((path for path in self._called() if self._is_it(path)), None)
        used = next((path for path in self._used() if self._is_it(path)), None)
        named = posixpath.join(self.environment.get("VIRTUAL_ENV", ""), "bin", "python")
        if own is not None and (used is None or self._prefix(own)):
            found, why = own, "its command line names it"
        elif used is not None:
            found, why = used, "extension modules of this environment are mapped into it"
        elif posixpath.isabs(named) and self._is_it(named):
            found, why = named, "its VIRTUAL_ENV names it"
        elif self.is_python:
            found, why = self.program, "it is its program"
        else:
            raise _Refusal(f"{name} runs no Python that could be found (its program is {self.program}); "
                           f"the environment of a Python can be named: gpudoctor check --python PYTHON")
        later = "; its program was replaced since it started" if self.replaced else ""
        return found, why + later

    def _called(self) -> Iterator[str]:
        if "/" in self.called:
            yield posixpath.normpath(posixpath.join(self.folder, self.called))
        elif self.called:
            for entry in self.environment.get("PATH", "").split(":"):
                if entry:
                    yield posixpath.join(self.folder, entry, self.called)

    def _used(self) -> Iterator[str]:
        """Yield the interpreters of the environments whose extension modules are mapped."""
        prefixes = dict.fromkeys(m.group(1) for path in self.mapped if (m := _PACKAGES.match(path)))
        for prefix in prefixes:
            path = posixpath.join(prefix, "bin", "python")
            if self._prefix(path):
                yield path

    def _prefix(self, path: str) -> str:
        """Return the environment that an interpreter belongs to, nothing if to none."""
        prefix = posixpath.dirname(posixpath.dirname(path))
        marks = (self.inside.entry(f"{prefix}/{mark}") for mark in ("pyvenv.cfg", "conda-meta"))
        return prefix if any(not isinstance(mark, Missing | Refused) for mark in marks) else ""

    def _is_it(self, path: str) -> bool:
        """Return whether a path leads to the program that runs, or is the Python that this one embeds."""
        if not self.is_python:
            return bool(self._prefix(path)) and patient.refused(path, self.inside) is None
        real = self.inside.real_path(path)
        return isinstance(real, Text) and real.text == self.program


def _below(path: str, root: str) -> str:
    """Return a path as the process has it, whose root is a folder of ours."""
    return path[len(root):] or "/" if root != "/" and (path + "/").startswith(root + "/") else path


def _variables(data: bytes) -> dict[str, str]:
    """Return the variables of /proc/N/environ; what is none (the place can be written over) is left out."""
    pairs = (entry.partition(b"=") for entry in data.split(b"\0"))
    found: dict[str, str] = {}
    for name, equals, value in pairs:
        if name and equals:
            found.setdefault(os.fsdecode(name), os.fsdecode(value))
    return found


def _script_folders(words: Sequence[str], folder: str) -> tuple[str, ...]:
    """Return the folder of the script that a Python command line names: it comes first on sys.path."""
    left = iter(words[1:])
    for word in left:
        if word in _OPTIONS_WITH_VALUE:
            next(left, None)
        elif word.startswith(("-c", "-m")) or word in ("", "-"):
            return ()
        elif not word.startswith("-"):
            return (posixpath.dirname(posixpath.join(folder, word)),)
    return ()
