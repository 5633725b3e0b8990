"""Which causes a text speaks for, and how strongly: noisy-or over the symptoms that it shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gpudoctor.engine import Subject, Truth, holds
from gpudoctor.explain.reading import Said
from gpudoctor.frozen import frozen
from gpudoctor.model import Suspect, SymptomPattern, Tables

OPPOSED = 0.1  # what is left of the score of a cause that a symptom speaks against


@frozen
class Candidate:
    """A cause with its score (0 to 1), and for each symptom that speaks for it the suspicion that counted.

    `opposed` are the symptoms that speak against it.
    """

    cause: str
    score: float
    suspicions: Mapping[str, Suspect]
    opposed: tuple[str, ...] = ()


def suspicions(symptom: SymptomPattern, subject: Subject, tables: Tables) -> dict[str, Suspect]:
    """Return for each cause of a symptom the heaviest entry whose conditions all hold."""
    found: dict[str, Suspect] = {}
    for suspect in symptom.suspects:
        known = found.get(suspect.cause)
        if known is not None and known.weight >= suspect.weight:
            continue
        if all(holds(condition, subject, tables).truth is Truth.TRUE for condition in suspect.when):
            found[suspect.cause] = suspect
    return found


def ranked(said: Sequence[Said], symptoms: Mapping[str, SymptomPattern], subject: Subject,
           tables: Tables) -> tuple[Candidate, ...]:
    """Return the causes that symptoms suspect, the best supported first."""
    shown = [symptoms[name] for name in dict.fromkeys(line.id for line in said)]
    by_cause: dict[str, dict[str, Suspect]] = {}
    for symptom in shown:
        for cause, suspect in suspicions(symptom, subject, tables).items():
            by_cause.setdefault(cause, {})[symptom.id] = suspect
    against: dict[str, list[str]] = {}
    for symptom in shown:
        for cause in symptom.against:
            against.setdefault(cause, []).append(symptom.id)
    candidates = [
        Candidate(cause=cause, suspicions=found, opposed=tuple(against.get(cause, ())),
                  score=_noisy_or(found) * (OPPOSED if cause in against else 1.0))
        for cause, found in by_cause.items()]
    return tuple(sorted(candidates, key=lambda candidate: -candidate.score))


def without_words(symptoms: Mapping[str, SymptomPattern], subject: Subject,
                  tables: Tables) -> tuple[Candidate, ...]:
    """Return the causes that stated facts alone are a reason for: those of symptoms without a pattern."""
    by_cause: dict[str, dict[str, Suspect]] = {}
    for symptom in symptoms.values():
        if not symptom.patterns:
            for cause, suspect in suspicions(symptom, subject, tables).items():
                by_cause.setdefault(cause, {})[symptom.id] = suspect
    found = [Candidate(cause=cause, suspicions=suspects, score=_noisy_or(suspects))
             for cause, suspects in by_cause.items()]
    return tuple(sorted(found, key=lambda candidate: -candidate.score))


def _noisy_or(found: Mapping[str, Suspect]) -> float:
    remaining = 1.0
    for suspect in found.values():
        remaining *= 1 - suspect.weight / 100
    return 1 - remaining
