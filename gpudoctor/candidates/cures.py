"""The safe fixes that a candidate is given: those of the pages, proven by every rule."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpudoctor import remedy
from gpudoctor.engine import Truth, all_hold
from gpudoctor.frozen import frozen
from gpudoctor.model import (
    Fact, Finding, Judgement, Known, Remedy, Rule, RuleDatabase, Snapshot, Subject, Subjects,
)

_KINDS = ("environment", "pip")


@frozen
class Cure:
    """A safe fix for an error that was found: where it stands on the rule's page, and what it changes."""

    finding: Finding
    place: int
    remedy: Remedy
    effect: dict[str, Fact]
    framework: str


def is_curable(rule: Rule) -> bool:
    """Return whether a rule has a fix that a candidate may be given."""
    return any(fix.risk == "safe" and fix.kind in _KINDS for fix in rule.fix)


def proven(errors: Sequence[Finding], found: Judgement, subjects: Subjects, snapshot: Snapshot,
           database: RuleDatabase) -> Cure | None:
    """Return the first safe fix that is proven by every rule, for the first error that has one."""
    return next((cure for cure in possible(errors, subjects, database)
                 if is_proven(cure, found, subjects, snapshot, database)), None)


def is_proven(cure: Cure, found: Judgement, subjects: Subjects, snapshot: Snapshot,
              database: RuleDatabase) -> bool:
    """Return whether a fix clears its error and, by every rule, causes none that was not `found` before."""
    rule, subject = where(cure.finding, subjects, database)
    fix = rule.fix[cure.place]
    return remedy.prove(fix, subject, cure.finding, found, snapshot, database) is not None


def possible(errors: Sequence[Finding], subjects: Subjects, database: RuleDatabase) -> Iterator[Cure]:
    """Yield the safe fixes whose conditions hold, in the order in which they are tried."""
    for finding in errors:
        rule, subject = where(finding, subjects, database)
        for place, fix in enumerate(rule.fix):
            if fix.risk == "safe" and fix.kind in _KINDS and (
                    all_hold(fix.when, subject, database.tables).truth is Truth.TRUE):
                cure = _cure(finding, place, subjects, database)
                if cure is not None:
                    yield cure


def is_of_driver(finding: Finding, subjects: Subjects, database: RuleDatabase) -> bool:
    """Return whether a driver cures a finding: a fix of that kind, whose conditions do not fail here."""
    rule, subject = where(finding, subjects, database)
    return any(fix.kind == "driver" and all_hold(fix.when, subject, database.tables).truth is not Truth.FALSE
               for fix in rule.fix)


def known(errors: Sequence[Finding], fixes: Sequence[tuple[str, int]], subjects: Subjects,
           database: RuleDatabase) -> Cure | None:
    """Return the fix that was proven next for a stack that is alike."""
    for rule, place in fixes[:1]:
        finding = next((error for error in errors if error.rule == rule), None)
        return None if finding is None else _cure(finding, place, subjects, database)
    return None


def _cure(finding: Finding, place: int, subjects: Subjects, database: RuleDatabase) -> Cure | None:
    rule, subject = where(finding, subjects, database)
    concrete = remedy.concretise(rule.fix[place], subject)
    effect = remedy.resolve_effect(rule.fix[place].effect, subject, database)
    if concrete is None or effect is None:
        return None
    framework = subject.fact("framework.name")
    return Cure(finding=finding, place=place, remedy=concrete, effect=effect,
                framework=str(framework.value) if isinstance(framework, Known) else "")


def where(finding: Finding, subjects: Subjects, database: RuleDatabase) -> tuple[Rule, Subject]:
    """Return the rule that found something, and the subject that it was found of."""
    rule = next(rule for rule in database.rules if rule.id == finding.rule)
    return rule, next(s for s in subjects[rule.scope] if s.name == finding.subject)
