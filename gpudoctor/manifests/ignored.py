"""What `.dockerignore` leaves out of a build, by the rules of moby/patternmatcher.

The last pattern that matches a path, or a folder that it lies in, counts:
https://docs.docker.com/build/concepts/context/#dockerignore-files
"""

from __future__ import annotations

import itertools
import posixpath
import re
from collections.abc import Iterator

from gpudoctor.frozen import frozen

_COMMENT, _EXCEPTION = "#", "!"
_UNREAD = re.compile(r"\\[A-Za-z0-9]|\[:|\ufeff")  # what Go's expressions and ours do not read alike
_BEFORE_ALL = re.compile(r"\*\*/?")


class PatternError(ValueError):
    """A line that is no pattern, or none that is read here: which."""


@frozen
class Ignored:
    """The patterns of a file, each with whether it is an exception."""

    patterns: tuple[tuple[re.Pattern[str], bool], ...]

    def leaves_out(self, path: str) -> bool:
        """Return whether a path, as COPY has it, is not sent to the builder."""
        parts = posixpath.normpath(path).lstrip("/").split("/")
        above = [*itertools.accumulate(parts, posixpath.join)]
        is_out = False
        for pattern, is_exception in self.patterns:
            if is_exception == is_out and any(pattern.fullmatch(one) for one in above):
                is_out = not is_exception
        return is_out


def read(text: str) -> Ignored:
    """Return what a file leaves out; raise `PatternError`."""
    return Ignored(patterns=tuple(_patterns(text)))


def _patterns(text: str) -> Iterator[tuple[re.Pattern[str], bool]]:
    for number, line in enumerate(text.split("\n"), 1):
        pattern = line.strip()
        if line.startswith(_COMMENT) or not pattern:
            continue
        is_exception = pattern.startswith(_EXCEPTION)
        pattern = pattern.removeprefix(_EXCEPTION).strip() if is_exception else pattern
        try:
            yield re.compile(_expression(_cleaned(pattern)), re.DOTALL), is_exception
        except (ValueError, re.error):
            raise PatternError(f"line {number}") from None


def _cleaned(pattern: str) -> str:
    """Return a pattern without what a path does not need; raise `ValueError` for what is no pattern."""
    if not pattern or _UNREAD.search(pattern):
        raise ValueError(pattern)
    return posixpath.normpath(pattern).lstrip("/")


def _expression(pattern: str) -> str:
    """Return the expression of a pattern: `**` is any number of folders, `*` and `?` stay in one."""
    found, at = "", 0
    if pattern.startswith("**") and not re.search(r"[*?\[\]\\]", pattern[2:]):
        return f"(?:.*/)?{re.escape(pattern[3:])}" if pattern[2:3] == "/" else f".*{re.escape(pattern[2:])}"
    while at < len(pattern):
        every = _BEFORE_ALL.match(pattern, at)
        if every is not None:
            at = every.end()
            found += "(?:.*/)?" if at < len(pattern) else ".*"
            continue
        one = pattern[at]
        at += 1
        if one == "\\" and at < len(pattern):
            found += re.escape(pattern[at])
            at += 1
        elif one in "*?":
            found += "[^/]*" if one == "*" else "[^/]"
        else:
            found += one if one in "[]^-" else re.escape(one)
    return found
