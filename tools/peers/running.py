"""Run one tool on one machine and keep all that it said."""

import json
import re
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timezone
from pathlib import Path

from tests.harness.machine import File, Machine
from tests.harness.patient import Patient
from tests.machines.catalogue import Scenario
from tools.peers.contestants import Contestant

LIMIT_SECONDS = 60
NVIDIA_SMI = "/usr/bin/nvidia-smi"
LIBRARY = "/opt/comparison/nvidia_smi.py"
# Where the commands are started: some peers search the folder for source files.
PROJECT = "/srv/project"
STANDIN = Path(__file__).with_name("standin_nvidia_smi.py")
# Wide enough that no line is folded, and nothing that a terminal would need.
ENVIRONMENT = {"COLUMNS": "220", "NO_COLOR": "1", "TERM": "dumb", "PYTHONIOENCODING": "utf-8"}


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What became of one tool's commands on one machine; an exit code is None where it was ended by us."""

    tool: str
    machine: str
    exit_codes: tuple[int | None, ...]
    seconds: float
    day: str
    said: str

    @property
    def slug(self) -> str:
        """A file name."""
        return re.sub(r"[^a-z0-9]+", "-", f"{self.tool} {self.machine}".lower()).strip("-")

    def save(self, folder: Path) -> None:
        """Write the outcome, and beside it what was said, for a reader."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{self.slug}.txt").write_text(self.said, encoding="utf-8")
        (folder / f"{self.slug}.json").write_text(json.dumps(asdict(self)), encoding="utf-8")


def load(folder: Path) -> dict[tuple[str, str], Outcome]:
    """Read the outcomes of earlier runs, by tool and machine."""
    found = {}
    for path in sorted(folder.glob("*.json")):
        data = json.loads(path.read_text("utf-8"))
        outcome = Outcome(**{**data, "exit_codes": tuple(data["exit_codes"])})
        found[outcome.tool, outcome.machine] = outcome
    return found


def with_nvidia_smi(machine: Machine, scenario: str) -> Machine:
    """Give a machine with a driver an nvidia-smi that answers like the real one, except where it has none."""
    if scenario == "4 no nvidia-smi" or "/sys/module/nvidia/version" not in machine.files:
        return machine
    program = f"#!/bin/sh\nexec {sys.executable} -I {LIBRARY} \"$@\"\n"
    return machine.adding(files={
        NVIDIA_SMI: File(content=program, mode=0o755), LIBRARY: STANDIN.read_text("utf-8")})


def command_line(command: Sequence[str]) -> str:
    """Return a command as a reader types it."""
    return " ".join(command).replace("{python}", "PYTHON")


def machine_for(contestant: Contestant, name: str, scenario: Scenario, patient: Patient) -> Machine:
    """Build the machine, with an empty project in it and without the compiler of the host's own toolkit."""
    machine = with_nvidia_smi(scenario.build(patient), name).adding(shim=contestant.nvml_lines.get(name, ""))
    compiler = shutil.which("nvcc")
    return replace(
        machine, directories={**machine.directories, PROJECT: 0o755},
        hide=(*machine.hide, *([compiler] if compiler else [])))


def run(
    contestant: Contestant, name: str, scenario: Scenario, *, python: Path, patient: Patient, scratch: Path,
) -> Outcome:
    """Run a tool's commands on a machine, its environment (that of `python`) activated as a user would.

    The scratch folder's own path is of no interest to a reader: it is taken out of what was said.
    """
    machine = machine_for(contestant, name, scenario, patient)
    path = f"{python.parent}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    environment: Mapping[str, str] = {**ENVIRONMENT, "PATH": path}
    if contestant.inside:
        environment = {**environment, "VIRTUAL_ENV": str(python.parent.parent)}
    codes: list[int | None] = []
    said: list[str] = []
    started = time.monotonic()
    for command in contestant.commands:
        program = str(python.parent / command[0])
        words = [program, *(word.format(python=patient.python) for word in command[1:])]
        completed = machine.run(words, timeout=LIMIT_SECONDS, cwd=PROJECT, environment=environment)
        codes.append(completed.returncode)
        said.append(f"$ {command_line(command)}\n{completed.stdout}\n--- standard error\n{completed.stderr}")
    seconds = (time.monotonic() - started) / len(contestant.commands)
    return Outcome(
        tool=contestant.name, machine=name, exit_codes=tuple(codes), seconds=round(seconds, 1),
        day=datetime.now(timezone.utc).date().isoformat(), said="\n".join(said).replace(f"{scratch}/", ""))
