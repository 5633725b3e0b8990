"""Messages that a line names and does not say: "no Xid in dmesg", "the error is gone", `if '...' in log`."""

from __future__ import annotations

import re
from dataclasses import replace

from gpudoctor import symptoms as patterns
from gpudoctor.explanation import subjects
from gpudoctor.explanation.reading import Reading, Said
from gpudoctor.lazily import Pattern
from gpudoctor.model import RuleDatabase, SymptomPattern

_BEFORE = re.compile(
    r"(?:\b(?:shows?|is|are|was|were|have|has|had|got|get|see|saw|,|and|with) (?:no|not any|neither|never)|"
    r"\bwithout (?:a|an|any|the)|\bno longer (?:a|an|any|the|get|see)) ['\"`]?(?:\w{1,20}:? )?\Z|"
    r"^\s{0,8}(?:fix|fixes|fixed) (?:\w{1,20}:? ){0,4}\Z",
    re.IGNORECASE)
_BEHIND = re.compile(
    r"(?:[^'\"`]{0,60}['\"`])?(?: (?:error|message|warning))? (?:is|are|was|has been) "
    r"(?:gone|fixed|solved|resolved)\b",
    re.IGNORECASE)
# A line of a program that would say so, as a traceback or a report quotes it.
_SOURCE = Pattern(
    r"\s{0,80}(?:(?:el)?if ['\"]|(?:log|logger|logging|warnings)\.\w{1,20}\(['\"])")
_FARTHEST = 60


def meant(reading: Reading, database: RuleDatabase) -> Reading:
    """Return a reading without the messages of a fault that their lines deny, or only quote.

    Nor are such lines read in another way: what is denied in them would be taken for said.
    """
    symptoms = subjects.by_id(database)
    other = [line for line in reading.said
             if not symptoms[line.id].benign and _is_denied(line, symptoms[line.id])
             and not _is_said_elsewhere(line, symptoms[line.id], reading)]
    if not other:
        return reading
    where = {line.source for line in other}
    return replace(
        reading, said=tuple(line for line in reading.said if line not in other),
        suspicious=tuple(line for line in reading.suspicious if line.source not in where),
        lines=tuple(line for line in reading.lines if line.source not in where))


def _is_said_elsewhere(denied: Said, symptom: SymptomPattern, reading: Reading) -> bool:
    """Say whether another line shows the same: of lines with the same words only the first was noted."""
    others = (replace(denied, text=line.text) for line in reading.lines if line.source != denied.source)
    return any(patterns.shown(pattern, other.text, symptom) is not None and not _is_denied(other, symptom)
               for other in others for pattern in symptom.patterns)


def is_source(line: str) -> bool:
    """Say whether a line is of a program's own text, which says something once it is run."""
    return _SOURCE.match(line) is not None


def _is_denied(line: Said, symptom: SymptomPattern) -> bool:
    if is_source(line.text):
        return True
    for pattern in symptom.patterns:
        if patterns.shown(pattern, line.text, symptom) is not None:
            literals = [literal for literal, _ in patterns.parts(pattern) if literal]
            begin, last = line.text.find(literals[0]), line.text.rfind(literals[-1])
            return bool(_BEFORE.search(line.text[max(begin - _FARTHEST, 0):begin])
                        or _BEHIND.match(line.text[last + len(literals[-1]):]))
    return False
