"""The peak memory of gpudoctor's own process, its children apart: of a check, and of a very long log."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import IO

from benchmarks.comparisons import REPORTED, check, explain
from benchmarks.environments import Environments
from benchmarks.timing import Command, Failed

AT_MOST_MEGABYTES = 80
LOG_AT_MOST_MEGABYTES = 200
LOG_TIMES = 4  # as long as the large log: a gigabyte
# Not getrusage: a program that was started with vfork inherits the peak of who started it.
_SCRIPT = """
import sys
from gpudoctor.cli import run
sys.argv[0] = "gpudoctor"
code = run()
for line in open("/proc/self/status"):
    if line.startswith("VmHWM:"):
        sys.stderr.write("\\n" + line.split()[1])
sys.exit(code)
"""


def peak_megabytes(environments: Environments) -> float:
    """Return the peak of a check of an environment with frameworks, which has the most to hold."""
    return _peak_megabytes(environments, check(environments, environments.frameworks), subprocess.DEVNULL)


def log_peak_megabytes(environments: Environments) -> float:
    """Return the peak of explaining a log of a gigabyte, which comes through a pipe."""
    command = explain(environments, Path("-"))
    copies = [str(environments.large_log)] * LOG_TIMES
    with subprocess.Popen(["cat", *copies], stdout=subprocess.PIPE) as reading:
        return _peak_megabytes(environments, command, reading.stdout)


def _peak_megabytes(environments: Environments, command: Command, given: int | IO[bytes] | None) -> float:
    argv = [str(environments.doctor / "python"), "-c", _SCRIPT, *command.argv[1:]]
    ended = subprocess.run(argv, cwd=command.folder, stdin=given, stdout=subprocess.DEVNULL,
                           stderr=subprocess.PIPE, text=True, check=False)
    if ended.returncode not in REPORTED:
        raise Failed(f"{' '.join(argv)} ended with {ended.returncode}: {ended.stderr[-400:]}")
    return int(ended.stderr.rsplit("\n", 1)[1]) * 1024 / 1e6  # KiB
