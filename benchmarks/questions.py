"""Questions for `recommend` as people might ask them, drawn by a seed: how long the hardest one takes.

`python -m benchmarks.questions` asks them, each in a process of its own, and prints the processor time beside
that of importing gpudoctor's libraries. `--answers FOLDER` keeps what was answered, to be compared with what
another version of the program answers.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.comparisons import HARDEST_SET, OWN_LIBRARIES
from benchmarks.timing import Command, once

SEED, COUNT = 20261128, 150
# The machines that took longest among 297 and 168 questions that were made up before (decisions 74 to 89).
HARDEST: Sequence[Sequence[str]] = (
    HARDEST_SET,
    ("--framework", "tensorflow<2.14", "--framework", "torch", "--framework", "paddle",
     "--assume", "cc=6.1", "--assume", "cc=8.9", "--assume", "driver=595.45.04"),
    ("--framework", "tensorflow<2.14", "--framework", "torch>=2", "--framework", "jax", "--framework",
     "paddle", "--assume", "cc=7.0", "--assume", "driver=550.54.14", "--python", "3.10"),
    ("--framework", "torch", "--framework", "jax>=0.5", "--framework", "paddle", "--framework",
     "tensorflow<2.15", "--assume", "cc=8.6", "--assume", "driver=550.54.14", "--python", "3.10"),
)
_CARDS = ("3.5", "3.7", "5.2", "6.0", "6.1", "7.0", "7.5", "8.0", "8.6", "8.9", "9.0", "10.0", "12.0")
_DRIVERS = ("390.157", "450.80.02", "470.256.02", "525.60.13", "535.104.05", "550.54.14", "570.86.15",
            "580.95.05", "595.45.04", "620.70.06")
_PYTHONS = ("3.8", "3.9", "3.10", "3.11", "3.12", "3.13")
_BOUNDS = {"tensorflow": ("<2.14", ">=2.15", "<2.11", "==2.15.*"), "torch": (">=2", "<2.5", "<2", ">=2.9"),
           "jax": (">=0.5", "<0.5", ">=0.4.30"), "paddle": (">=3", "<3")}
_CHANGES = ("driver", "python", "driver,python")


def drawn(count: int = COUNT, seed: int = SEED) -> list[tuple[str, ...]]:
    """Return the words of so many questions; of the same seed always the same."""
    chance = random.Random(seed)
    return [tuple(_question(chance)) for _ in range(count)]


def _question(chance: random.Random) -> list[str]:
    words = ["--python", chance.choice(_PYTHONS)]
    for card in chance.sample(_CARDS, chance.choice((1, 1, 2))):
        words += ["--assume", f"cc={card}"]
    words += ["--assume", f"driver={chance.choice(_DRIVERS)}"]
    names = chance.sample(sorted(_BOUNDS), chance.choice((1, 2, 2, 3, 3, 4)))
    for name in names:
        words += ["--framework", name + chance.choice(("", chance.choice(_BOUNDS[name])))]
    if chance.random() < 0.4:
        words += ["--may-change", chance.choice(_CHANGES)]
    if chance.random() < 0.2:
        words += ["--why", names[0]]
    return words


def _processor_seconds(argv: Sequence[str], output: Path = Path(os.devnull)) -> float:
    """Return the processor time of a program; it finds no other than the system's."""
    _, seconds = once(Command(argv=argv, folder=Path.cwd(), environment={"PATH": "/usr/bin:/bin"},
                              exit_codes=(0, 1, 3), output=output))
    return seconds


def main() -> None:
    """Ask and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=3, help="of each question; the fastest counts")
    parser.add_argument("--count", type=int, default=COUNT)
    parser.add_argument("--answers", type=Path, help="keep what was answered in this folder")
    given = parser.parse_args()
    libraries = min(_processor_seconds([sys.executable, "-c", OWN_LIBRARIES]) for _ in range(10))
    if given.answers:
        given.answers.mkdir(parents=True, exist_ok=True)
    taken: list[tuple[float, str]] = []
    for number, words in enumerate((*drawn(given.count), *HARDEST)):
        argv = [sys.executable, "-m", "gpudoctor", "recommend", *words, "--format", "json"]
        output = given.answers / f"{number:03}.json" if given.answers else Path(os.devnull)
        taken.append((min(_processor_seconds(argv, output) for _ in range(given.runs)), " ".join(words)))
    seconds = sorted(second for second, _ in taken)
    for name, second in (("median", statistics.median(seconds)),
                         ("nine of ten below", seconds[len(seconds) * 9 // 10]), ("the worst", seconds[-1])):
        print(f"{name}: {second:.2f} s, {second / libraries:.1f} times the import of its libraries")
    print(f"above a second: {sum(second > 1 for second in seconds)} of {len(seconds)}")
    for second, question in sorted(taken, reverse=True)[:8]:
        print(f"  {second:.2f} s  {question}")


if __name__ == "__main__":
    main()
