"""Lines as they were meant: what a console broke is joined, what people typed by hand has one spelling.

Programs print their messages in one wording, and patterns are held against that. Who retells a message, or
says in words what happened, writes capitals, apostrophes and articles as they come; and a console of Windows
breaks a long line wherever its window ends.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from gpudoctor import symptoms as patterns
from gpudoctor.explanation import entries
from gpudoctor.explanation.answers import Answered
from gpudoctor.model import SymptomPattern
from gpudoctor.pattern_forms import PEOPLE, folded, plain, spelt, spoken
from gpudoctor.symptom_index import of_program
from gpudoctor.symptoms import Hit

_NARROWEST, _WIDEST = 70, 160  # columns of a console
_BROKEN = 3  # so many lines that all end in one column were broken there
_LONGEST_JOINED = 1000
_LONGEST, _FIRST, _LAST = 300, 300, 100
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


def _spoken(symptoms: Sequence[SymptomPattern]) -> Sequence[SymptomPattern]:
    """Return people's symptoms, with their patterns spelt as `plain` spells lines."""
    return _latest("spoken", symptoms, lambda: [
        replace(one, patterns=one.spoken or spoken(one.patterns))
        for one in of_program(symptoms, PEOPLE) if one.patterns])


def _printed(symptoms: Sequence[SymptomPattern]) -> Sequence[SymptomPattern]:
    """Return programs' symptoms, with their patterns spelt as `folded` spells lines."""
    return _latest("printed", symptoms, lambda: [
        replace(one, patterns=spelt(one.patterns, folded))
        for one in symptoms if one.patterns and one.program != PEOPLE])


def _latest(form: str, symptoms: Sequence[SymptomPattern], made: _Make) -> Sequence[SymptomPattern]:
    """Return one form of these symptoms, made once as long as the same ones are asked for."""
    known = _forms.get(form)
    if known is None or known[0] is not symptoms:
        known = _forms[form] = (symptoms, tuple(made()))
    return known[1]
