"""What importers read of an input: its beginning and its end, as lines with their numbers."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from gpudoctor.frozen import frozen
from gpudoctor.sources.reading import Block
from gpudoctor.sources.unwrap import message
from gpudoctor.symptoms import printable


@frozen
class Stretch:
    """Consecutive lines as importers read them, each with its number: the beginning or the end of an input.

    Tabs are kept; colours, envelopes and the prefixes of containers and of CI are gone. States of a progress
    bar, and lines that were escaped within one, are lines of their own with the same number. Of a line of
    more than 256 KiB only its beginning is there.
    """

    file: str
    numbers: Sequence[int]
    lines: Sequence[str]

    @property
    def text(self) -> str:
        """Return it as one text."""
        return "\n".join(self.lines)


# What a line takes besides its bytes.
_LINE_COST_BYTES = 64


class Keeper:
    """Holds the first and the last blocks of one input, about so many bytes of each."""

    def __init__(self, file: str, limit_bytes: int) -> None:
        self._file = file
        self._limit_bytes = limit_bytes
        self._head: list[Block] = []
        self._tail: deque[Block] = deque()
        self._head_bytes = self._tail_bytes = 0
        self._gap = False

    @property
    def held_bytes(self) -> int:
        """Return how much is held."""
        return self._head_bytes + self._tail_bytes

    def add(self, block: Block) -> None:
        """Take the next block."""
        if not block.whole and block.begin:
            return  # what a line holds beyond its first stretch
        if self._head_bytes < self._limit_bytes:
            self._head.append(block)
            self._head_bytes += _cost_bytes(block)
            return
        self._tail.append(block)
        self._tail_bytes += _cost_bytes(block)
        while self._tail and self._tail_bytes - _cost_bytes(self._tail[0]) >= self._limit_bytes:
            self._tail_bytes -= _cost_bytes(self._tail.popleft())
            self._gap = True

    def stretches(self) -> tuple[Stretch, ...]:
        """Return what was held: one stretch, or two where something between them was let go."""
        if not self._gap:
            return (self._stretch([*self._head, *self._tail]),)
        return self._stretch(self._head), self._stretch(self._tail)

    def _stretch(self, blocks: Sequence[Block]) -> Stretch:
        numbers: list[int] = []
        lines: list[str] = []
        for whole, group in groupby(blocks, key=lambda block: block.whole):
            for first, data in _joined(group) if whole else _beginnings(group):
                for number, line in _lines(first, data):
                    numbers.append(number)
                    lines.append(line)
        return Stretch(file=self._file, numbers=numbers, lines=lines)


def _cost_bytes(block: Block) -> int:
    lines = block.feeds + (block.data.count(b"\r") if b"\r" in block.data else 0)
    return len(block.data) + _LINE_COST_BYTES * lines


def _joined(blocks: Iterable[Block]) -> Iterator[tuple[int, bytes]]:
    """Yield the text of blocks that follow one another: a line's ending may be in the next one."""
    together = list(blocks)
    yield together[0].line, b"".join(block.data for block in together)


def _beginnings(blocks: Iterable[Block]) -> Iterator[tuple[int, bytes]]:
    yield from ((block.line, block.data[:block.end]) for block in blocks)


def _lines(first: int, data: bytes) -> Iterator[tuple[int, str]]:
    text = data.decode("utf-8", "replace").replace("\r\n", "\n")
    for number, line in enumerate(text.removesuffix("\n").split("\n"), start=first):
        states = [state for state in line.split("\r") if state] if "\r" in line else [line]
        for state in states:
            for part in message(state).split("\n"):
                yield number, part if part.isprintable() else "\t".join(map(printable, part.split("\t")))
