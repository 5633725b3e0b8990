"""What is wrong with files as Markdown, as a page of HTML, and as a list of tests (JUnit XML)."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterator
from html import escape

from gpudoctor.examine import EXIT_FINDINGS, EXIT_HEALTHY
from gpudoctor.frozen import frozen
from gpudoctor.manifests.report import LintReport, advice
from gpudoctor.manifests.spans import Place
from gpudoctor.model import Severity
from gpudoctor.render import html, junit, manifests, markup
from gpudoctor.render.plain import printable

_MOST = 1200  # characters of one thing said
_WIDTH = 100  # columns; a list of tests has no terminal to ask


@frozen
class _Said:
    """One thing said of a file: a finding, what could not be judged (`is_open`), or a note."""

    place: Place
    label: str
    severity: Severity | None
    cause: str
    message: str
    fixes: tuple[str, ...] = ()
    more: str = ""
    is_open: bool = False

    @property
    def where(self) -> str:
        """Return the place as it is shown."""
        return printable(str(self.place), _MOST)

    @property
    def items(self) -> tuple[tuple[str, str], ...]:
        """Return what stands below the message."""
        return (*(("fix", fix) for fix in self.fixes), *((("more", self.more),) if self.more else ()))


def _said(report: LintReport) -> Iterator[_Said]:
    """Yield what there is to say, in the order of the text."""
    for one in report.findings:
        finding = one.finding
        yield _Said(place=one.place, label=finding.severity.value.upper(), severity=finding.severity,
                    cause=f"{finding.cause} [{finding.rule}]", message=printable(finding.message, _MOST),
                    fixes=tuple(printable(advice(fix), _MOST) for fix in finding.fixes),
                    more=f"gpudoctor rules show {finding.rule}")
    for place, undecided in report.undecided:
        why = "; ".join(dict.fromkeys(reason.source for reason in undecided.reasons))
        yield _Said(place=place, label="not judged", severity=undecided.severity, is_open=True,
                    cause=f"{undecided.cause} [{undecided.rule}]", message=printable(why, _MOST))
    for note in report.notes:  # a note that matters counts as much as what could not be judged
        yield _Said(place=note.place, label="not judged" if note.matters else "note", cause="",
                    severity=Severity.ERROR if note.matters else None,
                    message=printable(note.said, _MOST), is_open=note.matters)


def markdown(report: LintReport, *, written: bool) -> str:
    """Return the report as GitHub's and GitLab's Markdown."""
    return "\n".join(_markdown(report, written=written))


def _markdown(report: LintReport, *, written: bool) -> Iterator[str]:
    words = markup.markdown
    yield f"## gpudoctor: {words(manifests.closing(report))}\n"
    yield "".join(f"- **{label}** {words(printable(said, _MOST))}\n"
                  for label, said in manifests.host(report))
    for one in _said(report):
        cause = f"{markup.code(one.cause)} " if one.cause else ""
        yield f"### {one.label} {cause}at {markup.code(one.where)}\n"
        yield f"{words(one.message)}\n"
        for label, said in one.items:
            yield f"**{label}** {markup.code(said) if label == 'more' else words(said)}\n"
    if report.diff is not None:
        yield f"{words(manifests.of_diff(report, written=written))}\n"
    if report.diff:
        yield markup.block(tuple(printable(line, 4000) for line in report.diff.splitlines()), "diff")
    yield f"gpudoctor {words(report.tool_version)}, rules {words(report.rules_version)}\n"


def page(report: LintReport, *, written: bool) -> str:
    """Return the report as one page of HTML."""
    return html.page(manifests.closing(report), _page(report, written=written), footer=(
        f"gpudoctor {report.tool_version}, rules {report.rules_version} ({report.rules_sha256[:12]})"))


def _page(report: LintReport, *, written: bool) -> Iterator[str]:
    yield html.table([(label, printable(said, _MOST)) for label, said in manifests.host(report)])
    for one in _said(report):
        kind = "open" if one.is_open else one.severity.value if one.severity else "info"
        yield f"<article class=\"{kind}\">"
        yield (f"<h3><span class=\"label\">{escape(one.label)}</span> {escape(one.cause)} "
               f"<span class=\"soft\">{escape(one.where)}</span></h3>")
        yield f"<p>{escape(one.message)}</p>"
        yield html.table(one.items)
        yield "</article>"
    if report.diff is not None:
        yield f"<h2>{escape(manifests.of_diff(report, written=written))}</h2>"
    if report.diff:
        shown = "\n".join(printable(line, 4000) for line in report.diff.splitlines())
        yield f"<pre>{escape(shown)}</pre>"


def tests(report: LintReport, fail_on: Severity, *, strict: bool) -> str:
    """Return the report as a list of tests; `strict`: what could not be judged is an error.

    The first test is the verdict, which fails as the exit code does.
    """
    first = junit.case_of("lint", "the files")
    if report.exit_code != EXIT_HEALTHY:
        kind = "failure" if report.exit_code == EXIT_FINDINGS else "error"
        junit.tell(first, kind, manifests.closing(report), report.verdict.value, "")
    shown = manifests.render(report, width=_WIDTH, colour=False, written=False)
    ET.SubElement(first, "system-out").text = markup.xml(shown)
    return junit.document([first, *(_test(one, fail_on, strict=strict) for one in _said(report))], 0.0)


def _test(one: _Said, fail_on: Severity, *, strict: bool) -> ET.Element:
    case = junit.case_of("lint", f"{one.where} {one.cause or one.label}")
    words = "\n".join((one.message, *(f"{label}: {said}" for label, said in one.items)))
    counts = one.severity is not None and one.severity.rank <= fail_on.rank
    if one.is_open:
        kind = "error" if counts and strict else "skipped"
        junit.tell(case, kind, "could not be judged", "undecided", words)
    elif counts:
        junit.tell(case, "failure", one.message, one.label, words)
    else:
        ET.SubElement(case, "system-out").text = markup.xml(f"{one.label}\n{words}")
    return case
