"""Texts that complain and state nothing ("my GPU does not work"): what to ask of them, and no more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gpudoctor.derive.view import as_texts
from gpudoctor.explanation.ranking import Candidate
from gpudoctor.explanation.reading import Said
from gpudoctor.model import Ask, Facts, Known, SymptomPattern, Tables, rows_of
from gpudoctor.pattern_forms import PEOPLE

TABLE = "first_questions"
# Of a hundred texts with the message: below it the first candidate is wrong two times out of three.
_ENOUGH = 0.35
_OF_THE_COMPLAINT = ("text.symptoms", "text.framework", "text.frameworks")


def is_bare(said: Sequence[Said], faults: Sequence[Candidate], symptoms: Mapping[str, SymptomPattern],
            facts: Facts) -> bool:
    """Say whether only people speak for these faults, state nothing, and do no more than complain.

    Which framework it is of, every complaint may say. A line whose wording is only guessed at is people's
    where it may mean what people say; else some program's.
    """
    best = max((fault.score for fault in faults), default=0.0)
    if not 0 < best < _ENOUGH or any(isinstance(fact, Known) and fact.value not in ((), "")
                                     for name, fact in facts.items() if name not in _OF_THE_COMPLAINT):
        return False
    reasons = {name for fault in faults for name in fault.suspicions}
    of_people = {line.source for line in said if symptoms[line.id].program == PEOPLE}
    return all(symptoms[line.id].program == PEOPLE or (line.likeness < 1.0 and line.source in of_people)
               for line in said if line.id in reasons)


def question(framework: object, tables: Tables) -> tuple[Ask, ...]:
    """Return the one question whose answer tells the causes apart: of the framework that is named, if any."""
    rows = {row["about"]: row for row in rows_of(tables, TABLE)}
    row = rows.get(str(framework)) or rows.get("")
    if row is None:
        return ()
    answers = (answer.partition(" -> ") for answer in as_texts(row["answers"]))
    return (Ask(question=str(row["question"]), command=str(row["command"]),
                answers={answer: meaning for answer, _, meaning in answers}),)
