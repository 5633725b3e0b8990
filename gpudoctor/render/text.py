"""The report for a person: one line per area, then causes with their evidence, fixes and consequences.

Colour only repeats what the words say. Commands are never broken over lines, so that they can be copied.
"""

from __future__ import annotations

from collections.abc import Sequence

from gpudoctor.model import Report, Severity, Snapshot
from gpudoctor.render import closing, outline
from gpudoctor.render.outline import Entry, Item, Open
from gpudoctor.render.plain import printable
from gpudoctor.render.sheet import LABEL_WIDTH, Sheet

COLOURS = {
    Severity.ERROR: "bold red", Severity.WARNING: "bold yellow",
    Severity.INFO: "bold", Severity.BENIGN: "dim",
}


def render(report: Report, *, width: int, colour: bool, verbose: bool = False,
           recommending: str = "") -> str:
    """Return the report as text; `width` in columns. `recommending` asks what to install there."""
    sheet = Sheet(width=width, colour=colour)
    _head(sheet, report)
    for entry in outline.entries(report):
        _finding(sheet, entry)
    _undecided(sheet, [*outline.open_questions(report)])
    if verbose:
        _details(sheet, report.snapshot)
    else:
        _failed_probes(sheet, report.snapshot)
    sheet.line()
    sheet.paragraph(closing.words(report), 0, "bold")
    following = closing.next_step(report, recommending)
    if following:
        sheet.line((f"    {printable(following, 4000)}", "cyan"))
    return sheet.text()


def _head(sheet: Sheet, report: Report) -> None:
    sheet.line((f"gpudoctor {report.tool_version}, rules {report.rules_version}", ""))
    for label, said in outline.head(report):
        sheet.line()
        sheet.row(label, said)
    seen = list(outline.seen(report))
    if seen:
        sheet.line()
    for label, said in seen:
        sheet.row(label, said)


def _finding(sheet: Sheet, entry: Entry) -> None:
    sheet.line()
    sheet.line((entry.label, COLOURS[entry.severity]), (f"  {entry.cause}", "bold"),
               (f"  [{entry.subject}]", ""))
    sheet.paragraph(entry.message, 2)
    for item in entry.items:
        _item(sheet, item, 8)


def _item(sheet: Sheet, item: Item, width: int) -> None:
    sheet.row(item.label, item.said, 4, width)
    for command in item.lines:
        sheet.line((" " * 12 + command, "cyan"))
    for answer in item.answers:
        sheet.paragraph(answer, 12)


def _undecided(sheet: Sheet, questions: Sequence[Open]) -> None:
    if questions:
        sheet.line()
        sheet.line(("COULD NOT BE JUDGED", "bold"))
    for question in questions:
        sheet.paragraph(question.said, 2)
        for item in question.items:
            _item(sheet, item, 9 if item.label == "because" else 8)


def _failed_probes(sheet: Sheet, snapshot: Snapshot) -> None:
    failed = outline.failed_probes(snapshot)
    if failed:
        sheet.line()
        sheet.line(("PROBES THAT FAILED", "bold"))
    for probe, how in failed:
        sheet.row(probe, how)


def _details(sheet: Sheet, snapshot: Snapshot) -> None:
    from gpudoctor.render import details  # few ask for them

    for block in details.blocks(snapshot):
        sheet.line()
        sheet.line((block.title, "bold"))
        for label, said in block.rows:
            sheet.row(label, said, width=LABEL_WIDTH if block.is_of_probes else 24)
