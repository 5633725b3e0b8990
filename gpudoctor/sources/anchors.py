"""Find which of a thousand short texts stand where in a block of bytes.

`ahocorasick_rs` does it in one pass, whatever the block holds (docs/decisions/0014). It has no wheel for
every machine: without it the texts are looked for one by one, which gives the same places, much slower.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

# Building the fast automaton takes as long as reading so much with the small one.
SMALL_BYTES = 4 * 1024 * 1024
Place = tuple[int, int, int]  # which text, from where, to where
_Find = Callable[[bytes], Sequence[Place]]


class Finder:
    """Looks for the same texts in one block after another."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = [text.encode() for text in texts]
        self._find: _Find | None = None
        self._fast = False
        self._seen_bytes = 0

    def find(self, data: bytes) -> Sequence[Place]:
        """Return every place of every text, in the order of the places' ends."""
        self._seen_bytes += len(data)
        if self._find is None or (not self._fast and self._seen_bytes > SMALL_BYTES):
            self._fast = self._seen_bytes > SMALL_BYTES
            self._find = _finder(self._texts, fast=self._fast)
        return self._find(data)


def _finder(texts: Sequence[bytes], *, fast: bool) -> _Find:
    try:
        from ahocorasick_rs import BytesAhoCorasick, Implementation
    except ImportError:  # no wheel for this machine, or one that this machine cannot load
        return lambda data: one_by_one(texts, data)
    kind = Implementation.DFA if fast else Implementation.ContiguousNFA
    automaton = BytesAhoCorasick(texts, implementation=kind)
    return lambda data: automaton.find_matches_as_indexes(data, overlapping=True)


def one_by_one(texts: Sequence[bytes], data: bytes) -> Sequence[Place]:
    """Return the same places by looking for each text in turn."""
    places = [(index, start, start + len(text)) for index, text in enumerate(texts) if text in data
              for start in _starts(text, data)]
    return sorted(places, key=lambda place: place[2])


def _starts(text: bytes, data: bytes) -> list[int]:
    starts, start = [], data.find(text)
    while start >= 0:
        starts.append(start)
        start = data.find(text, start + 1)
    return starts
