"""What `.dockerignore` leaves out of a build, by the rules of moby/patternmatcher.

The last pattern that matches a path, or a folder that it lies in, counts:
https://docs.docker.com/build/concepts/context/#dockerignore-files
"""

from __future__ import annotations

import itertools
import posixpath
import re
from collections.abc import Iterator, Sequence

from gpudoctor.frozen import frozen

_COMMENT, _EXCEPTION = "#", "!"
_UNREAD = re.compile(r"\\[A-Za-z0-9]|\[:|\ufeff")  # what Go's expressions and ours do not read alike
_SET = re.compile(r"\[\^?\]?(?:[^\]\\]|\\.)*\]")
_WITHIN, _ALL, _FOLDERS = "*", "**", "**/"  # of one name, of all, any folders or none
_ANY = re.compile("[^/]", re.DOTALL)
_Part = str | re.Pattern[str]  # one of these three, or the expression of one character


class PatternError(ValueError):
    """A line that is no pattern, or none that is read here: which."""


@frozen
class Ignored:
    """The patterns of a file, each with whether it is an exception."""

    patterns: tuple[tuple[tuple[_Part, ...], bool], ...]

    def leaves_out(self, path: str) -> bool:
        """Return whether a path, as COPY has it, is not sent to the builder."""
        parts = posixpath.normpath(path).lstrip("/").split("/")
        above = [*itertools.accumulate(parts, posixpath.join)]
        is_out = False
        for pattern, is_exception in self.patterns:
            if is_exception == is_out and any(_is_match(pattern, one) for one in above):
                is_out = not is_exception
        return is_out


def read(text: str) -> Ignored:
    """Return what a file leaves out; raise `PatternError`."""
    return Ignored(patterns=tuple(_patterns(text)))


def _patterns(text: str) -> Iterator[tuple[tuple[_Part, ...], bool]]:
    for number, line in enumerate(text.split("\n"), 1):
        pattern = line.strip()
        if line.startswith(_COMMENT) or not pattern:
            continue
        is_exception = pattern.startswith(_EXCEPTION)
        pattern = pattern.removeprefix(_EXCEPTION).strip() if is_exception else pattern
        try:
            yield tuple(_parts(_cleaned(pattern))), is_exception
        except (ValueError, re.error):
            raise PatternError(f"line {number}") from None


def _cleaned(pattern: str) -> str:
    """Return a pattern without what a path does not need; raise `ValueError` for what is no pattern."""
    if not pattern or _UNREAD.search(pattern):
        raise ValueError(pattern)
    return posixpath.normpath(pattern).lstrip("/")


def _parts(pattern: str) -> Iterator[_Part]:
    """Yield the parts of a pattern; raise `ValueError` for a set that is not ended, or an anchor."""
    at = 0
    is_ending = pattern.startswith(_ALL) and not re.search(r"[*?\[\]\\]", pattern[2:])  # "**x"
    while at < len(pattern):
        one = pattern[at]
        if pattern.startswith(_ALL, at):
            at += 3 if pattern.startswith(_FOLDERS, at) else 2
            is_last = at == len(pattern) or (is_ending and not pattern.startswith(_FOLDERS))
            yield _ALL if is_last else _FOLDERS
            continue
        if one == "[":
            found = _SET.match(pattern, at)
            if found is None:
                raise ValueError(pattern)
            yield re.compile(f"[{found[0][1:-1].replace('[', chr(92) + '[')}]", re.DOTALL)
            at = found.end()
            continue
        if one == "^":
            raise ValueError(pattern)
        if one == "\\" and at + 1 < len(pattern):
            at += 1
        yield _WITHIN if one == "*" else _ANY if one == "?" else re.compile(re.escape(pattern[at]), re.DOTALL)
        at += 1


def _is_match(parts: Sequence[_Part], path: str) -> bool:
    """Say whether a whole path matches, in time proportional to both: no pattern makes it slow.

    A state is a part that comes next, and whether folders have begun that may only end behind a slash.
    """
    states = _with_skipped(parts, {(0, False)})
    for character in path:
        states = _with_skipped(parts, {state for one in states for state in _after(parts, one, character)})
    return (len(parts), False) in states


def _with_skipped(parts: Sequence[_Part], states: set[tuple[int, bool]]) -> set[tuple[int, bool]]:
    """Return the states with those behind parts that may be empty."""
    found = set(states)
    for at, has_begun in states:
        behind = at
        while not has_begun and behind < len(parts) and isinstance(parts[behind], str):
            behind += 1
            found.add((behind, False))
    return found


def _after(parts: Sequence[_Part], state: tuple[int, bool], character: str) -> Iterator[tuple[int, bool]]:
    at, _ = state
    part = parts[at] if at < len(parts) else None
    if isinstance(part, re.Pattern):
        if part.fullmatch(character):
            yield at + 1, False
    elif part == _FOLDERS:
        yield at, True
        if character == "/":
            yield at + 1, False
    elif part == _ALL or (part == _WITHIN and character != "/"):
        yield at, False
