"""From a snapshot to a report: diagnose, decide the verdict and the exit code. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from gpudoctor import __version__, derive, remedy
from gpudoctor.derive.requirements import Requirement
from gpudoctor.frozen import frozen
from gpudoctor.model import Finding, Known, Report, RuleDatabase, Severity, Snapshot, Undecided, Verdict

EXIT_HEALTHY, EXIT_FINDINGS, EXIT_USAGE, EXIT_UNDECIDED, EXIT_INPUT, EXIT_BUG = range(6)


@frozen
class Policy:
    """What the caller calls a failure."""

    fail_on: Severity = Severity.ERROR
    allow_undecided: bool = False
    requirements: Sequence[Requirement] = ()


def examine(snapshot: Snapshot, database: RuleDatabase, policy: Policy,
            begin: Callable[[str], None] | None = None) -> Report:
    """Return the report on a snapshot; `begin` hears when fixes are proven, and when that is over."""
    begin = begin or (lambda _: None)
    snapshot = with_wishes(snapshot, database, policy)
    judgement = remedy.diagnose(snapshot, database, lambda: begin("proving fixes"))
    begin("judging")
    severities = [finding.severity for finding in every_finding(judgement.findings)]
    verdict, exit_code = conclude(
        severities, is_open=any(counts(u, policy.fail_on) for u in judgement.undecided), policy=policy)
    return Report(
        tool_version=__version__, rules_version=database.version, rules_sha256=database.sha256,
        verdict=verdict, exit_code=exit_code,
        findings=judgement.findings, undecided=judgement.undecided, assumptions=snapshot.assumed,
        snapshot=derive.complete(snapshot, database))


def with_wishes(snapshot: Snapshot, database: RuleDatabase, policy: Policy) -> Snapshot:
    """Return the snapshot with what is not seen on a machine: the caller's requirements, rules not taken."""
    wanted = Known(value=tuple(r.text for r in policy.requirements), source="--require")
    refused = Known(value=database.refused, source="packages of rules beside this gpudoctor")
    return replace(snapshot, host={**snapshot.host, "require.wanted": wanted, "rules.refused": refused})


def conclude(severities: Sequence[Severity], *, is_open: bool, policy: Policy) -> tuple[Verdict, int]:
    """Return verdict and exit code of findings this grave; `is_open`: what was undecided may be a failure."""
    if any(severity.rank <= policy.fail_on.rank for severity in severities):
        return Verdict.FINDINGS, EXIT_FINDINGS
    if is_open:
        return Verdict.UNDECIDED, EXIT_HEALTHY if policy.allow_undecided else EXIT_UNDECIDED
    faults = any(severity.is_fault for severity in severities)
    return Verdict.FINDINGS if faults else Verdict.HEALTHY, EXIT_HEALTHY


def every_finding(findings: Sequence[Finding]) -> Iterator[Finding]:
    """Yield findings and the consequences folded under them."""
    for finding in findings:
        yield finding
        yield from every_finding(finding.consequences)


def counts(undecided: Undecided, fail_on: Severity) -> bool:
    """Say whether an undecided rule keeps the verdict open: it was asked for, and would be a failure."""
    return undecided.asked and undecided.severity.rank <= fail_on.rank
