"""A shell's `for` over words that are known: its body is read once for each of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, MutableMapping, Sequence

from gpudoctor.frozen import frozen
from gpudoctor.manifests.spans import Word

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_FILES = re.compile(r"[*?\[{~]")  # stands for names of files, or for several words
_MOST_TURNS = 50  # of all loops of a script together; what would be more is not read at all


@frozen
class _Loop:
    """A loop that is being read: the `values` still to come, and where its `body` begins."""

    name: str = ""
    values: Iterator[str] = iter(())
    body: int = 0


class Loops:
    """Sets the variable of each loop, and says where a script is to be read again."""

    def __init__(self, variables: MutableMapping[str, str | None]) -> None:
        """Take the variables of the script, which loops change."""
        self._variables = variables
        self._open: list[_Loop] = []
        self._turns = 0

    def take(self, reserved: Sequence[str], words: Sequence[Word], behind: int) -> int | None:
        """Take in a command that ends before `behind`; return where to read on, None for there."""
        self._open += [_Loop() for word in reserved if word in ("while", "until")]
        first = words[0].text if words and words[0].plain else ""
        if first in ("for", "select"):
            self._begin(words, behind)
        elif first == "done" and self._open:
            if self._next(self._open[-1]):
                return self._open[-1].body
            self._open.pop()
        return None

    def _begin(self, words: Sequence[Word], behind: int) -> None:
        name, listed = words[1].text if len(words) > 1 else "", words[3:]
        is_read = (words[0].text == "for" and words[2:3] and words[2].text == "in"
                   and len(listed) <= _MOST_TURNS - self._turns
                   and all(word.known and not (word.plain and _FILES.search(word.text)) for word in listed))
        self._turns += len(listed) if is_read else 0
        loop = _Loop(name=name, body=behind, values=iter([word.text for word in listed] if is_read else ()))
        self._open.append(loop)
        if not self._next(loop) and _NAME.match(name):
            self._variables[name] = None

    def _next(self, loop: _Loop) -> bool:
        """Give the variable its next value; return whether there was one."""
        value = next(loop.values, None)
        if value is None:
            return False
        self._variables[loop.name] = value
        return True
