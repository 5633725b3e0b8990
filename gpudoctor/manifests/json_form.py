"""The JSON form of an instruction: its words, and where a text that looks like a list in JSON is none.

Of such a text BuildKit says nothing: it gives RUN, CMD and ENTRYPOINT to a shell, and takes what COPY and ADD
have for names of files.
https://github.com/moby/buildkit/blob/12a6a7c0ea09e728538603ad7643f63d78557d0e/frontend/dockerfile/parser/line_parsers.go
"""

from __future__ import annotations

import json
import re

from gpudoctor.manifests.dockerfile import Instruction
from gpudoctor.manifests.shell_faults import Fault
from gpudoctor.manifests.shellwords import words_of
from gpudoctor.manifests.spans import Source, Traced, Word

_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_TESTS = ("[", "[[")  # programs of a shell, which are no list


def words(instruction: Instruction, source: Source) -> list[Word] | None:
    """Return the words of the JSON form, None where it is none; raise where no builder takes the list."""
    text, at = instruction.arguments.text, instruction.arguments.at
    values = _list(text)
    if values is None:
        return None
    if not all(isinstance(value, str) for value in values):
        raise source.error(instruction.keyword.start, (
            f"{instruction.name} with a list of other things than texts: put each in double quotes"))
    return [Word(text=str(value), start=at[match.start()] + 1, end=at[match.end() - 1])
            for match, value in zip(_STRING.finditer(text), values, strict=True)]


def _list(text: str) -> list[object] | None:
    if not text.lstrip().startswith("["):
        return None
    try:
        values = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return values if isinstance(values, list) else None


def fault_of(arguments: Traced) -> Fault | None:
    """Return why what looks like a list in JSON is none; None where it is one, or a shell's own test."""
    text = arguments.text
    begin = len(text) - len(text.lstrip())
    if not text[begin:].startswith("[") or _list(text) is not None:
        return None
    program, *rest = (word.text for word in words_of(arguments, {}))
    if program in _TESTS and not (rest and rest[0].endswith(",")):
        return None
    said, at = _why(text)
    at = min(at, len(text.rstrip()) - 1)
    return Fault(said=said, start=arguments.at[at], end=arguments.at[at] + 1)


def _why(text: str) -> tuple[str, int]:
    """Return what is wrong with a list, and at which of its characters."""
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        rest = text[error.pos:].strip()
        if rest.startswith("'"):
            return "JSON takes double quotes, not single ones", error.pos
        if not rest:
            return "its ] is missing", len(text)
        if error.msg == "Extra data":
            return f"behind its ] stands {rest[:40]!r}", error.pos
        return "from here on it is no JSON", error.pos
    except RecursionError:
        pass
    return "it is no JSON", 0
