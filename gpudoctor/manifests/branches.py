"""Whether a shell comes to a command: what `if`, `case`, loops, `&&` and `||` make of it.

A test is known where it is `[`, `[[` or `test` with words that are known; an ordinary command is taken to
succeed, as a build has it, which ends where one fails.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from gpudoctor.manifests.spans import Word

RESERVED = frozenset({"if", "then", "else", "elif", "do", "while", "until", "!", "{", "time", "exec"})
_CLOSES = frozenset({"fi", "esac", "done", "}"})
_TESTS = frozenset({"[", "[[", "test"})
_PATTERN = re.compile(r"[\w./:+-]*\Z")
_EQUAL, _UNEQUAL = frozenset({"=", "=="}), frozenset({"!=", "-ne"})


class _Frame:
    """An `if`, a `case`, a loop or a group while it is read."""

    def __init__(self, kind: str, outer: bool | None, active: bool | None = True) -> None:
        self.kind, self.outer, self.active = kind, outer, active
        self.is_test = kind in ("if", "while", "until")
        self.test: bool | None = False if kind == "case" else None
        self.tests = 0
        self.past: bool | None = False  # whether a branch before was taken
        self.subject: str | None = None
        self.expects_pattern = kind == "case"


class Branches:
    """Takes the commands of a script in their order and says of each whether it is run."""

    def __init__(self) -> None:
        """Begin outside of everything."""
        self._frames: list[_Frame] = []
        self._reset()

    def take(self, reserved: Sequence[str], words: Sequence[Word], end: str) -> bool | None:
        """Return whether a command is run, None where only the build knows; `end` stands behind it."""
        for word in reserved:
            self._open(word)
        top = self._frames[-1] if self._frames else None
        first = words[0].text if words and words[0].plain else ""
        runs: bool | None = False
        if top is not None and top.expects_pattern:
            self._pattern(top, words, end)
            return False
        if first in ("for", "case", "select"):
            self._begin(first, words, end)
        elif first in _CLOSES:
            self._close(end)
        elif words:
            runs = _both(self._where(), self._reach)
            self._command(first, words, end, negated="!" in reserved)
        elif end == "(":
            self._frames.append(_Frame("(", self._where(), self._reach))
            self._reset()
        else:
            self._chain(self._value, end, is_sure=self._is_sure)
        if end == ")" and self._frames and self._frames[-1].kind == "(":
            self._close(end)
        return runs

    def _command(self, first: str, words: Sequence[Word], end: str, *, negated: bool) -> None:
        is_test = first in (*_TESTS, "true", "false", ":")
        result = truth(words) if is_test else True
        result = not result if negated and result is not None else result
        top = self._frames[-1] if self._frames else None
        if top is not None and top.is_test:
            top.tests += 1
            top.test = result if top.tests == 1 and is_test else None
        self._chain(result, end, is_sure=is_test)

    def _reset(self) -> None:
        self._value: bool | None = True  # what the commands before gave
        self._is_sure = True  # no command, which may fail, has given it
        self._reach: bool | None = True  # whether the next command is come to

    def _close(self, end: str) -> None:
        frame = self._frames.pop() if self._frames else None
        self._reset()
        value = frame.active if frame is not None and frame.kind in ("(", "{") else True
        if end == ")":
            self._value, self._is_sure = value, False
        else:
            self._chain(value, end, is_sure=False)

    def _where(self) -> bool | None:
        """Return whether what stands in all that was opened is run."""
        return _both(self._frames[-1].outer, self._frames[-1].active) if self._frames else True

    def _open(self, word: str) -> None:
        top = self._frames[-1] if self._frames else None
        if word in ("if", "while", "until", "{"):
            self._frames.append(_Frame(word, self._where(), self._reach))
            self._reset()
        elif top is None:
            return
        elif word == "then":
            top.is_test, top.active = False, _both(top.test, _not(top.past))
        elif word == "elif":
            top.past = _either(top.past, top.test)
            top.is_test, top.tests, top.test, top.active = True, 0, None, _not(top.past)
        elif word == "else":
            top.active = _not(_either(top.past, top.test))
        elif word == "do" and top.kind != "for":
            top.is_test, top.active = False, None

    def _begin(self, kind: str, words: Sequence[Word], end: str) -> None:
        """Open a loop over words, or a choice by a word."""
        frame = _Frame(kind, self._where(), self._reach)
        self._frames.append(frame)
        if kind != "case":
            listed = any(word.known and word.text for word in words[3:])
            frame.active = _both(self._reach, True if listed else None)
        else:
            frame.subject = words[1].text if len(words) > 1 and words[1].known else None
            if end in (")", "|") and len(words) > 3:  # the first pattern stands on the same line
                self._pattern(frame, words[3:], end)
        self._reset()

    def _pattern(self, frame: _Frame, words: Sequence[Word], end: str) -> None:
        """Read what stands before a `)`; `esac` ends it all."""
        if words and words[0].text == "esac":
            self._close(end)
        elif words and end in (")", "|"):
            frame.test = _either(frame.test, _fits(frame.subject, words[0]))
            if end == ")":
                frame.active = _both(frame.test, _not(frame.past))
                frame.past = _either(frame.past, frame.test)
                frame.expects_pattern, frame.test = False, False
                self._reset()

    def _chain(self, value: bool | None, end: str, *, is_sure: bool) -> None:
        """Take in what a command gave, for the one behind `&&` or `||`."""
        if self._reach is True:
            self._value, self._is_sure = value, is_sure
        elif self._reach is None and value is not self._value:
            self._value = None
        if end == "&&":
            self._reach = self._value
        elif end == "||":
            self._reach = _not(self._value) if self._is_sure else None
        elif end != "|":
            self._reset()
        if end == ";;" and self._frames and self._frames[-1].kind == "case":
            self._frames[-1].expects_pattern = True


def truth(words: Sequence[Word]) -> bool | None:
    """Return what a test with known words gives; None where it is none, or not known."""
    texts = [word.text for word in words]
    if texts in (["true"], ["false"], [":"]):
        return texts != ["false"]
    if texts[0] not in _TESTS or not all(word.known for word in words):
        return None
    inner = texts[1:-1] if texts[0] != "test" else texts[1:]
    negated = inner[:1] == ["!"]
    inner = inner[1:] if negated else inner
    found = _simple(inner, words)
    return found if found is None or not negated else not found


def _simple(inner: Sequence[str], words: Sequence[Word]) -> bool | None:
    if len(inner) == 1:
        return bool(inner[0])
    if len(inner) == 2 and inner[0] in ("-n", "-z"):
        return bool(inner[1]) is (inner[0] == "-n")
    if len(inner) == 3 and inner[1] in _EQUAL | _UNEQUAL | {"-eq"}:
        pattern = words[0].text == "[[" and not _PATTERN.match(inner[2])
        return None if pattern else (inner[0] == inner[2]) is (inner[1] not in _UNEQUAL)
    return None


def _fits(subject: str | None, pattern: Word) -> bool | None:
    if pattern.text == "*":
        return True
    if subject is None or not pattern.known or not _PATTERN.match(pattern.text):
        return None
    return subject == pattern.text


def _both(one: bool | None, other: bool | None) -> bool | None:
    if one is False or other is False:
        return False
    return None if one is None or other is None else True


def _either(one: bool | None, other: bool | None) -> bool | None:
    return _not(_both(_not(one), _not(other)))


def _not(one: bool | None) -> bool | None:
    return None if one is None else not one
