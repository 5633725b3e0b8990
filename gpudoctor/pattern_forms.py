"""What is made of the patterns of symptoms before texts are read: their stems, and people's in one spelling.

Lines are spelt by the same functions as the patterns that are held against them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import replace

from gpudoctor.model import SymptomPattern
from gpudoctor.symptoms import MINIMUM_LITERAL, anchor_of

PEOPLE = "People"  # the program whose patterns are sentences
STEM_CHARACTERS = 16
# Holes, and what JSON may write in another way: a stem without it is found in an envelope too.
_CUTS = re.compile(r"\{[^{}]*\}|[\"\\<>&'+/{}]|[^ -~]")
_SHORTEST_STEM = 5
_APOSTROPHES = str.maketrans({"\u2019": "'", "\u2018": "'", "\u00b4": "'", "*": " ", "_": " "})
_QUOTES = str.maketrans("", "", "`'\"\u00b4\u2018\u2019\u201c\u201d")
_COLUMNS = re.compile(r"(?<=:)[ \t]+")  # `name:    value`
_HALVES = re.compile(r"\bcuda (?:driver|runtime|api) (?=error|failure)")
_FILLERS = re.compile(r"\b(?:the|my|an?|our|your|any|this|that|just|still|also|simply|always|even)\b ?")
_SPELLINGS = (
    (re.compile(r"\b(do|does|did|is|was|are|were|has|have|had|could|would|should) not\b"), r"\1n't"),
    (re.compile(r"\b(?:cannot|can not|cant)\b"), "can't"),
    (re.compile(r"\b(do|does|did|is|was|are|has|have|could)nt\b"), r"\1n't"),
    (re.compile(r"\bgpu'?s\b"), "gpu"),
    (re.compile(r"\b(?:graphics? card|video card|gpu card)\b"), "gpu"),
)


def prepared(symptom: SymptomPattern) -> SymptomPattern:
    """Return a symptom with what reading a text would else have to make of its patterns each time."""
    return replace(symptom, spoken=spoken(symptom.patterns)) if symptom.program == PEOPLE else symptom


def stem_of(pattern: str) -> str:
    """Return a short part of a pattern without which no line can match it, be it in an envelope or not."""
    longest = max(_CUTS.split(pattern), key=len)
    return (longest if len(longest) >= _SHORTEST_STEM else anchor_of(pattern))[:STEM_CHARACTERS]


def folded(words: str) -> str:
    """Return a message without capitals, quotation marks, accents and columns, which change on the way.

    Which half of CUDA an error is of is left out: its words are the same.
    """
    found = _HALVES.sub("cuda ", _COLUMNS.sub(" ", words.translate(_QUOTES).lower()))
    return found if found.isascii() else _without_accents(found)


def _without_accents(words: str) -> str:
    apart = unicodedata.normalize("NFD", words)
    kept = "".join(letter for letter in apart if not unicodedata.combining(letter))
    return unicodedata.normalize("NFC", kept)


def plain(words: str) -> str:
    """Return a sentence in one spelling: small letters, "doesn't" for "does not", no articles."""
    found = " ".join(words.translate(_APOSTROPHES).lower().split())
    for written, meant in _SPELLINGS:
        found = written.sub(meant, found)
    return _FILLERS.sub("", found)


def spoken(patterns: Sequence[str]) -> tuple[str, ...]:
    """Return people's patterns, spelt as `plain` spells lines."""
    return spelt(patterns, _plain_pattern)


def spelt(patterns: Sequence[str], how: Callable[[str], str]) -> tuple[str, ...]:
    """Return patterns in another spelling; what that leaves too short to look for stays as it was."""
    forms = ((pattern, how(pattern)) for pattern in patterns)
    return tuple(dict.fromkeys(form if _is_long_enough(form) else pattern for pattern, form in forms))


def _is_long_enough(pattern: str) -> bool:
    """Say whether a pattern has a literal part that is worth looking for."""
    literal = anchor_of(pattern) if "{" in pattern else pattern
    return len(literal) >= MINIMUM_LITERAL


def _plain_pattern(pattern: str) -> str:
    """Return a pattern as `plain` would spell its lines; holes and the spaces at its ends stay."""
    found = plain(pattern.replace("_", "\0")).replace("\0", "_")
    begins, ends = pattern[:1].isspace(), pattern[-1:].isspace()
    return f"{' ' if begins else ''}{found.strip()}{' ' if ends else ''}"
