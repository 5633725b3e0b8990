"""Read a Dockerfile as Docker does: its instructions, without comments, continued lines joined."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

# https://docs.docker.com/reference/dockerfile: what may begin a line that Docker obeys
INSTRUCTIONS = frozenset({
    "ADD", "ARG", "CMD", "COPY", "ENTRYPOINT", "ENV", "EXPOSE", "FROM", "HEALTHCHECK", "LABEL", "MAINTAINER",
    "ONBUILD", "RUN", "SHELL", "STOPSIGNAL", "USER", "VOLUME", "WORKDIR"})
_LINE_END = re.compile(r"\r\n|\n")
_DIRECTIVE = re.compile(r"#\s*([A-Za-z][A-Za-z0-9]*)\s*=")


@dataclass(frozen=True)
class Instruction:
    """A word that Docker obeys, and what stands behind it."""

    word: str
    rest: str

    def words(self) -> list[str]:
        """Return the words of an exec form."""
        said: Any = json.loads(self.rest)
        assert isinstance(said, list)
        return [str(word) for word in said]


def instructions(text: str) -> list[Instruction]:
    """Return the instructions; a line that is none fails."""
    found, pending = list[Instruction](), ""
    for line in _LINE_END.split(text):
        if line.lstrip().startswith("#") or (not pending and not line.strip()):
            continue
        if line.rstrip().endswith("\\"):
            pending += line.rstrip()[:-1]
            continue
        word, _, rest = (pending + line).strip().partition(" ")
        pending = ""
        assert word in INSTRUCTIONS, f"no instruction: {line!r}"
        found.append(Instruction(word=word, rest=rest.strip()))
    assert pending == "", "the file ends in the middle of a line"
    return found


def directives(text: str) -> list[str]:
    """Return the parser directives: `# name=` in the first lines, as long as there is nothing else."""
    found = []
    for line in text.splitlines():
        match = _DIRECTIVE.match(line)
        if match is None:
            break
        found.append(match[1])
    return found
