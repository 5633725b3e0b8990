"""The safe fixes that a candidate is given: those of the pages, proven by every rule."""

from __future__ import annotations

from collections.abc import Sequence

from gpudoctor import remedy
from gpudoctor.engine import Subject, Subjects, Truth, holds
from gpudoctor.frozen import frozen
from gpudoctor.model import Fact, Finding, Judgement, Known, Remedy, Rule, RuleDatabase, Snapshot

_KINDS = ("environment", "pip")


@frozen
class Cure:
    """A safe fix for an error that was found: where it stands on the rule's page, and what it changes."""

    finding: Finding
    place: int
    remedy: Remedy
    effect: dict[str, Fact]
    framework: str


def proven(errors: Sequence[Finding], found: Judgement, subjects: Subjects, snapshot: Snapshot,
            database: RuleDatabase) -> Cure | None:
    """Return the first safe fix that is proven by every rule, for the first error that has one."""
    for finding in errors:
        rule, subject = _where(finding, subjects, database)
        for place, fix in enumerate(rule.fix):
            if fix.risk != "safe" or fix.kind not in _KINDS or not all(
                    holds(condition, subject, database.tables).truth is Truth.TRUE for condition in fix.when):
                continue
            if remedy.prove(fix, subject, finding, found, snapshot, database) is not None:
                return _cure(finding, place, subjects, database)
    return None


def known(errors: Sequence[Finding], fixes: Sequence[tuple[str, int]], subjects: Subjects,
           database: RuleDatabase) -> Cure | None:
    """Return the fix that was proven next for a stack that is alike."""
    for rule, place in fixes[:1]:
        finding = next((error for error in errors if error.rule == rule), None)
        return None if finding is None else _cure(finding, place, subjects, database)
    return None


def _cure(finding: Finding, place: int, subjects: Subjects, database: RuleDatabase) -> Cure | None:
    rule, subject = _where(finding, subjects, database)
    concrete = remedy.concretise(rule.fix[place], subject)
    effect = remedy.resolve_effect(rule.fix[place].effect, subject, database)
    if concrete is None or effect is None:
        return None
    framework = subject.fact("framework.name")
    return Cure(finding=finding, place=place, remedy=concrete, effect=effect,
                framework=str(framework.value) if isinstance(framework, Known) else "")


def _where(finding: Finding, subjects: Subjects, database: RuleDatabase) -> tuple[Rule, Subject]:
    rule = next(rule for rule in database.rules if rule.id == finding.rule)
    return rule, next(s for s in subjects[rule.scope] if s.name == finding.subject)
