"""Run two commands in turn and compare them pair by pair.

A machine's speed drifts, and others use it: seconds say little, the ratio within a pair says a lot. Which of
the two goes first changes from pair to pair, and the median leaves out what struck one run alone.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path


class Failed(RuntimeError):
    """A command ended as it should not: what it was and its last words."""


@dataclass(frozen=True, kw_only=True)
class Command:
    """One whole process. `exit_codes` are those with which it has done its work; `output` has its answer."""

    argv: Sequence[str]
    folder: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    exit_codes: Sequence[int] = (0,)
    output: Path = Path(os.devnull)


@dataclass(frozen=True, kw_only=True)
class Pair:
    """Wall seconds and processor seconds (its children's among them) of the two, in the same half minute."""

    seconds: tuple[float, float]
    processor_seconds: tuple[float, float]

    @property
    def ratio(self) -> float:
        """Return how many times as long the first takes."""
        return self.seconds[0] / self.seconds[1]


def once(command: Command) -> tuple[float, float]:
    """Run it to its end; return its wall seconds and processor seconds."""
    variables = {**_plain_environment(), **command.environment}
    begun = time.monotonic()
    with command.output.open("wb") as answer, subprocess.Popen(
            command.argv, cwd=command.folder, env=variables, stdin=subprocess.DEVNULL, stdout=answer,
            stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        said = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.monotonic() - begun
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in command.exit_codes:
        words = said.decode("utf-8", "replace").strip()[-400:]
        raise Failed(f"{' '.join(command.argv)} ended with {process.returncode}: {words}")
    return seconds, usage.ru_utime + usage.ru_stime


def _plain_environment() -> dict[str, str]:
    """Return our environment without what changes how Python starts; bytecode is used and written."""
    return {name: value for name, value in os.environ.items()
            if not name.startswith(("PYTHON", "VIRTUAL_ENV", "CONDA"))}


def in_pairs(first: Command, second: Command, count: int) -> list[Pair]:
    """Return `count` pairs, after one run of each that does not count."""
    once(first), once(second)
    pairs = []
    for number in range(count):
        if number % 2:
            other = once(second)
            one = once(first)
        else:
            one = once(first)
            other = once(second)
        pairs.append(Pair(seconds=(one[0], other[0]), processor_seconds=(one[1], other[1])))
    return pairs


def median_ratio(pairs: Sequence[Pair]) -> float:
    """Return the median of the pairs' ratios."""
    return statistics.median(pair.ratio for pair in pairs)


def median_processor_ratio(pairs: Sequence[Pair]) -> float:
    """Return the median of the ratios of processor time."""
    return statistics.median(p.processor_seconds[0] / max(p.processor_seconds[1], 1e-3) for p in pairs)


def median_seconds(pairs: Sequence[Pair], which: int) -> float:
    """Return the median seconds of the first (0) or the second (1)."""
    return statistics.median(pair.seconds[which] for pair in pairs)
