"""A text as importers see it: numbered lines without quotation marks and margins, and fast ways to them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

from gpudoctor.sources.margins import without_margin
from gpudoctor.sources.wrapped import rejoined

LINE_CHARACTERS = 1 << 14  # what a line holds beyond is read as a part of a document alone
SOURCE_CHARACTERS = 160
MARK_LIMIT = 2000  # of so many places of a mark the rest repeats them
_FENCES = ("```", "~~~")
_WORD_START = "> "


class Text:
    """Lines of a text, each without `>` of quotations; `folded` is all of it in lower case.

    Positions in `whole` and `folded` are the same.
    """

    def __init__(self, text: str, name: str, numbers: Sequence[int] | None = None) -> None:
        self.name = name
        self.in_documents: list[range] = []  # lines of documents that were read whole, as what they are
        self._given = text
        self.lines = _bare(line[:LINE_CHARACTERS] for line in text.split("\n"))
        self._numbers = numbers
        is_cut = len(text) >= LINE_CHARACTERS and max(map(len, self.lines)) >= LINE_CHARACTERS
        whole = None if is_cut else rejoined(self.lines)
        if whole is not None:
            self.lines, places = whole
            self._given = "\n".join(self.lines)
            self._numbers = [numbers[place] if numbers is not None and place < len(numbers) else place + 1
                             for place in places]

    @cached_property
    def whole(self) -> str:
        """Return the lines as one text."""
        return "\n".join(self.lines)

    @cached_property
    def uncut(self) -> str:
        """Return the whole lines as one text: a document of JSON may be a single line."""
        if len(self._given) < LINE_CHARACTERS:
            return self.whole
        return "\n".join(_bare(self._given.split("\n")))

    @cached_property
    def folded(self) -> str:
        """Return the text in lower case; no character takes more room there than before."""
        return self.whole.replace("\u0130", "I").lower()

    @cached_property
    def _starts(self) -> list[int]:
        starts, position = [], 0
        for line in self.lines:
            starts.append(position)
            position += len(line) + 1
        return starts

    def number(self, index: int) -> int:
        """Return the number of a line in the file that it came from."""
        if self._numbers is not None and index < len(self._numbers):
            return self._numbers[index]
        return index + 1

    def source(self, index: int) -> str:
        """Return "issue.txt:12: the line"."""
        shown = " ".join(self.lines[index][:2 * SOURCE_CHARACTERS].split())[:SOURCE_CHARACTERS]
        if not shown.isprintable():
            shown = "".join(c if c.isprintable() else " " for c in shown)
        return f"{self.name}:{self.number(index)}: {shown}"

    def index_at(self, position: int) -> int:
        """Return the line in which a position of `whole` lies."""
        return bisect_right(self._starts, position) - 1

    def start(self, index: int) -> int:
        """Return where a line begins in `whole`."""
        return self._starts[index]

    def places(self, mark: str, *, folded: bool = False) -> Iterator[int]:
        """Yield the positions of a literal, the first `MARK_LIMIT` of them."""
        text = self.folded if folded else self.whole
        position = text.find(mark)
        for _ in range(MARK_LIMIT):
            if position < 0:
                return
            yield position
            position = text.find(mark, position + len(mark))

    def having(self, mark: str) -> Iterator[int]:
        """Yield the lines that hold a literal, each once."""
        last = -1
        for position in self.places(mark):
            index = self.index_at(position)
            if index != last:
                yield index
            last = index


def _bare(lines: Iterable[str]) -> list[str]:
    return without_margin([_unquoted(line) for line in lines])


def _unquoted(line: str) -> str:
    """Return a line without its quotation marks, and nothing for the fence of a block of code."""
    line = line.rstrip("\r")
    if line[:1] == ">":
        line = line.lstrip(_WORD_START) if line[:3] == ">>>" else _without_marks(line)
    return "" if line.lstrip()[:3] in _FENCES else line


def _without_marks(line: str) -> str:
    while line[:1] == ">":
        line = line[2:] if line[1:2] == " " else line[1:]
    return line
