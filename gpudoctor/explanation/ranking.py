"""Which causes a text speaks for, and how strongly: noisy-or over the symptoms that it shows."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from gpudoctor.engine import Truth, all_hold
from gpudoctor.explanation.bound import as_there, causes_elsewhere
from gpudoctor.explanation.reading import Said
from gpudoctor.frozen import frozen
from gpudoctor.model import Rule, Scope, Subject, Suspect, SymptomPattern, Tables
from gpudoctor.symptom_index import ById

OPPOSED = 0.1  # what is left of the score of a cause that a symptom speaks against


@frozen
class Candidate:
    """A cause with its score (0 to 1), and for each symptom that speaks for it the suspicion that counted.

    `opposed` are the symptoms that speak against it, `refuted` what the text states against it.
    """

    cause: str
    score: float
    suspicions: Mapping[str, Suspect]
    opposed: tuple[str, ...] = ()
    refuted: tuple[Suspect, ...] = ()

    def score_of(self, symptoms: Collection[str]) -> float:
        """Return the score that these symptoms alone give: no other message says how they are meant."""
        found = {name: suspect for name, suspect in self.suspicions.items() if name in symptoms}
        return min(self.score, _score(found, is_opposed=bool(self.opposed or self.refuted)))


def _suspicions(symptoms: Iterable[SymptomPattern], subject: Subject, tables: Tables
                ) -> dict[str, dict[str, Suspect]]:
    """Return for each cause that the stated place can have, by symptom, the heaviest entry that holds."""
    elsewhere = causes_elsewhere(subject, tables)
    found: dict[str, dict[str, Suspect]] = {}
    for symptom in symptoms:
        for suspect in symptom.suspects:
            known = found.get(suspect.cause, {}).get(symptom.id)
            if suspect.cause in elsewhere or suspect.weight <= (known.weight if known is not None else 0):
                continue
            if all_hold(suspect.when, subject, tables).truth is Truth.TRUE:
                found.setdefault(suspect.cause, {})[symptom.id] = suspect
    return as_there(found, subject, tables)


def _refuted(symptoms: ById, subject: Subject, tables: Tables) -> dict[str, list[Suspect]]:
    """Return what is stated against causes: such facts are not seen where the cause is."""
    found: dict[str, list[Suspect]] = {}
    every_one = (suspect for symptom in symptoms.without_patterns() for suspect in symptom.suspects)
    for suspect in every_one:
        if suspect.refutes and all_hold(suspect.when, subject, tables).truth is Truth.TRUE:
            found.setdefault(suspect.cause, []).append(suspect)
    return found


def ranked(said: Sequence[Said], symptoms: ById, subject: Subject, tables: Tables,
           rules: Mapping[str, Rule]) -> tuple[Candidate, ...]:
    """Return the causes that symptoms suspect, the best supported first.

    Of a line that only resembles a symptom, weights count as far as it does, and it speaks against nothing.
    """
    likeness: dict[str, float] = {}
    for line in said:
        likeness[line.id] = max(line.likeness, likeness.get(line.id, 0.0))
    by_cause = {
        cause: {name: suspect if likeness[name] == 1.0 else
                replace(suspect, weight=round(suspect.weight * likeness[name]))
                for name, suspect in found.items()}
        for cause, found in _suspicions((symptoms[name] for name in likeness), subject, tables).items()}
    shown = [symptoms[name] for name, how_far in likeness.items() if how_far == 1.0]
    return _weighed(by_cause, shown, symptoms, rules, _refuted(symptoms, subject, tables))


def without_words(said: Sequence[Said], symptoms: ById, subject: Subject,
                  tables: Tables, rules: Mapping[str, Rule]) -> tuple[Candidate, ...]:
    """Return the causes that stated facts alone are a reason for: those of symptoms without a pattern.

    A line that speaks against a cause speaks against it whatever is stated: who lists a card has one.
    """
    shown = [symptoms[name] for name in dict.fromkeys(line.id for line in said)]
    return _weighed(_suspicions(symptoms.without_patterns(), subject, tables), shown, symptoms, rules,
                    _refuted(symptoms, subject, tables))


def _weighed(by_cause: Mapping[str, Mapping[str, Suspect]], shown: Sequence[SymptomPattern],
             symptoms: Mapping[str, SymptomPattern], rules: Mapping[str, Rule],
             refuted: Mapping[str, Sequence[Suspect]]) -> tuple[Candidate, ...]:
    """Return candidates by their scores, with what shown symptoms and stated facts speak against them."""
    against: dict[str, list[SymptomPattern]] = {}
    for symptom in shown:
        for cause in symptom.against:
            against.setdefault(cause, []).append(symptom)
    candidates = []
    for cause, found in by_cause.items():
        opposing = against.get(cause, [])
        if cause in rules and rules[cause].scope in (Scope.FRAMEWORK, Scope.PAIR):
            suspected = {symptoms[name].framework for name in found}
            opposing = [one for one in opposing if _may_mean(one, suspected)]
        candidates.append(Candidate(
            cause=cause, suspicions=found, opposed=tuple(one.id for one in opposing),
            refuted=tuple(refuted.get(cause, ())),
            score=_score(found, is_opposed=bool(opposing or cause in refuted))))
    return tuple(sorted(candidates, key=lambda candidate: -candidate.score))


def _may_mean(opposing: SymptomPattern, suspected: Collection[str | None]) -> bool:
    """Say whether a message is of a suspected framework: that TensorFlow has CUDA says nothing of PyTorch."""
    return opposing.framework is None or None in suspected or opposing.framework in suspected


def _score(found: Mapping[str, Suspect], *, is_opposed: bool) -> float:
    """Return the score of suspicions: where the cause is opposed, whole only of those that hold anyway."""
    if not is_opposed:
        return _noisy_or(found)
    outright = {name: suspect for name, suspect in found.items() if suspect.anyway}
    others = {name: suspect for name, suspect in found.items() if not suspect.anyway}
    return 1 - (1 - _noisy_or(outright)) * (1 - OPPOSED * _noisy_or(others))


def _noisy_or(found: Mapping[str, Suspect]) -> float:
    remaining = 1.0
    for suspect in found.values():
        remaining *= 1 - suspect.weight / 100
    return 1 - remaining
