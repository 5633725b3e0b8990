"""The report for a person: one line per area, then causes with their evidence, fixes and consequences.

Colour only repeats what the words say. Commands are never broken over lines, so that they can be copied.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import replace

from rich.console import Console
from rich.text import Text

from gpudoctor.derive.view import as_records, text_in
from gpudoctor.examine import counts
from gpudoctor.model import Finding, Known, Remedy, Report, Severity, Snapshot, Undecided, Unknown, Verdict
from gpudoctor.render import areas, told
from gpudoctor.render.page import COLOURS, Page, command_line, paragraph, row
from gpudoctor.render.plain import counted_words, printable

_PROVEN = {
    "model": "proven on what was seen", "tried": "tried in a child process",
    "unproven": "not proven: only a text was read",
}


def render(report: Report, *, width: int | None, colour: bool, verbose: bool = False) -> str:
    """Return the report as text; `width` in columns (None: as wide as the terminal)."""
    page = Page(width=width, colour=colour)
    console = page.console
    _head(console, report)
    quoted: set[str] = set()
    ranks = told.ranks(report)
    for finding in report.findings:
        _finding(console, finding, quoted, ranks.get(finding.rule, ""))
    _undecided(console, report.undecided)
    if verbose:
        _details(console, report.snapshot)
    else:
        _failed_probes(console, report.snapshot)
    _foot(console, report)
    return page.text()


def _head(console: Console, report: Report) -> None:
    console.print(Text(f"gpudoctor {report.tool_version}, rules {report.rules_version}"))
    if report.assumptions:
        console.print()
        said = f"{', '.join(report.assumptions)} (so what follows is not this machine as it is)"
        row(console, "ASSUMED", printable(said, 600))
    console.print()
    if told.is_of_text(report.snapshot):
        for label, said in told.lines(report.snapshot):
            row(console, label, said)
    if told.is_of_machine(report.snapshot):
        for label, said in areas.lines(report.snapshot):
            row(console, label, said)


def _finding(console: Console, finding: Finding, quoted: set[str], rank: str) -> None:
    """Print a finding; a line of a text that an earlier one (in `quoted`) showed is only pointed at."""
    console.print()
    likely = "" if finding.certainty.value == "certain" else f" (likely{rank})"
    title = Text(f"{finding.severity.value.upper()}{likely}", style=COLOURS[finding.severity])
    title.append(f"  {finding.cause}", style="bold")
    title.append(f"  [{printable(finding.subject)}]")
    console.print(title, soft_wrap=True)
    paragraph(console, printable(finding.message, 1200), 2)
    for evidence in finding.evidence:
        said = f"{evidence.fact} = {printable(evidence.saw, 200)}  ({printable(evidence.source, 160)})"
        row(console, "seen", told.quoted(evidence, quoted) or said, indent=4, width=8)
    for number, fix in enumerate(finding.fixes):
        _fix(console, fix if number else replace(fix, title=_first(fix.title)))
    for ask in finding.asks:
        row(console, "decide", printable(ask.question), indent=4, width=8)
        command_line(console, ask.command)
        for answer, meaning in ask.answers.items():
            paragraph(console, f"{printable(answer)}: {printable(meaning)}", 12)
    if finding.consequences and finding.severity is Severity.BENIGN:
        names = ", ".join(one.cause for one in finding.consequences)
        row(console, "also", f"harmless: {names}", indent=4, width=8)
    elif finding.consequences:
        names = ", ".join(f"{c.cause} [{printable(c.subject)}]" for c in finding.consequences)
        row(console, "follows", f"from it: {names}", indent=4, width=8)
    row(console, "more", f"gpudoctor rules show {finding.rule}", indent=4, width=8)


def _first(title: str) -> str:
    """Return the title of a fix that no other one precedes: it is no "or" to anything."""
    rest = title.removeprefix("Or ")
    return title if rest == title else rest[:1].upper() + rest[1:]


def _fix(console: Console, fix: Remedy) -> None:
    proven = _PROVEN[fix.proven]
    row(console, "fix", f"{printable(fix.title)} ({fix.risk}; {proven})", indent=4, width=8)
    for command in fix.commands:
        command_line(console, command)
    for name, value in fix.env.items():
        command_line(console, f"export {name}={shlex.quote(value)}")
    if fix.image:
        command_line(console, fix.image)
    if fix.undo:
        command_line(console, f"{fix.undo}    # to undo it")


def _undecided(console: Console, undecided: Sequence[Undecided]) -> None:
    blind = [u for u in undecided if counts(u, Severity.WARNING)]
    if not blind:
        return
    console.print()
    console.print(Text("COULD NOT BE JUDGED", style="bold"))
    reasons: dict[str, dict[str, None]] = {}
    for verdict in blind:
        if verdict.cause in told.OPEN:
            _open_question(console, verdict)
            continue
        why = "; ".join(dict.fromkeys(_root(reason.source) for reason in verdict.reasons))
        reasons.setdefault(why, {})[f"{verdict.cause} [{verdict.subject}]"] = None
    for why, causes in reasons.items():
        paragraph(console, printable(", ".join(causes), 1200), 2)
        row(console, "because", printable(why, 600), indent=4, width=9)


def _open_question(console: Console, verdict: Undecided) -> None:
    """Print the lines of a text that nothing explains, or that are all it says, and what helps then."""
    paragraph(console, told.OPEN[verdict.cause], 2)
    for reason in verdict.reasons:
        row(console, "line", told.quoted(reason, set()) or reason.saw, indent=4, width=8)
    row(console, "helps", told.WHAT_HELPS, indent=4, width=8)


_CHAIN = re.compile(r"(?:[a-z_]+(?:\.[A-Za-z0-9_]+)+: )+")


def _root(reason: str) -> str:
    """Return what is at the bottom of a chain of facts that each rest on the next."""
    return _CHAIN.sub("", reason)


def _failed_probes(console: Console, snapshot: Snapshot) -> None:
    failed = [probe for probe in snapshot.probes if probe.outcome not in ("ok", "not-asked")]
    if failed:
        console.print()
        console.print(Text("PROBES THAT FAILED", style="bold"))
    for probe in failed:
        row(console, probe.probe, printable(f"{probe.outcome}, {probe.detail}", 600))


def _details(console: Console, snapshot: Snapshot) -> None:
    console.print()
    console.print(Text("PROBES", style="bold"))
    for probe in snapshot.probes:
        detail = f", {probe.detail}" if probe.detail else ""
        said = f"{probe.outcome}, {probe.seconds * 1000:.0f} ms{detail}"
        row(console, probe.probe, printable(said))
    if isinstance(snapshot.frameworks, Unknown):
        return
    for framework in snapshot.frameworks:
        name, trace = framework.get("framework.name"), framework.get("framework.libraries")
        if isinstance(trace, Known) and isinstance(name, Known):
            console.print()
            console.print(Text(f"LOADER TRACE of {printable(str(name.value))}", style="bold"))
            for record in as_records(trace.value):
                where = text_in(record, "path") or "nowhere"
                error = text_in(record, "error")
                said = f"{where} ({text_in(record, 'why')})" + (f", {error}" if error else "")
                row(console, text_in(record, "soname"), printable(said), width=24)


def _foot(console: Console, report: Report) -> None:
    console.print()
    counted = [counted_words(number, _NAMES[severity]) for severity in Severity
               if (number := sum(f.severity is severity for f in report.findings))]
    not_asked = len({u.rule for u in report.undecided if not u.asked})
    if not_asked:
        why = "not reached" if _ran_stages(report.snapshot) else "not asked at this depth"
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
    paragraph(console, Text(f"{verdict}{said}.", style="bold"), 0)


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
