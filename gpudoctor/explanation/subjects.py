"""The subject that a text is about: every fact that it states or shows, in one place for all conditions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from gpudoctor import derive
from gpudoctor.explanation import relations, shown
from gpudoctor.explanation.asked_packages import WithAsked
from gpudoctor.explanation.reading import Reading
from gpudoctor.explanation.supposed import supposed
from gpudoctor.model import Fact, RuleDatabase, Scope, Snapshot, Subject, Subjects, Unknown
from gpudoctor.symptom_index import ById

_NOT_SAID = Unknown(reason="the text does not say it", asked=False)
_NOT_LISTED = Unknown(reason="the text does not list them", asked=False)


def by_id(database: RuleDatabase) -> ById:
    """Return the symptoms by their ids."""
    return ById(database.symptoms)


def text_facts(reading: Reading, database: RuleDatabase) -> dict[str, Fact]:
    """Return every `text.*` fact of a reading."""
    found = shown.facts(reading.said, reading.text, by_id(database), database.tables)
    return {**found, **relations.relations({**reading.host, **found}, database.tables)}


def told_snapshot(reading: Reading, facts: Mapping[str, Fact], machine: Snapshot | None) -> Snapshot:
    """Return what the text says as a snapshot; what it does not list is unknown, never empty.

    Beside a machine the text only adds its `text.*` facts: what was seen outweighs what is told.
    """
    if machine is not None:
        return replace(machine, host={**machine.host, **facts})
    return Snapshot(
        host={**reading.host, **facts}, probes=(),
        gpus=reading.gpus if reading.gpus is not None else _NOT_LISTED,
        frameworks=reading.frameworks if reading.frameworks is not None else _NOT_LISTED)


def whole_subject(subjects: Subjects) -> Subject:
    """Return one subject that sees the facts of the host, of the first card and of the first framework."""
    widest = next(subjects[scope][0] for scope in (Scope.PAIR, Scope.FRAMEWORK, Scope.GPU, Scope.HOST)
                  if subjects[scope])
    return Subject(name="text", facts=widest.facts, missing=_NOT_SAID)


def supposed_subject(snapshot: Snapshot, database: RuleDatabase) -> Subject:
    """Return the subject by which the words of fixes are filled in.

    What pip is to be told follows from a machine; where the text states too little of one, its messages say.
    """
    subject = whole_subject(derive.subjects(supposed(snapshot, database.tables), database))
    return replace(subject, facts=WithAsked(subject.facts, database.tables))
