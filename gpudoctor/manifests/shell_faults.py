"""Where a shell's text does not parse: what is opened and not closed, and an operator with nothing behind it.

Only what every POSIX shell refuses is said; here-documents inside a text and `case` in a substitution are
left alone. Linear.
"""

from __future__ import annotations

import re

from gpudoctor.frozen import frozen
from gpudoctor.manifests.spans import Traced

_BEFORE_COMMENT = frozenset(" \t\n;&|(")
_DOCUMENT = re.compile(r"(?<!<)<<(?!<)")
_CASE = re.compile(r"\bcase\b")
_NAMES = {'"': 'the quote " is not closed', "'": "the quote ' is not closed",
          "`": "the quote ` is not closed", "$(": "$( is not closed"}
_CLOSES = {'"': '"', "$(": ")", "(": ")", "${": "}"}
_OPERATOR = re.compile(r"(?:&&|\|\|?)\Z")


@frozen
class Fault:
    """What a shell refuses, in words, and the place of its character in the file."""

    said: str
    start: int
    end: int


def fault_of(text: Traced) -> Fault | None:
    """Return the first thing for which a shell refuses a text as a whole, None where nothing is known."""
    script = text.text
    if _DOCUMENT.search(script) or ("$(" in script and _CASE.search(script)):
        return None
    reading = _Reading(script)
    reading.run()
    if reading.is_unsure or any(kind == "${" for kind, _ in reading.opened):
        return None  # shells differ in what they make of it
    found = next(((kind, at) for kind, at in reading.opened if kind in _NAMES), None)
    if found is not None:
        return Fault(said=_NAMES[found[0]], start=text.at[found[1]], end=text.at[found[1]] + 1)
    operator = _OPERATOR.search(script, 0, reading.behind_code)
    if operator is None or reading.opened or script[:operator.start()].endswith("\\"):
        return None
    return Fault(said=f"nothing stands behind {operator[0]}", start=text.at[operator.start()],
                 end=text.at[operator.end() - 1] + 1)


class _Reading:
    """Goes over a text once and keeps what is opened; `behind_code` is where the last of it ends."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.opened: list[tuple[str, int]] = []
        self.double_quotes = 0  # that are open
        self.behind_code = 0
        self.is_unsure = False

    def run(self) -> None:
        while self.at < len(self.text):
            here, inside = self.text[self.at], self.opened[-1][0] if self.opened else ""
            begun = self.at
            if here == "\\":
                self.at += 2
            elif here == "#" and self._is_comment(inside):
                end = self.text.find("\n", self.at)
                self.at = len(self.text) if end < 0 else end
                continue
            elif here == "`":
                self._substitution(inside)
            elif here == "'" and self._quotes(inside):
                self._single()
            else:
                self._take(here, inside)
            if not here.isspace():
                self.behind_code = min(self.at, len(self.text))
            self.at = max(self.at, begun + 1)

    def _take(self, here: str, inside: str) -> None:
        """Read one character, or the two that open something."""
        two = self.text[self.at:self.at + 2]
        width = 1
        if two in ("$(", "${", "$$"):
            self.opened += [(two, self.at)] if two != "$$" else []
            width = 2
        elif two == "$'" and self._quotes(inside):
            self._skip_escaped()
            return
        elif here == _CLOSES.get(inside):
            self.opened.pop()
            self.double_quotes -= here == '"'
        elif here == '"' or (here == "(" and inside != '"'):
            self.opened.append((here, self.at))
            self.double_quotes += here == '"'
        self.at += width

    def _quotes(self, inside: str) -> bool:
        """Return whether a single quote is one here: in double quotes it is a character like any other."""
        if inside == "${":  # and so it is in an expansion within them
            return not self.double_quotes
        return inside != '"'

    def _single(self) -> None:
        end = self.text.find("'", self.at + 1)
        if end < 0:
            self.opened.append(("'", self.at))
        self.at = len(self.text) if end < 0 else end + 1

    def _skip_escaped(self) -> None:
        r"""Skip $'...', in which bash takes \' for a character and others do not."""
        self.is_unsure = True
        self.at += 2
        while self.at < len(self.text) and self.text[self.at] != "'":
            self.at += 2 if self.text[self.at] == "\\" else 1
        self.at += 1

    def _substitution(self, inside: str) -> None:
        """Skip what stands in backticks, which some shells read only when they run it."""
        self.is_unsure |= inside == "${"
        begun = self.at
        self.at += 1
        while self.at < len(self.text) and self.text[self.at] != "`":
            self.at += 2 if self.text[self.at] == "\\" else 1
        if self.at >= len(self.text):
            self.opened.append(("`", begun))
        self.at += 1

    def _is_comment(self, inside: str) -> bool:
        before = self.text[self.at - 1] if self.at else "\n"
        return inside not in ('"', "${") and before in _BEFORE_COMMENT
