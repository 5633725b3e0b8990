"""Verdict and exit code follow from findings, open questions and the caller's policy alone."""

from __future__ import annotations

import pytest

from gpudoctor.examine import (
    EXIT_FINDINGS, EXIT_HEALTHY, EXIT_UNDECIDED, Policy, counts, every_finding, examine,
)
from gpudoctor.model import (
    Absent, Condition, Detect, Fact, Known, Operand, Rule, RuleDatabase, Scope, Severity, Snapshot, Unknown,
    Verdict,
)

LOOKED: dict[str, Fact] = {
    "match": Known(value=999, source="x"),
    "clear": Known(value=0, source="x"),
    "absent": Absent(source="x"),
    "blind": Unknown(reason="x"),
    "not asked": Unknown(reason="x", asked=False),
}


def database(severity: Severity) -> RuleDatabase:
    """Return one rule: cuInit failed."""
    condition = Condition(fact="cuda.init_code", op="differs", right=Operand(value=0))
    rule = Rule(
        id="GPD1",
        cause="c",
        severity=severity,
        scope=Scope.HOST,
        summary="s",
        since="1",
        title="t",
        page="p",
        path="p",
        detect=(Detect(name="d", when=(condition,)),),
    )
    return RuleDatabase(version="1", sha256="", rules=(rule,), tables={}, base=Snapshot(host={}))


@pytest.mark.parametrize(
    ("seen", "severity", "fail_on", "verdict", "exit_code"),
    [
        ("match", Severity.ERROR, Severity.ERROR, Verdict.FINDINGS, EXIT_FINDINGS),
        ("match", Severity.WARNING, Severity.ERROR, Verdict.FINDINGS, EXIT_HEALTHY),
        ("match", Severity.WARNING, Severity.WARNING, Verdict.FINDINGS, EXIT_FINDINGS),
        ("match", Severity.INFO, Severity.ERROR, Verdict.HEALTHY, EXIT_HEALTHY),
        ("match", Severity.INFO, Severity.INFO, Verdict.FINDINGS, EXIT_FINDINGS),
        ("match", Severity.BENIGN, Severity.INFO, Verdict.HEALTHY, EXIT_HEALTHY),
        ("clear", Severity.ERROR, Severity.ERROR, Verdict.HEALTHY, EXIT_HEALTHY),
        ("absent", Severity.ERROR, Severity.ERROR, Verdict.HEALTHY, EXIT_HEALTHY),
        ("blind", Severity.ERROR, Severity.ERROR, Verdict.UNDECIDED, EXIT_UNDECIDED),
        ("blind", Severity.WARNING, Severity.ERROR, Verdict.HEALTHY, EXIT_HEALTHY),
        ("blind", Severity.WARNING, Severity.WARNING, Verdict.UNDECIDED, EXIT_UNDECIDED),
        ("not asked", Severity.ERROR, Severity.ERROR, Verdict.HEALTHY, EXIT_HEALTHY),
    ],
)
def test_verdict_and_exit_code(
    seen: str, severity: Severity, fail_on: Severity, verdict: Verdict, exit_code: int
) -> None:
    """A row for each kind of answer: only what was asked and would have failed keeps the verdict open."""
    snapshot = Snapshot(host={"cuda.init_code": LOOKED[seen]})
    report = examine(snapshot, database(severity), Policy(fail_on=fail_on))
    assert (report.verdict, report.exit_code) == (verdict, exit_code)


def test_undecided_can_be_allowed() -> None:
    """The exit code changes; the verdict, which is the truth, does not."""
    snapshot = Snapshot(host={"cuda.init_code": LOOKED["blind"]})
    report = examine(snapshot, database(Severity.ERROR), Policy(allow_undecided=True))
    assert (report.verdict, report.exit_code) == (Verdict.UNDECIDED, EXIT_HEALTHY)
    assert counts(report.undecided[0], Severity.ERROR)


def test_report_is_of_the_given_facts() -> None:
    """The snapshot in the report has the facts that it was made of, and the derived ones."""
    report = examine(Snapshot(host={"cuda.init_code": LOOKED["match"]}), database(Severity.ERROR), Policy())
    assert report.snapshot.host["cuda.init_code"] == LOOKED["match"]
    works = report.snapshot.host["driver.works"]
    assert isinstance(works, Known)
    assert works.value is False
    assert [finding.rule for finding in every_finding(report.findings)] == ["GPD1"]
