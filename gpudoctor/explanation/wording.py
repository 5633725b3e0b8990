"""Lines as they were meant: what a console broke is joined, what people typed by hand has one spelling.

Programs print their messages in one wording, and patterns are held against that. Who retells a message, or
says in words what happened, writes capitals, apostrophes and articles as they come; and a console of Windows
breaks a long line wherever its window ends.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from gpudoctor import symptoms as patterns
from gpudoctor.explanation import entries
from gpudoctor.explanation.answers import Answered
from gpudoctor.model import SymptomPattern
from gpudoctor.symptoms import Hit

PEOPLE = "People"  # the program whose patterns are sentences
_NARROWEST, _WIDEST = 70, 160  # columns of a console
_BROKEN = 3  # so many lines that all end in one column were broken there
_LONGEST_JOINED = 1000
_LONGEST, _FIRST, _LAST = 300, 300, 100
_APOSTROPHES = str.maketrans({"\u2019": "'", "\u2018": "'", "\u00b4": "'", "*": " ", "_": " "})
_QUOTES = str.maketrans("", "", "`'\"\u00b4\u2018\u2019\u201c\u201d")
_HALVES = re.compile(r"\bcuda (?:driver|runtime|api) (?=error|failure)")
_FILLERS = re.compile(r"\b(?:the|my|an?|our|your|any|this|that|just|still|also|simply|always|even)\b ?")
_SPELLINGS = (
    (re.compile(r"\b(do|does|did|is|was|are|were|has|have|had|could|would|should) not\b"), r"\1n't"),
    (re.compile(r"\b(?:cannot|can not|cant)\b"), "can't"),
    (re.compile(r"\b(do|does|did|is|was|are|has|have|could)nt\b"), r"\1n't"),
    (re.compile(r"\bgpu'?s\b"), "gpu"),
    (re.compile(r"\b(?:graphics? card|video card|gpu card)\b"), "gpu"),
)
_Make = Callable[[], Sequence[SymptomPattern]]
_forms: dict[str, tuple[Sequence[SymptomPattern], Sequence[SymptomPattern]]] = {}


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


def retold(
    lines: Sequence[str], symptoms: Sequence[SymptomPattern], *, of_people_alone: bool,
) -> Iterator[tuple[Hit, Answered]]:
    """Yield the symptoms that lines show when nobody minds how they are spelt; programs' only if asked for.

    A program's own line stays what it is: "UNKNOWN ERROR (34)" is another message than "unknown error".
    """
    numbered = [(number, line) for number, line in enumerate(lines, start=1) if 0 < len(line) <= _LONGEST]
    if len(numbered) > _FIRST + _LAST:
        numbered = numbered[:_FIRST] + numbered[-_LAST:]
    found = [*patterns.read(["" if entries.is_heading(line) else plain(line) for _, line in numbered],
                            _spoken(symptoms))]
    if not of_people_alone:
        own = {hit.line for hit in patterns.read([line for _, line in numbered], symptoms)}
        folded_lines = [folded(line) for _, line in numbered]
        found += [hit for hit in patterns.read(folded_lines, _printed(symptoms)) if hit.line not in own]
    for hit in found:
        number, line = numbered[hit.line - 1]
        yield hit, Answered(text=line, line=number)


def folded(words: str) -> str:
    """Return a message without capitals, quotation marks and accents: Markdown and keyboards change them.

    Which half of CUDA an error is of is left out: its words are the same.
    """
    found = _HALVES.sub("cuda ", words.translate(_QUOTES).lower())
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


def _spoken(symptoms: Sequence[SymptomPattern]) -> Sequence[SymptomPattern]:
    """Return people's symptoms, with their patterns spelt as `plain` spells lines."""
    return _latest("spoken", symptoms, lambda: [
        replace(one, patterns=one.spoken or spoken_patterns(one), stems=())
        for one in symptoms if one.patterns and one.program == PEOPLE])


def _printed(symptoms: Sequence[SymptomPattern]) -> Sequence[SymptomPattern]:
    """Return programs' symptoms, with their patterns spelt as `folded` spells lines."""
    return _latest("printed", symptoms, lambda: [
        replace(one, patterns=_spelt(one, folded), stems=())
        for one in symptoms if one.patterns and one.program != PEOPLE])


def _latest(form: str, symptoms: Sequence[SymptomPattern], made: _Make) -> Sequence[SymptomPattern]:
    """Return one form of these symptoms, made once as long as the same ones are asked for."""
    known = _forms.get(form)
    if known is None or known[0] is not symptoms:
        known = _forms[form] = (symptoms, tuple(made()))
    return known[1]


def spoken_patterns(symptom: SymptomPattern) -> tuple[str, ...]:
    """Return the patterns of a symptom of people's, spelt as `plain` spells lines."""
    return _spelt(symptom, _plain_pattern)


def _spelt(symptom: SymptomPattern, spelt: Callable[[str], str]) -> tuple[str, ...]:
    """Return patterns in another spelling; what that leaves too short to look for stays as it was."""
    forms = ((pattern, spelt(pattern)) for pattern in symptom.patterns)
    return tuple(dict.fromkeys(form if _is_long_enough(form) else pattern for pattern, form in forms))


def _is_long_enough(pattern: str) -> bool:
    """Say whether a pattern has a literal part that is worth looking for."""
    literal = patterns.anchor_of(pattern) if "{" in pattern else pattern
    return len(literal) >= patterns.MINIMUM_LITERAL


def _plain_pattern(pattern: str) -> str:
    """Return a pattern as `plain` would spell its lines; holes and the spaces at its ends stay."""
    spelt = plain(pattern.replace("_", "\0")).replace("\0", "_")
    begins, ends = pattern[:1].isspace(), pattern[-1:].isspace()
    return f"{' ' if begins else ''}{spelt.strip()}{' ' if ends else ''}"
