"""Files that are made of real lines, literals of patterns, carriers and damage, by chance."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from gpudoctor import symptoms
from gpudoctor.model import RuleDatabase
from gpudoctor.sources.importers import MARKS
from tests.sources.stating import SAMPLES

_TOKENS = (
    "\n", "\n", "\n", "\r", "\r\n", "\0", "\t", " ", "\x1b[31m", "\x1b[", "\x1b]0;", "\x07", "\x1b\\", "\x9b",
    "\ufeff", "\u202e", "\u00a0", "\u2028", "\ud7ff", "{", "}", '"', "\\", "\\u0022", "'", "[", "]", ":", ",",
    "|", "+---+", "error ", "failed", "warning: ", "Traceback (most recent call last):\n",
    "2026-11-20T05:43:12.1Z ",
    "stderr F ", "trainer-1  | ", "[pod/a/b] ", "job\tstep\t", "```\n", "> ", "driver: ", "cuda: 12.8",
    "python: 3.11", "<gpu>", "</gpu>", "==", ">=", "9" * 40, "libcudnn.so.9", "GPU 0: ", "Name: ", "-" * 70,
    '{"log":"', '"}', "MESSAGE", "x" * 3000, "a" * 17, "%", "0x7f",
)
_ENCODINGS = ("utf-8", "utf-8", "utf-8", "utf-16", "utf-16-be", "utf-8-sig")
_MOST_CHARACTERS = 60_000


@dataclass(frozen=True, kw_only=True)
class Maker:
    """Makes files from a source of chance; `real` are lines that are known to be read, `reports` texts."""

    chance: random.Random
    real: Sequence[str]
    reports: Sequence[str]
    literals: Sequence[str]
    carriers: Sequence[Callable[[str], str]] = field(default_factory=lambda: (
        lambda text: json.dumps({"log": text, "stream": "stderr"}),
        lambda text: json.dumps({"MESSAGE": list(text.encode("utf-8", "replace")[:500])}),
        lambda text: "\n".join(f"2026-11-20T05:43:12.123456789Z {line}" for line in text.split("\n")),
        lambda text: "\n".join(f"trainer-1  | {line}" for line in text.split("\n")),
        lambda text: "\n".join(f"\x1b[32m{line}\x1b[0m" for line in text.split("\n")),
        lambda text: "\n".join(f"> {line}" for line in text.split("\n")),
        lambda text: f"```\n{text}\n```\n", json.dumps, str.upper, str.lower,
    ))

    def text(self) -> str:
        """Return a text of a few pieces, perhaps repeated, carried and damaged."""
        chance = self.chance
        parts = [self._piece() for _ in range(chance.randint(1, 12))]
        text = chance.choice(("\n", "\n", "", " ")).join(parts)
        for _ in range(chance.choice((0, 0, 1, 1, 2))):
            text = chance.choice(self.carriers)(text)[:_MOST_CHARACTERS]
        for _ in range(chance.choice((0, 0, 1, 3, 10))):
            text = self._damaged(text)
        if chance.random() < 0.15:
            text *= chance.randint(2, max(2, min(300, _MOST_CHARACTERS // (len(text) + 1))))
        return text[:_MOST_CHARACTERS]

    def file(self) -> bytes:
        """Return a text as bytes in some encoding, perhaps damaged in that form too."""
        chance = self.chance
        data = self.text().encode(chance.choice(_ENCODINGS), "replace")
        if chance.random() < 0.1:
            data = gzip.compress(data, 1, mtime=0)
        for _ in range(chance.choice((0, 0, 0, 1, 5))):
            at, length = chance.randrange(len(data) + 1), chance.choice((0, 1, 2, 50))
            data = data[:at] + chance.randbytes(chance.choice((0, 1, 4))) + data[at + length:]
        return data

    def _piece(self) -> str:
        chance = self.chance
        kind = chance.random()
        if kind < 0.2:
            return chance.choice(self.real)
        if kind < 0.4:
            return self._report()
        if kind < 0.6:
            return chance.choice(self.literals)
        if kind < 0.9:
            return "".join(chance.choices(_TOKENS, k=chance.randint(1, 8)))
        return "".join(chr(chance.randrange(32, chance.choice((127, 0xD7FF)))) for _ in range(8))

    def _report(self) -> str:
        """Return a report of another program, or some lines of one."""
        chance = self.chance
        lines = chance.choice(self.reports).splitlines(keepends=True)
        if chance.random() < 0.3:
            return "".join(lines)
        start = chance.randrange(len(lines))
        return "".join(lines[start:start + chance.randint(1, 30)])

    def _damaged(self, text: str) -> str:
        chance = self.chance
        at = chance.randrange(len(text) + 1)
        end = min(len(text), at + chance.choice((1, 1, 5, 80)))
        return text[:at] + chance.choice((
            "", chance.choice(_TOKENS), text[at:end] * 2, text[at:end][::-1], chance.choice(self.literals),
        )) + text[end:]


def samples() -> list[str]:
    """Return the reports that the tests of importers read: at least one for each importer."""
    return [path.read_text("utf-8") for path in sorted(SAMPLES.iterdir())]


def maker(seed: int, database: RuleDatabase, reports: Sequence[str]) -> Maker:
    """Return a maker with the examples and the literals of the database, the samples, and more reports."""
    patterns = (pattern for symptom in database.symptoms for pattern in symptom.patterns)
    literals = sorted({literal for pattern in patterns for literal, _ in symptoms.parts(pattern) if literal})
    lines = [example.line for symptom in database.symptoms for example in symptom.examples]
    marks = [mark for several in MARKS.values() for mark in several]
    return Maker(chance=random.Random(seed), real=lines, reports=[*samples(), *reports],
                 literals=[*literals, *marks * 4])
