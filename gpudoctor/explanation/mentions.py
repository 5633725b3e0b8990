"""Lines that mention a message and report none: titles of commits, lists of changes, quoted source lines.

"Fix CUDA error: out of memory in trainer" in a `git log` tells what somebody mended once, in a program, and
nothing of the machine where the log was printed. Nor does the line of a program that a traceback quotes: what
was raised there stands below it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

_HEX = r"(?=[0-9a-f]*[0-9])(?=[0-9a-f]*[a-f])[0-9a-f]"
_COMMIT = re.compile(rf"commit {_HEX}{{7,40}}(?: \([^()]{{1,200}}\))?")
_HEADER = re.compile(r"(?:Merge|Author|AuthorDate|Date|Commit|CommitDate): .{1,200}")
_MESSAGE = re.compile(r" {4}|\t")  # how git indents what somebody wrote
# A row of `git log --oneline`, with its graph. Twelve digits are those of a container or an image.
_TITLE = re.compile(rf"[*|\\/ ]{{0,20}}{_HEX}{{7,11}} (?:\([^()]{{1,200}}\) )?(?P<said>\S.*)")
_FEWEST_TITLES = 2
_LONGEST = 1000  # characters of a line that a person wrote
# A heading of a list of changes, and its entries; the last form is the one that GitHub writes for a release.
_CHANGES = re.compile(
    r"(?:#{1,6} |=+ )?(?:change ?log|change history|release notes?|bug ?fixes|fixed|fixes|what's changed"
    r"|\[?v?[0-9]{1,4}\.[0-9]{1,4}(?:\.[0-9]{1,6})?\]?(?: [-(].{1,40})?):?", re.IGNORECASE)
_IS_HEADING = ("#", "=", "[", "c", "C", "r", "R", "W", "w")
_ENTRY = re.compile(r"\s{0,8}[-*+] \S")
_PULLED = re.compile(r"\s{0,8}[-*+] .{1,300} by @[\w-]{1,60} in https?://\S{1,200}/pull/[0-9]{1,8}")
# Where a traceback is in a program's own file; a framework's source line has the words that it raises.
_FRAME = re.compile(r"\s{0,8}File \"(?![^\"\n]{0,300}(?:site|dist)-packages)[^\"\n]{1,300}\", "
                    r"line [0-9]{1,7}\b")
_ARROW = re.compile(r"\s{0,4}-{2,8}> ?[0-9]{1,6} \s*\S")  # IPython's
# "I do not get "...", but": what somebody is asked about mostly, and does not have.
_SAYS_ERROR = r"(?:error|message|warning|line)s?\b[: ]{0,2}"
_DENIED = re.compile(
    r"(?:\b(?:do|does|did|am|is|are)(?: not|n'?t)|\bnever|\bno longer) "
    rf"(?:(?:get(?:ting)?|got|receiv(?:e|ing)) (?:(?:the|any|this|that|an?) )?(?:{_SAYS_ERROR})?"
    rf"|see(?:ing)? (?:(?:the|any|this|that|an?) )?{_SAYS_ERROR})"
    r"(?P<mark>[\"'`])(?P<said>[^\n]{8,300}?)(?P=mark)", re.IGNORECASE)


def mentioned(lines: Sequence[str]) -> frozenset[int]:
    """Return the numbers, from 1, of the lines of a text that only mention what they say."""
    denied = (number for number, _ in without_denied(lines))
    return frozenset([*_of_commits(lines), *_of_titles(lines), *_of_changes(lines), *_of_source(lines),
                      *denied])


def without_denied(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Yield the lines that quote a message to say that it does not come, each without the quotation."""
    for number, line in enumerate(lines, start=1):
        rest = _DENIED.sub("", line) if len(line) <= _LONGEST else line
        if rest != line:
            yield number, rest


def _of_commits(lines: Sequence[str]) -> Iterator[int]:
    """Yield the lines of messages below `commit 1a2b3c4...`."""
    is_within = False
    for number, line in enumerate(lines, start=1):
        said = line.strip()
        if _COMMIT.fullmatch(said):
            is_within = True
        elif is_within and _MESSAGE.match(line):
            yield number
        elif said and not _HEADER.fullmatch(said):
            is_within = False


def _of_titles(lines: Sequence[str]) -> Sequence[int]:
    """Return the rows of a list of commits; a single one may be anything that begins with a number."""
    found = [number for number, line in enumerate(lines, start=1) if _TITLE.fullmatch(line.rstrip())]
    return found if len(found) >= _FEWEST_TITLES else ()


def _of_changes(lines: Sequence[str]) -> Iterator[int]:
    """Yield the entries below a heading that announces changes."""
    is_within = False
    for number, line in enumerate(lines, start=1):
        said = line.strip()
        if said.startswith(_IS_HEADING) and _CHANGES.fullmatch(said):
            is_within = True
        elif _PULLED.match(line) or (is_within and _ENTRY.match(line)):
            yield number
        elif said:
            is_within = is_within and line[:1].isspace()


def _of_source(lines: Sequence[str]) -> Iterator[int]:
    """Yield the lines of programs that a traceback quotes."""
    is_below = False
    for number, line in enumerate(lines, start=1):
        if (is_below and line[:1].isspace() and 'File "' not in line) or _ARROW.match(line):
            yield number
        is_below = 'File "' in line and _FRAME.match(line) is not None
