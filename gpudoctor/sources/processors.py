"""Which processor a text is about: its architecture by name, in a file's name, or by the machine that has it.

Nobody names the processor that everybody has. So a word for another one counts as said of the machine, while
x86_64 in paths and in the names of wheels counts only where nothing else is named.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpudoctor.sources.found import Found
from gpudoctor.sources.lines import Text
from gpudoctor.sources.stated import Rank

_COMMON = "x86_64"
_SPELLINGS = {
    "aarch64": "aarch64", "arm64": "aarch64", "sbsa": "aarch64", "on arm": "aarch64", "arm server": "aarch64",
    "arm machine": "aarch64", "arm cpu": "aarch64", "arm processor": "aarch64", "arm-based": "aarch64",
    "arm linux": "aarch64", "ppc64le": "ppc64le", "ppc64el": "ppc64le", "x86_64": _COMMON, "x86-64": _COMMON,
    "amd64": _COMMON,
}
_TRIES = 40
_GLUE = re.compile(r"[\w.+-]")  # beside it a name is part of a file's, a tag's or a folder's
_SYSTEM = "linux/"  # docker's --platform


def read(text: Text, found: Found) -> None:
    """Note every processor that is named, as far as it is said of the machine."""
    for statement in [one for one in found.statements if one.fact == "system.architecture"]:
        value = _SPELLINGS.get(str(statement.value), str(statement.value))
        found.say("text.processor", value, statement.source, statement.rank)
    for name, processor in (*_SPELLINGS.items(), *found.machines.items()):
        for position, rank in _named(text.folded, name):
            is_common = processor == _COMMON
            found.say("text.processor", processor, text.source(text.index_at(position)),
                      Rank.SHOWN if is_common else rank)


def _named(folded: str, name: str) -> Iterator[tuple[int, Rank]]:
    """Yield the first place where a name is a word by itself, else the first where it is part of another."""
    part: int | None = None
    position = folded.find(name)
    for _ in range(_TRIES):
        if position < 0:
            break
        before, after = folded[max(position - len(_SYSTEM), 0):position], folded[position + len(name):][:1]
        if not before[-1:].isalpha() and not after.isalnum():
            is_word = before[-1:] != "/" and not _GLUE.match(before[-1:]) and after not in ("_", "-")
            if is_word or before == _SYSTEM:
                yield position, Rank.SAID
                return
            part = position if part is None else part
        position = folded.find(name, position + 1)
    if part is not None:
        yield part, Rank.SHOWN
