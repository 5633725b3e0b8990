"""What remains unexplained of a text: lines that speak of an error, and messages without a known cause."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from gpudoctor.explanation import entries
from gpudoctor.explanation.choosing import LEAST_SCORE
from gpudoctor.explanation.ranking import Candidate
from gpudoctor.explanation.reading import Reading, Said
from gpudoctor.model import Ask, Evidence, Finding, Severity, SymptomPattern, Undecided

UNKNOWN_MESSAGE = "unknown-message"
NO_FAULT = "no-fault-spoken-of"
OWN_FAULT = "fault-of-the-program"
COMPLAINT = "complaint-without-facts"
QUESTIONS = (UNKNOWN_MESSAGE, NO_FAULT, OWN_FAULT, COMPLAINT)
# What Python raises for the program's own text and values. A library raises the others, too.
_TEXT = "SyntaxError|IndentationError|TabError|NameError|UnboundLocalError"
_OF_ITS_TEXT = re.compile(rf"(?:{_TEXT})\b")  # whatever word they name is the program's
_OF_PYTHON = re.compile(
    rf"(?:{_TEXT}|KeyError|IndexError|ZeroDivisionError|TypeError|UnicodeDecodeError|UnicodeEncodeError|"
    r"FileNotFoundError|json\.decoder\.JSONDecodeError)\b")
_OF_A_GPU = re.compile(
    r"gpu|cuda|cudnn|nvidia|torch|tensor|keras|jax|xla|paddle|onnx|device|driver|\bdll\b|\.so\b")
_MOST_QUOTED = 6
_MOST_NEUTRAL = 3


def unexplained(reading: Reading, found: Sequence[Finding], symptoms: Mapping[str, SymptomPattern],
                outweighed: Collection[str], candidates: Sequence[Candidate], *, only_informs: bool
                ) -> tuple[Undecided, ...]:
    """Return the one open question of a text in which no fault was found, () where there is none.

    Where harmless lines are all that was found, it is open only if other lines speak of an error; not the
    consequences (`outweighed`) of what is more probably harmless, nor lines that only list what is there:
    such point at no cause that could be told, or at one that another line speaks against, and speak of no
    trouble. Lines that only inform close nothing.
    """
    if any(finding.severity is not Severity.BENIGN for finding in found):
        return ()
    pointing = {name for candidate in candidates if candidate.score >= LEAST_SCORE and not candidate.opposed
                for name in candidate.suspicions}
    known = [line for line in reading.said
             if not symptoms[line.id].benign and line.id not in outweighed
             and (line.id in pointing or line.is_trouble) and not entries.is_element(line.text)]
    harmless = _lines_of(found)
    reasons = [*_known_lines([line for line in known if line.source not in harmless], found),
               *_unknown_lines(reading)]
    if found and not reasons and not only_informs:
        return ()
    if reasons:
        own = not known and _is_of_the_program(reading)
        return (_open(OWN_FAULT if own else UNKNOWN_MESSAGE, reasons[:_MOST_QUOTED]),)
    neutral = _known_lines(_first_of_each(reading.said), found)
    return (_open(NO_FAULT, neutral[:_MOST_NEUTRAL]
                  or [Evidence(fact="text.symptoms", saw="", source="the whole text")]),)


def complaint(said: Sequence[Said], asks: tuple[Ask, ...]) -> Undecided:
    """Return the open question of a text that complains and states nothing, with what to ask first."""
    lines = _known_lines(list({line.source: line for line in reversed(said)}.values())[::-1], ())
    return replace(_open(COMPLAINT, lines[:_MOST_NEUTRAL]), asks=asks)


def _is_of_the_program(reading: Reading) -> bool:
    """Say whether Python's own errors are all that a text speaks of: no word of a GPU or its libraries."""
    return not any(_OF_A_GPU.search(line.text.lower()) for line in reading.lines
                   if not _OF_ITS_TEXT.match(line.text)) and all(
        _OF_PYTHON.match(line.text) for line in reading.suspicious)


def _open(cause: str, reasons: Sequence[Evidence]) -> Undecided:
    return Undecided(rule="", cause=cause, severity=Severity.ERROR, subject="text", reasons=tuple(reasons),
                     asked=True)


def _first_of_each(said: Sequence[Said]) -> list[Said]:
    return list({line.id: line for line in reversed(said)}.values())[::-1]


def _known_lines(known: Sequence[Said], found: Sequence[Finding]) -> list[Evidence]:
    """Return lines of messages for which nothing was found."""
    told = {evidence.source for finding in _each(found) for evidence in finding.evidence}
    return [Evidence(fact="text.symptoms", saw=line.text, source=f"{line.source}, {line.id}")
            for line in known if f"{line.source}, {line.id}" not in told]


def _lines_of(found: Collection[Finding]) -> set[str]:
    """Return where the lines stand that findings are seen in: what else such a line shows, it explains."""
    return {evidence.source.rpartition(", ")[0] for finding in _each(found) for evidence in finding.evidence}


def _each(found: Collection[Finding]) -> list[Finding]:
    return [one for finding in found for one in (finding, *finding.consequences)]


def _unknown_lines(reading: Reading) -> list[Evidence]:
    return [Evidence(fact="text.symptoms", saw=line.text,
                     source=f"{line.source}; {line.may_be}" if line.may_be else line.source)
            for line in reading.suspicious]
