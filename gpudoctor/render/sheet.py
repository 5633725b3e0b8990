"""The lines of a report, wrapped by the cells of a terminal; rich colours them where colours are wanted.

Without colours rich is not imported: that takes as long as judging a machine.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from typing import TypeAlias

Piece: TypeAlias = tuple[str, str]  # a text and its style in rich's words ("bold red"), "" for none

_WORD = re.compile(r"\s*\S+\s*")
_ADDRESS = "://"
LABEL_WIDTH = 12
_LEAST_ROOM = 20  # columns of text beside a label, however narrow the terminal


class Sheet:
    """Takes what is to be printed, in order; `width` in columns."""

    def __init__(self, *, width: int, colour: bool) -> None:
        self._width = width
        self._colour = colour
        self._lines: list[Sequence[Piece]] = []

    def line(self, *pieces: Piece) -> None:
        """Add a line that is never broken, an empty one for no pieces."""
        self._lines.append(pieces)

    def row(self, label: str, said: str, indent: int = 2, width: int = LABEL_WIDTH) -> None:
        """Add a label and its text, later lines of it below its beginning."""
        lead = label.ljust(width) if len(label) < width else f"{label} "
        wrapped = wrap(said, max(_LEAST_ROOM, self._width - indent - width)) or [""]
        self.line((" " * indent, ""), (lead, "bold"), (wrapped[0], ""))
        for piece in wrapped[1:]:
            self.line((" " * (indent + width) + piece, ""))

    def paragraph(self, text: str, indent: int, style: str = "") -> None:
        """Add a text in as many lines as it takes."""
        for piece in wrap(text, max(1, self._width - indent)):
            self.line((" " * indent, ""), (piece, style))

    def entry(self, mark: str, text: str, style: str = "") -> None:
        """Add a text behind a mark that stands at the left, later lines of it below its beginning."""
        for number, piece in enumerate(wrap(text, max(_LEAST_ROOM, self._width - len(mark)))):
            self.line((" " * len(mark) if number else mark, "bold"), (piece, style))

    def text(self) -> str:
        """Return all lines, without blanks at their ends."""
        lines = self._coloured() if self._colour else map(_words, self._lines)
        return "".join(f"{line.rstrip()}\n" for line in lines)

    def _coloured(self) -> list[str]:
        from rich.console import Console
        from rich.text import Text

        buffer = io.StringIO()
        console = Console(file=buffer, width=self._width, force_terminal=True, highlight=False, markup=False,
                          emoji=False, legacy_windows=False, color_system="standard")
        for line in self._lines:
            console.print(Text.assemble(*line), soft_wrap=True)
        return buffer.getvalue().splitlines()


def _words(line: Sequence[Piece]) -> str:
    return "".join(text for text, _ in line)


def wrap(text: str, width: int) -> list[str]:
    """Return the text in lines of at most `width` cells; only a word that is longer is broken.

    An address is not: in pieces it could neither be clicked nor copied.
    """
    lines = [""]
    for word in _WORD.findall(text):
        if _cells(lines[-1]) + _cells(word.rstrip()) <= width:
            lines[-1] += word
        elif _cells(word.rstrip()) <= width or _ADDRESS in word:
            lines.append(word)
        else:
            lines.extend(_chopped(word, width))
    return [line for line in map(str.rstrip, lines) if line]


def _cells(text: str) -> int:
    """Return how many cells of a terminal a text takes: of some scripts two for a character."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def _chopped(word: str, width: int) -> Iterator[str]:
    if word.isascii():
        return (word[start:start + width] for start in range(0, len(word), width))
    from rich.cells import chop_cells

    return iter(chop_cells(word, width))
