"""Phrases of other languages in the English words that things and troubles are looked for in.

No grammar: a phrase that says what is wrong, or names a part, becomes its English one; other words in
letters that English has not stand for so many words that say nothing. Chinese, Japanese and Korean have no
spaces to go by; elsewhere a phrase begins where a word begins, and a star at its end stands for any ending
of its last word.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from gpudoctor.model import Row
from gpudoctor.unfamiliar.words import LONGEST

_OPENING = 2  # letters by which phrases are found
_EAST_ASIAN = "\u1100-\u11ff\u3040-\u30ff\u4e00-\u9fff"  # Korean letters taken apart, kana, Han
_BETWEEN_SCRIPTS = re.compile(f"(?<=[{_EAST_ASIAN}]) +| +(?=[{_EAST_ASIAN}])")
_OTHER_LETTERS = re.compile(r"[^\W0-9_a-z]+")
_SAYS_NOTHING = "qq"
_LETTERS_A_WORD = 2  # of Chinese and its neighbours
_APOSTROPHES = str.maketrans({"\u2019": "'", "\u00b4": "'"})


class Languages:
    """The phrases of the table `spoken_languages`, by their first letters, the longest first."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self._phrases: dict[str, list[tuple[str, str]]] = {}
        for row in rows:
            phrases = row["phrases"]
            for phrase in phrases if isinstance(phrases, tuple) else ():
                spelt = _spelt(str(phrase))
                self._phrases.setdefault(spelt[:_OPENING], []).append((spelt, str(row["says"])))
        for known in self._phrases.values():
            known.sort(key=lambda one: -len(one[0]))

    def in_english(self, line: str) -> str:
        """Return the line with its phrases in English; the very line where it has none."""
        spelt = _spelt(line[:LONGEST])
        found: list[str] = []
        place, written = 0, 0
        while place < len(spelt):
            match = self._phrase_at(spelt, place)
            if match is None:
                place += 1
                continue
            end, says = match
            found += (spelt[written:place], f" {says.lower()} ")
            place = written = end
        if not found:
            return line
        return _OTHER_LETTERS.sub(_words_that_say_nothing, "".join((*found, spelt[written:])))

    def _phrase_at(self, line: str, place: int) -> tuple[int, str] | None:
        """Return where the longest phrase ends that begins here, and what it says."""
        for phrase, says in self._phrases.get(line[place:place + _OPENING], ()):
            wanted = phrase.removesuffix("*")
            if not line.startswith(wanted, place):
                continue
            end = place + len(wanted)
            if _is_unspaced(wanted):
                return end, says
            if place and line[place - 1].isalnum():
                continue
            if phrase.endswith("*"):
                return _word_end(line, end), says
            if end == len(line) or not line[end].isalpha() or _is_unspaced(line[end]):
                return end, says
        return None


def _spelt(text: str) -> str:
    """Return small letters without accents, and no spaces beside letters that are written without them."""
    apart = unicodedata.normalize("NFKD", text.translate(_APOSTROPHES).casefold())
    plain = "".join(letter for letter in apart if not unicodedata.combining(letter))
    return _BETWEEN_SCRIPTS.sub("", plain)


def _words_that_say_nothing(letters: re.Match[str]) -> str:
    """Return as many of them as the letters have words, for a thing and a trouble to be as far apart."""
    is_word = not _is_unspaced(letters[0])
    return f" {_SAYS_NOTHING}" * (1 if is_word else -(-len(letters[0]) // _LETTERS_A_WORD)) + " "


def _is_unspaced(letters: str) -> bool:
    return re.search(f"[{_EAST_ASIAN}]", letters) is not None


def _word_end(line: str, place: int) -> int:
    while place < len(line) and line[place].isalpha():
        place += 1
    return place
