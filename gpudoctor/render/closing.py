"""What a report comes to, in one sentence: the same in every format."""

from __future__ import annotations

from gpudoctor.derive.view import as_records
from gpudoctor.model import Known, Report, Severity, Snapshot, Unknown, Verdict
from gpudoctor.render import told
from gpudoctor.render.plain import counted_words

_NAMES = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note",
          Severity.BENIGN: "harmless sign"}


def words(report: Report) -> str:
    """Return what a report comes to, in one sentence."""
    counted = [counted_words(number, _NAMES[severity]) for severity in Severity
               if (number := sum(f.severity is severity for f in report.findings))]
    not_asked = len({u.rule for u in report.undecided if not u.asked})
    if not_asked:
        why = ("not asked of a machine that is partly assumed" if report.assumptions else
               "not reached" if _ran_stages(report.snapshot) else "not asked at this depth")
        counted.append(f"{counted_words(not_asked, 'question')} {why}")
    verdict = {Verdict.HEALTHY: "Healthy", Verdict.FINDINGS: "Not healthy",
               Verdict.UNDECIDED: "Undecided: something that matters could not be seen"}[report.verdict]
    if report.verdict is Verdict.HEALTHY and report.snapshot.frameworks == ():
        verdict = "The machine is healthy; no framework was examined"
    if _unproven(report.snapshot):
        counted.append("the checked kernel's result is right, but nothing proves that a GPU computed it")
    said = f" ({', '.join(counted)})" if counted else ""
    if told.is_of_text(report.snapshot):
        verdict = told.last_words(report)
    return f"{verdict}{said}."


def next_step(report: Report, recommending: str) -> str:
    """Return the command to go on with where a healthy machine with cards has nothing yet that uses them.

    "" anywhere else; into an image this machine's environment is not installed. `recommending` is that
    command for the same machine.
    """
    snapshot = report.snapshot
    has_cards = not isinstance(snapshot.gpus, Unknown) and bool(snapshot.gpus)
    is_image = isinstance(snapshot.host.get("image.reference"), Known)
    is_bare = report.verdict is Verdict.HEALTHY and snapshot.frameworks == () and has_cards
    return f"{recommending}    # what to install" if recommending and is_bare and not is_image else ""


def _ran_stages(snapshot: Snapshot) -> bool:
    """Return whether a framework was given stages to run: then there is no greater depth."""
    frameworks = () if isinstance(snapshot.frameworks, Unknown) else snapshot.frameworks
    stages = [facts.get("framework.stages") for facts in frameworks]
    return any(record.get("outcome") != "skipped" for fact in stages if isinstance(fact, Known)
               for record in as_records(fact.value))


def _unproven(snapshot: Snapshot) -> bool:
    """Return whether the driver could not say of some card's result that it lies on the card."""
    cards = () if isinstance(snapshot.gpus, Unknown) else snapshot.gpus
    outcomes = [card.get("gpu.driver_kernel") for card in cards]
    return any(isinstance(outcome, Known) and outcome.value == "no-proof" for outcome in outcomes)
