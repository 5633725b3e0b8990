"""Where things stand in a file: a text whose every character knows its place, and words cut out of it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from gpudoctor import versions
from gpudoctor.frozen import frozen

_BYTE_ORDER_MARK = "\ufeff"


@frozen
class Place:
    """A position in a file: line and column are counted from 1, a column is a character.

    What stands there goes from its character `start` up to `end`, counted from 0.
    """

    file: str
    line: int
    column: int
    start: int
    end: int

    def __str__(self) -> str:
        """Return it as editors take it."""
        return f"{self.file}:{self.line}:{self.column}"


class ManifestError(ValueError):
    """A file cannot be read as what it is: a place in it, or its name, and what is said of it."""

    def __init__(self, where: Place | str, said: str) -> None:
        """Take what makes one line together."""
        super().__init__(f"{where}: {said}")
        self.where = where
        self.said = said


class Source:
    """A file's name and text, which finds the line and the column of a character."""

    def __init__(self, file: str, text: str) -> None:
        """Take a text as it was decoded; a byte order mark is no part of its first line.

        `ManifestError` where it holds what no version, and no other number of such files, can be.
        """
        self.file = file
        self.text = text
        self._starts = [0]
        self._starts += [at + 1 for at, character in enumerate(text) if character == "\n"]
        if (number := versions.UNCOUNTABLE.search(text)) is not None:
            raise self.error(number.start(), "holds a number of a thousand digits, which no version has")

    def place(self, at: int, end: int | None = None) -> Place:
        """Return where the characters from this one up to `end` stand."""
        line = bisect_right(self._starts, at)
        start = self._starts[line - 1]
        marks = 1 if line == 1 and self.text.startswith(_BYTE_ORDER_MARK) else 0
        return Place(file=self.file, line=line, column=max(1, at - start + 1 - marks), start=at,
                     end=at if end is None else end)

    def of(self, word: Word) -> Place:
        """Return where a word stands."""
        return self.place(word.start, word.end)

    def is_quoted(self, word: Word) -> bool:
        """Return whether a word stands there in one pair of quotes and nothing else."""
        return self.text[word.start:word.end] in (f"'{word.text}'", f'"{word.text}"')

    def lines(self) -> list[tuple[int, str]]:
        """Return the lines without their ends, each with the number of its first character."""
        found = []
        for start, end in zip(self._starts, (*self._starts[1:], len(self.text) + 1), strict=True):
            begin = start + (1 if start == 0 and self.text.startswith(_BYTE_ORDER_MARK) else 0)
            found.append((begin, self.text[begin:end - 1].removesuffix("\r")))
        return found

    def traced_lines(self) -> list[Traced]:
        """Return the lines; each has one place more, where it ends."""
        return [Traced(text=line, at=range(start, start + len(line) + 1)) for start, line in self.lines()]

    def error(self, at: int, said: str) -> ManifestError:
        """Return the error to raise about what stands there."""
        return ManifestError(self.place(at), said)


class Part(Source):
    """A part of a file that is read as if it was one; every place is one of the whole file."""

    def __init__(self, source: Source, lines: list[Traced]) -> None:
        """Take the whole file and the lines of the part, each with one place more, where it ends."""
        super().__init__(source.file, source.text)
        self._lines = lines

    def lines(self) -> list[tuple[int, str]]:
        """Return the lines of the part, each with the number of its first character in the whole."""
        return [(line.at[0], line.text) for line in self._lines]

    def traced_lines(self) -> list[Traced]:
        """Return the same lines, each with the places of its characters."""
        return self._lines


@frozen
class Traced:
    """A text put together from pieces of a file; `at` has the place of each of its characters."""

    text: str
    at: Sequence[int]

    def cut(self, start: int, end: int | None = None) -> Traced:
        """Return the part between two of its characters."""
        return Traced(text=self.text[start:end], at=self.at[start:end])


def traced(text: str, start: int) -> Traced:
    """Return a piece of a file that begins at its character `start`."""
    return Traced(text=text, at=range(start, start + len(text)))


@frozen
class Word:
    """A word as a program gets it; it was written from character `start` up to `end` of its file.

    `known` is false where something in it is only known when the file is used: `$(...)`, a variable without a
    value. `plain`: it was written as it is, without quotes and variables.
    """

    text: str
    start: int
    end: int
    known: bool = True
    plain: bool = True
