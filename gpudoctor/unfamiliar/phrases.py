"""Phrases that name something, looked for in the words of a line: `cuda toolkit`, `cudnn*`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from gpudoctor.unfamiliar.words import words_of

_OPENING = 3  # letters by which a phrase with an open first word is found


class Named(NamedTuple):
    """What a phrase stands for, and between which words it stands."""

    name: str
    begin: int
    end: int


class Phrases:
    """Phrases by their first words; a star at the end of a word stands for any ending of it."""

    def __init__(self, phrases: Iterable[tuple[str, str]]) -> None:
        self._by_word: dict[str, list[tuple[str, Sequence[str]]]] = {}
        self._by_opening: dict[str, list[tuple[str, Sequence[str]]]] = {}
        for name, phrase in phrases:
            words = _words(phrase)
            first = words[0]
            if first.endswith("*"):
                self._by_opening.setdefault(first[:_OPENING], []).append((name, words))
            else:
                self._by_word.setdefault(first, []).append((name, words))

    def named(self, words: Sequence[str]) -> Iterator[Named]:
        """Yield every phrase that stands in the words."""
        for index, word in enumerate(words):
            for group in (self._by_word.get(word, ()), self._by_opening.get(word[:_OPENING], ())):
                for name, phrase in group:
                    if _stands_at(words, index, phrase):
                        yield Named(name, index, index + len(phrase))


def _words(phrase: str) -> Sequence[str]:
    """Return the words of a phrase as `words_of` gives those of a line, with their stars."""
    found: list[str] = []
    for part in phrase.split():
        words = words_of(part.rstrip("*")) or [part]
        found += words
        if part.endswith("*"):
            found[-1] += "*"
    return words_of(phrase) if not any(word.endswith("*") for word in found) else found


def _stands_at(words: Sequence[str], index: int, phrase: Sequence[str]) -> bool:
    if index + len(phrase) > len(words):
        return False
    return all(words[index + offset].startswith(wanted[:-1]) if wanted.endswith("*")
               else words[index + offset] == wanted for offset, wanted in enumerate(phrase))
