"""Lines as they were meant: what a console broke is joined, what people typed by hand has one spelling.

Programs print their messages in one wording, and patterns are held against that. Who retells a message, or
says in words what happened, writes capitals, apostrophes and articles as they come; and a console of Windows
breaks a long line wherever its window ends.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from gpudoctor import symptoms as patterns
from gpudoctor.explain.answers import Answered
from gpudoctor.model import SymptomPattern
from gpudoctor.symptoms import Hit

PEOPLE = "People"  # the program whose patterns are sentences
_NARROWEST, _WIDEST = 70, 160  # columns of a console
_BROKEN = 3  # so many lines that all end in one column were broken there
_LONGEST_JOINED = 1000
_LONGEST, _FIRST, _LAST = 300, 300, 100
_APOSTROPHES = str.maketrans({"\u2019": "'", "\u2018": "'", "\u00b4": "'", "*": " ", "_": " "})
_FILLERS = re.compile(r"\b(?:the|my|an?|our|your|any|this|that|just|still|also|simply|always|even)\b ?")
_SPELLINGS = (
    (re.compile(r"\b(do|does|did|is|was|are|were|has|have|had|could|would|should) not\b"), r"\1n't"),
    (re.compile(r"\b(?:cannot|can not|cant)\b"), "can't"),
    (re.compile(r"\b(do|does|did|is|was|are|has|have|could)nt\b"), r"\1n't"),
    (re.compile(r"\bgpu'?s\b"), "gpu"),
    (re.compile(r"\b(?:graphics? card|video card|gpu card)\b"), "gpu"),
)
_Forms = tuple[Sequence[SymptomPattern], Sequence[SymptomPattern]]
_latest: list[tuple[Sequence[SymptomPattern], _Forms]] = []


def joined(lines: Sequence[str]) -> Iterator[Answered]:
    """Yield the lines that a console broke at its right edge, each whole again."""
    lengths = Counter(len(line) for line in lines if _NARROWEST <= len(line) <= _WIDEST)
    widths = {length for length, count in lengths.items() if count >= _BROKEN}
    start: int | None = None
    for index, line in enumerate(lines):
        if len(line) in widths and (start is None or len(line) == len(lines[start])):
            start = index if start is None else start
            continue
        if start is not None:
            yield Answered(text="".join(lines[start:index + 1])[:_LONGEST_JOINED], line=start + 1)
            start = index if len(line) in widths else None


def retold(lines: Sequence[str], symptoms: Sequence[SymptomPattern]) -> Iterator[tuple[Hit, Answered]]:
    """Yield the symptoms that lines show when nobody minds how they are spelt.

    A program's own line stays what it is: "UNKNOWN ERROR (34)" is another message than "unknown error".
    """
    numbered = [(number, line) for number, line in enumerate(lines, start=1) if 0 < len(line) <= _LONGEST]
    if len(numbered) > _FIRST + _LAST:
        numbered = numbered[:_FIRST] + numbered[-_LAST:]
    spoken, printed = _forms(symptoms)
    own = {hit.line for hit in patterns.read([line for _, line in numbered], symptoms)}
    for known, spelt, others in ((spoken, plain, frozenset()), (printed, str.lower, own)):
        for hit in patterns.read([spelt(line) for _, line in numbered], known):
            if hit.line not in others:
                number, line = numbered[hit.line - 1]
                yield hit, Answered(text=line, line=number)


def plain(words: str) -> str:
    """Return a sentence in one spelling: small letters, "doesn't" for "does not", no articles."""
    found = " ".join(words.translate(_APOSTROPHES).lower().split())
    for written, meant in _SPELLINGS:
        found = written.sub(meant, found)
    return _FILLERS.sub("", found)


def _forms(symptoms: Sequence[SymptomPattern]) -> _Forms:
    """Return the symptoms of people and those of programs, with their patterns spelt as lines will be."""
    if not _latest or _latest[0][0] is not symptoms:
        with_words = [symptom for symptom in symptoms if symptom.patterns]
        spoken = tuple(_spelt(one, plain=True) for one in with_words if one.program == PEOPLE)
        printed = tuple(_spelt(one, plain=False) for one in with_words if one.program != PEOPLE)
        _latest[:] = [(symptoms, (spoken, printed))]
    return _latest[0][1]


def _spelt(symptom: SymptomPattern, *, plain: bool) -> SymptomPattern:
    spelt = _plain_pattern if plain else str.lower
    return replace(symptom, patterns=tuple(dict.fromkeys(spelt(pattern) for pattern in symptom.patterns)))


def _plain_pattern(pattern: str) -> str:
    """Return a pattern as `plain` would spell its lines; holes and the spaces at its ends stay."""
    spelt = plain(pattern.replace("_", "\0")).replace("\0", "_")
    begins, ends = pattern[:1].isspace(), pattern[-1:].isspace()
    return f"{' ' if begins else ''}{spelt.strip()}{' ' if ends else ''}"
