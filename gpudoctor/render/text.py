"""The report for a person: one line per area, then causes with their evidence, fixes and consequences.

Colour only repeats what the words say. Commands are never broken over lines, so that they can be copied.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import replace

from gpudoctor.derive.view import as_records, text_in
from gpudoctor.examine import counts
from gpudoctor.model import (
    Facts, Finding, Known, Record, Remedy, Report, Severity, Snapshot, Undecided, Unknown, Verdict,
)
from gpudoctor.render import areas, told
from gpudoctor.render.plain import REDACTED, counted_words, printable
from gpudoctor.render.sheet import LABEL_WIDTH, Sheet

COLOURS = {
    Severity.ERROR: "bold red", Severity.WARNING: "bold yellow",
    Severity.INFO: "bold", Severity.BENIGN: "dim",
}
_PROVEN = {
    "model": "proven on what was seen", "tried": "tried in a child process",
    "unproven": "not proven: only a text was read",
}
_LONGEST = 4000  # characters of one thing said; nothing that a person reads is longer


def render(report: Report, *, width: int, colour: bool, verbose: bool = False) -> str:
    """Return the report as text; `width` in columns."""
    sheet = Sheet(width=width, colour=colour)
    _head(sheet, report)
    quoted: set[str] = set()
    ranks = told.ranks(report)
    for finding in report.findings:
        _finding(sheet, finding, quoted, ranks.get(finding.rule, ""))
    _undecided(sheet, report.undecided)
    if verbose:
        _details(sheet, report.snapshot)
    else:
        _failed_probes(sheet, report.snapshot)
    _foot(sheet, report)
    return sheet.text()


def _head(sheet: Sheet, report: Report) -> None:
    sheet.line((f"gpudoctor {report.tool_version}, rules {report.rules_version}", ""))
    if report.assumptions:
        sheet.line()
        said = f"{', '.join(report.assumptions)} (so what follows is not this machine as it is)"
        _row(sheet, "ASSUMED", printable(said, 600))
    if report.snapshot.redacted:
        sheet.line()
        _row(sheet, "REDACTED", REDACTED)
    sheet.line()
    if told.is_of_text(report.snapshot):
        for label, said in told.lines(report.snapshot):
            _row(sheet, label, said)
    if told.is_of_machine(report.snapshot):
        for label, said in areas.lines(report.snapshot):
            _row(sheet, label, said)


def _row(sheet: Sheet, label: str, said: str, indent: int = 2, width: int = LABEL_WIDTH) -> None:
    sheet.row(printable(label), printable(said, _LONGEST), indent, width)


def _finding(sheet: Sheet, finding: Finding, quoted: set[str], rank: str) -> None:
    """Print a finding; a line of a text that an earlier one (in `quoted`) showed is only pointed at."""
    sheet.line()
    likely = "" if finding.certainty.value == "certain" else f" (likely{rank})"
    sheet.line((f"{finding.severity.value.upper()}{likely}", COLOURS[finding.severity]),
               (f"  {finding.cause}", "bold"), (f"  [{printable(finding.subject)}]", ""))
    sheet.paragraph(printable(finding.message, 1200), 2)
    for evidence in finding.evidence:
        said = f"{evidence.fact} = {printable(evidence.saw, 200)}  ({printable(evidence.source, 160)})"
        _row(sheet, "seen", told.quoted(evidence, quoted) or said, indent=4, width=8)
    for number, fix in enumerate(finding.fixes):
        _fix(sheet, fix if number else replace(fix, title=_first(fix.title)))
    for ask in finding.asks:
        _row(sheet, "decide", printable(ask.question), indent=4, width=8)
        _command(sheet, ask.command)
        for answer, meaning in ask.answers.items():
            sheet.paragraph(f"{printable(answer)} -> {printable(meaning)}", 12)
    if finding.consequences and finding.severity is Severity.BENIGN:
        names = ", ".join(one.cause for one in finding.consequences)
        _row(sheet, "also", f"harmless: {names}", indent=4, width=8)
    elif finding.consequences:
        names = ", ".join(f"{c.cause} [{printable(c.subject)}]" for c in finding.consequences)
        _row(sheet, "follows", f"from it: {names}", indent=4, width=8)
    _row(sheet, "more", f"gpudoctor rules show {finding.rule}", indent=4, width=8)


def _first(title: str) -> str:
    """Return the title of a fix that no other one precedes: it is no "or" to anything."""
    rest = title.removeprefix("Or ")
    return title if rest == title else rest[:1].upper() + rest[1:]


def _fix(sheet: Sheet, fix: Remedy) -> None:
    proven = _PROVEN[fix.proven]
    _row(sheet, "fix", f"{printable(fix.title)} ({fix.risk}; {proven})", indent=4, width=8)
    for command in fix.commands:
        _command(sheet, command)
    for name, value in fix.env.items():
        _command(sheet, f"export {name}={shlex.quote(value)}")
    if fix.image:
        _command(sheet, fix.image)
    if fix.undo:
        _command(sheet, f"{fix.undo}    # to undo it")


def _command(sheet: Sheet, command: str) -> None:
    sheet.line((" " * 12 + printable(command, _LONGEST), "cyan"))


def _undecided(sheet: Sheet, undecided: Sequence[Undecided]) -> None:
    blind = [u for u in undecided if counts(u, Severity.WARNING)]
    if not blind:
        return
    sheet.line()
    sheet.line(("COULD NOT BE JUDGED", "bold"))
    reasons: dict[str, dict[str, None]] = {}
    for verdict in blind:
        if verdict.cause in told.OPEN:
            _open_question(sheet, verdict)
            continue
        why = "; ".join(dict.fromkeys(_root(reason.source) for reason in verdict.reasons))
        reasons.setdefault(why, {})[f"{verdict.cause} [{verdict.subject}]"] = None
    for why, causes in reasons.items():
        sheet.paragraph(printable(", ".join(causes), 1200), 2)
        _row(sheet, "because", printable(why, 600), indent=4, width=9)


def _open_question(sheet: Sheet, verdict: Undecided) -> None:
    """Print the lines of a text that nothing explains, or that are all it says, and what helps then."""
    sheet.paragraph(told.OPEN[verdict.cause], 2)
    for reason in verdict.reasons:
        _row(sheet, "line", told.quoted(reason, set()) or reason.saw, indent=4, width=8)
    _row(sheet, "helps", told.WHAT_HELPS, indent=4, width=8)


_CHAIN = re.compile(r"(?:[a-z_]+(?:\.[A-Za-z0-9_]+)+: )+")


def _root(reason: str) -> str:
    """Return what is at the bottom of a chain of facts that each rest on the next."""
    return _CHAIN.sub("", reason)


def _failed_probes(sheet: Sheet, snapshot: Snapshot) -> None:
    failed = [probe for probe in snapshot.probes if probe.outcome not in ("ok", "not-asked")]
    if failed:
        sheet.line()
        sheet.line(("PROBES THAT FAILED", "bold"))
    for probe in failed:
        _row(sheet, probe.probe, printable(f"{probe.outcome}, {probe.detail}", 600))


def _details(sheet: Sheet, snapshot: Snapshot) -> None:
    sheet.line()
    sheet.line(("PROBES", "bold"))
    for probe in snapshot.probes:
        detail = f", {probe.detail}" if probe.detail else ""
        said = f"{probe.outcome}, {probe.seconds * 1000:.0f} ms{detail}"
        _row(sheet, probe.probe, printable(said))
    if isinstance(snapshot.frameworks, Unknown):
        return
    for framework in snapshot.frameworks:
        _records(sheet, framework, "LOADER TRACE", "framework.libraries", "soname", _traced)
        _records(sheet, framework, "STAGES", "framework.stages", "stage", _staged)


def _records(sheet: Sheet, framework: Facts, title: str, fact: str, label: str,
             words: Callable[[Record], str]) -> None:
    """Print a row for each record of a fact, where there are any."""
    name, listed = framework.get("framework.name"), framework.get(fact)
    if not isinstance(listed, Known) or not isinstance(name, Known) or not listed.value:
        return
    sheet.line()
    sheet.line((f"{title} of {printable(str(name.value))}", "bold"))
    for record in as_records(listed.value):
        _row(sheet, printable(text_in(record, label)), printable(words(record)), width=24)


def _traced(library: Record) -> str:
    where, error = text_in(library, "path") or "nowhere", text_in(library, "error")
    return f"{where} ({text_in(library, 'why')})" + (f", {error}" if error else "")


def _staged(stage: Record) -> str:
    """Return how a stage ended, where its result lies, how far off it is, and how long it took."""
    card, device = text_in(stage, "card"), text_in(stage, "device")
    error, seconds = _figure(stage, "largest_error", "g"), _figure(stage, "seconds", ".2f")
    allowed = _figure(stage, "tolerance", "g")
    parts = [text_in(stage, "outcome"), f"for GPU {card}" if card else "",
             f"result on {device}" if device else "",
             f"off by {error} (allowed: {allowed})" if error and allowed else "",
             f"{seconds} s" if seconds else "", text_in(stage, "reason")]
    return ", ".join(part for part in parts if part)


def _figure(record: Record, name: str, form: str) -> str:
    """Return a number of a record as it is shown, "" where there is none."""
    value = record.get(name)
    return format(value, form) if isinstance(value, int | float) and not isinstance(value, bool) else ""


def _foot(sheet: Sheet, report: Report) -> None:
    sheet.line()
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
    sheet.paragraph(f"{verdict}{said}.", 0, "bold")


def _ran_stages(snapshot: Snapshot) -> bool:
    """Return whether a framework was given stages to run: then there is no greater depth."""
    frameworks = () if isinstance(snapshot.frameworks, Unknown) else snapshot.frameworks
    stages = [facts.get("framework.stages") for facts in frameworks]
    return any(record.get("outcome") != "skipped" for fact in stages if isinstance(fact, Known)
               for record in as_records(fact.value))


_NAMES = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note",
          Severity.BENIGN: "harmless sign"}


def _unproven(snapshot: Snapshot) -> bool:
    """Return whether the driver could not say of some card's result that it lies on the card."""
    cards = () if isinstance(snapshot.gpus, Unknown) else snapshot.gpus
    outcomes = [card.get("gpu.driver_kernel") for card in cards]
    return any(isinstance(outcome, Known) and outcome.value == "no-proof" for outcome in outcomes)
