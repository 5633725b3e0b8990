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
    failing = [f for f in every_finding(judgement.findings) if f.severity.rank <= policy.fail_on.rank]
    blind = [u for u in judgement.undecided if counts(u, policy.fail_on)]
    exit_code = EXIT_HEALTHY
    if failing:
        exit_code = EXIT_FINDINGS
    elif blind and not policy.allow_undecided:
        exit_code = EXIT_UNDECIDED
    return Report(
        tool_version=__version__, rules_version=database.version, rules_sha256=database.sha256,
        verdict=_verdict(judgement.findings, failing, blind), exit_code=exit_code,
        findings=judgement.findings, undecided=judgement.undecided,
        snapshot=derive.complete(snapshot, database))


def with_wishes(snapshot: Snapshot, database: RuleDatabase, policy: Policy) -> Snapshot:
    """Return the snapshot with what is not seen on a machine: the caller's requirements, rules not taken."""
    wanted = Known(value=tuple(r.text for r in policy.requirements), source="--require")
    refused = Known(value=database.refused, source="packages of rules beside this gpudoctor")
    return replace(snapshot, host={**snapshot.host, "require.wanted": wanted, "rules.refused": refused})


def _verdict(findings: Sequence[Finding], failing: Sequence[Finding],
             blind: Sequence[Undecided]) -> Verdict:
    if failing:
        return Verdict.FINDINGS
    if blind:
        return Verdict.UNDECIDED
    faults = any(f.severity in (Severity.ERROR, Severity.WARNING) for f in every_finding(findings))
    return Verdict.FINDINGS if faults else Verdict.HEALTHY


def every_finding(findings: Sequence[Finding]) -> Iterator[Finding]:
    """Yield findings and the consequences folded under them."""
    for finding in findings:
        yield finding
        yield from every_finding(finding.consequences)


def counts(undecided: Undecided, fail_on: Severity) -> bool:
    """Say whether an undecided rule keeps the verdict open: it was asked for, and would be a failure."""
    return undecided.asked and undecided.severity.rank <= fail_on.rank
