"""Read what pip reads with -r: requirements, the indexes they come from, and further files.

https://pip.pypa.io/en/stable/reference/requirements-file-format/
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator
from dataclasses import replace

from gpudoctor.derive import planned
from gpudoctor.frozen import frozen
from gpudoctor.manifests.shellwords import words_of
from gpudoctor.manifests.spans import Source, Traced, Word
from gpudoctor.manifests.statements import Asked

Reader = Callable[[str], Source | None]

_COMMENT = re.compile(r"(?:^|[ \t])#.*\Z", re.DOTALL)
_OPTIONS_BEHIND = re.compile(r"[ \t]+--?[a-z]")
_VARIABLE = re.compile(r"\$\{[A-Z0-9_]+\}")
_MOST_FILES = 50
_INDEX = ("-i", "--index-url")


@frozen
class _Line:
    text: Traced
    start: int


def read(source: Source, reader: Reader) -> tuple[Asked, ...]:
    """Return what a requirements file asks for, with the files that it names; raise `ManifestError`."""
    return tuple(_Reading(reader).all_of(source, 0))


class _Reading:
    """Reads each file once, so that files that name one another come to an end."""

    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        self.seen: set[str] = set()

    def all_of(self, source: Source, depth: int) -> Iterator[Asked]:
        self.seen.add(source.file)
        index: str | None = None
        extra: list[str] = []
        found: list[Asked] = []
        for line in _lines(source):
            if line.text.text.lstrip().startswith("-"):
                words = words_of(line.text, {})
                option, _, glued = words[0].text.partition("=")
                value = glued or (words[1].text if len(words) > 1 else "")
                if option in _INDEX:
                    index = value
                elif option == "--extra-index-url":
                    extra.append(value)
                elif option in ("-r", "--requirement"):
                    found += self._nested(source, value, depth)
            elif (asked := _requirement(line, source)) is not None:
                found.append(asked)
        for asked in found:  # an index that is named anywhere counts for the whole file
            own = asked.index is None and not asked.extra_indexes
            yield replace(asked, index=index, extra_indexes=tuple(extra)) if own else asked

    def _nested(self, source: Source, name: str, depth: int) -> Iterator[Asked]:
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source.file), name))
        if path not in self.seen and len(self.seen) < _MOST_FILES and depth < _MOST_FILES:
            nested = self.reader(path)
            if nested is not None:
                yield from self.all_of(nested, depth + 1)


def _lines(source: Source) -> Iterator[_Line]:
    """Yield the logical lines: continued ones in one, comments left out."""
    parts: list[str] = []
    places: list[int] = []
    for start, line in source.lines():
        goes_on = line.endswith("\\")
        kept = line[:-1] if goes_on else line
        parts.append(kept)
        places += range(start, start + len(kept))
        if not goes_on:
            yield from _without_comment(parts, places)
            parts, places = [], []
    yield from _without_comment(parts, places)


def _without_comment(parts: list[str], places: list[int]) -> Iterator[_Line]:
    joined = "".join(parts)
    text = _COMMENT.sub("", joined, count=1).rstrip()
    first = len(text) - len(text.lstrip())
    if text.strip():
        yield _Line(text=Traced(text=text[first:], at=places[first:len(text)]), start=places[first])


def _requirement(line: _Line, source: Source) -> Asked | None:
    behind = _OPTIONS_BEHIND.search(line.text.text)
    text = line.text.text[:behind.start()] if behind else line.text.text
    if is_elsewhere(text) or _VARIABLE.search(text):
        return None
    if not any(True for _ in planned.parse((text,))):
        raise source.error(line.start, f"{text[:60]!r} is no requirement: write NAME, NAME==VERSION or "
                                       "NAME[EXTRA]>=VERSION")
    word = Word(text=text, start=line.start, end=line.text.at[len(text) - 1] + 1)
    return Asked(text=text, place=source.of(word), rewritable=word.end - word.start == len(text))


def is_elsewhere(text: str) -> bool:
    """Return whether a requirement names a file, a folder or an address, and no release of an index."""
    bare = text.strip()
    return (bare.startswith((".", "/", "~")) or "://" in bare or " @ " in bare
            or bare.endswith((".whl", ".gz", ".zip")) or ("/" in bare and ";" not in bare))
