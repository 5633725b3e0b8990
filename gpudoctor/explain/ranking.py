"""Which causes a text speaks for, and how strongly: noisy-or over the symptoms that it shows."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

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

    def score_of(self, symptoms: Collection[str]) -> float:
        """Return the score that these symptoms alone give: no other message says how they are meant."""
        found = {name: suspect for name, suspect in self.suspicions.items() if name in symptoms}
        return min(self.score, _noisy_or(found) * (OPPOSED if self.opposed else 1.0))


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
    """Return the causes that symptoms suspect, the best supported first.

    Of a line that only resembles a symptom, weights count as far as it does, and it speaks against nothing.
    """
    likeness: dict[str, float] = {}
    for line in said:
        likeness[line.id] = max(line.likeness, likeness.get(line.id, 0.0))
    by_cause: dict[str, dict[str, Suspect]] = {}
    for name, how_far in likeness.items():
        for cause, suspect in suspicions(symptoms[name], subject, tables).items():
            counted = suspect if how_far == 1.0 else replace(suspect, weight=round(suspect.weight * how_far))
            by_cause.setdefault(cause, {})[name] = counted
    return _weighed(by_cause, [symptoms[name] for name, how_far in likeness.items() if how_far == 1.0])


def without_words(said: Sequence[Said], symptoms: Mapping[str, SymptomPattern], subject: Subject,
                  tables: Tables) -> tuple[Candidate, ...]:
    """Return the causes that stated facts alone are a reason for: those of symptoms without a pattern.

    A line that speaks against a cause speaks against it whatever is stated: who lists a card has one.
    """
    by_cause: dict[str, dict[str, Suspect]] = {}
    for symptom in symptoms.values():
        if not symptom.patterns:
            for cause, suspect in suspicions(symptom, subject, tables).items():
                by_cause.setdefault(cause, {})[symptom.id] = suspect
    return _weighed(by_cause, [symptoms[name] for name in dict.fromkeys(line.id for line in said)])


def _weighed(by_cause: Mapping[str, Mapping[str, Suspect]], shown: Sequence[SymptomPattern]
             ) -> tuple[Candidate, ...]:
    """Return candidates by their scores, with what the shown symptoms speak against them."""
    against: dict[str, list[str]] = {}
    for symptom in shown:
        for cause in symptom.against:
            against.setdefault(cause, []).append(symptom.id)
    candidates = [
        Candidate(cause=cause, suspicions=found, opposed=tuple(against.get(cause, ())),
                  score=_noisy_or(found) * (OPPOSED if cause in against else 1.0))
        for cause, found in by_cause.items()]
    return tuple(sorted(candidates, key=lambda candidate: -candidate.score))


def _noisy_or(found: Mapping[str, Suspect]) -> float:
    remaining = 1.0
    for suspect in found.values():
        remaining *= 1 - suspect.weight / 100
    return 1 - remaining
