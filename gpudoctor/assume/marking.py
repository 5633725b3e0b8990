"""Say of a report on a machine that is partly assumed which of its evidence rests on an assumption. Pure.

Sources say what a machine answered ("cuInit returned 0"). Where it was assumed that it would, they have to
say that: a report is shown around.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gpudoctor import derive
from gpudoctor.model import Evidence, Finding, Known, Report, RuleDatabase, Snapshot, Subjects


def marked(report: Report, machine: Snapshot, assumptions: tuple[str, ...],
           database: RuleDatabase) -> Report:
    """Return the report on a machine with its assumptions named, also as the source of what follows."""
    subjects = derive.subjects(machine, database, derive.Supposed)
    return replace(
        report, assumptions=assumptions, snapshot=derive.complete(machine, database, derive.Supposed),
        findings=tuple(_finding(finding, subjects, database) for finding in report.findings))


def _finding(finding: Finding, subjects: Subjects, database: RuleDatabase) -> Finding:
    scope = next(rule.scope for rule in database.rules if rule.id == finding.rule)
    subject = next((one for one in subjects[scope] if one.name == finding.subject), None)
    evidence: Sequence[Evidence] = () if subject is None else [
        replace(one, source=fact.source) if isinstance(fact := subject.fact(one.fact), Known) else one
        for one in finding.evidence]
    return replace(finding, evidence=tuple(evidence), consequences=tuple(
        _finding(one, subjects, database) for one in finding.consequences))
