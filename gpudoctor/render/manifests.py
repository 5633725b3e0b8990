"""What is wrong with files, for a person: the place first, as editors take it, then what and why."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.examine import EXIT_UNDECIDED
from gpudoctor.manifests.judging import Located
from gpudoctor.manifests.report import LintReport, advice
from gpudoctor.model import Finding, Severity
from gpudoctor.render.plain import printable
from gpudoctor.render.sheet import LABEL_WIDTH, Sheet

_STYLES = {Severity.ERROR: "bold red", Severity.WARNING: "bold yellow"}
_LABEL = 8
_MOST_WORDS = 700  # characters of one thing said


def render(report: LintReport, *, width: int, colour: bool, written: bool) -> str:
    """Return the report as text for so many columns; `written` says that the changes were made."""
    page = Sheet(width=width, colour=colour)
    page.line((f"gpudoctor {report.tool_version}, rules {report.rules_version}", ""))
    page.line()
    for label, said in host(report):
        page.row(label, printable(said, _MOST_WORDS), 2, LABEL_WIDTH)
    for one in report.findings:
        _finding(page, one)
    for place, undecided in report.undecided:
        page.line()
        page.line((f"{printable(str(place))}: ", "bold"),
                  (f"not judged {undecided.cause} [{undecided.rule}]", ""))
        why = "; ".join(dict.fromkeys(reason.source for reason in undecided.reasons))
        page.paragraph(printable(why, _MOST_WORDS), 4)
    for note in report.notes:
        page.line()
        page.line((f"{printable(str(note.place))}: ", "bold"), ("not judged" if note.matters else "note", ""))
        page.paragraph(printable(note.said, _MOST_WORDS), 4)
    page.line()
    page.paragraph(closing(report), 0)
    if report.diff is not None:
        page.line()
        page.paragraph(of_diff(report, written=written), 0)
    if report.diff:
        page.line()
        for line in report.diff.splitlines():
            page.line((printable(line, 4000), _style(line)))
    return page.text()


def host(report: LintReport) -> Iterator[tuple[str, str]]:
    """Yield for which machine it was judged."""
    words = report.host
    if report.assumptions:
        yield "ASSUMED", ", ".join(report.assumptions)
    yield "host", words["kind"]
    yield "driver", f"{words['driver']}, runs CUDA up to {words['cuda_ceiling']}"
    yield "cards", f"compute capability {words['cards']}"


def _finding(page: Sheet, one: Located) -> None:
    finding = one.finding
    page.line()
    page.line((f"{printable(str(one.place))}: ", "bold"),
              (finding.severity.value.upper(), _STYLES.get(finding.severity, "")),
              (f" {finding.cause} [{finding.rule}]", ""))
    page.paragraph(printable(finding.message, _MOST_WORDS), 4)
    for title in _titles(finding):
        page.row("fix", printable(title, _MOST_WORDS), 4, _LABEL)
    page.row("more", f"gpudoctor rules show {finding.rule}", 4, _LABEL)


def _titles(finding: Finding) -> list[str]:
    return [advice(fix) for fix in finding.fixes]


def of_diff(report: LintReport, *, written: bool) -> str:
    """Return what stands above the changes, or that there are none."""
    if report.diff:
        return "Changed:" if written else "What can be put right safely (--fix --write does it):"
    elsewhere = sorted({one.place.file for one in report.findings} - set(report.files))
    named = f" (it changes only files that are named, not {', '.join(elsewhere)})" if elsewhere else ""
    what = "Nothing of it can be put right safely" if report.findings else "There is nothing to put right"
    return printable(f"{what}: --fix changes nothing{named}.", _MOST_WORDS)


def closing(report: LintReport) -> str:
    """Return the verdict in a sentence."""
    counts = [(severity.value, sum(one.finding.severity is severity for one in report.findings))
              for severity in Severity]
    said = ", ".join(f"{count} {name}{'s' if count > 1 else ''}" for name, count in counts if count)
    places = [*(one.place for one in report.findings), *(one.place for one in report.notes),
              *(place for place, _ in report.undecided)]
    read = {*report.files, *(place.file for place in places)}  # with the lists that they name
    files = f"{len(read)} file{'s' if len(read) > 1 else ''}"
    undecided = len(report.undecided) + sum(note.matters for note in report.notes)
    left = f", {undecided} not judged" if undecided else ""
    allowed = " (--allow-undecided takes that for fine)" if report.exit_code == EXIT_UNDECIDED else ""
    return f"{said or 'nothing'} found in {files}{left}{allowed}."


def _style(line: str) -> str:
    return "green" if line.startswith("+") else "red" if line.startswith("-") else ""
