"""What `gpudoctor lint` found as a job on GitHub prints it: for people, and at the lines of a change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gpudoctor.manifests.report import LintReport, advice
from gpudoctor.manifests.spans import Place
from gpudoctor.model import Severity
from gpudoctor.render import manifests
from gpudoctor.render.github import KINDS, annotation, quiet
from gpudoctor.render.plain import printable
from gpudoctor.render.where import relative

_WIDTH = 100  # columns; the log of a job has no terminal to ask
_MOST = 1200  # characters of one thing said


def render(report: LintReport, folder: str, *, written: bool) -> str:
    """Return the text for people, then a line for each annotation; files are told from this folder."""
    said = manifests.render(report, width=_WIDTH, colour=False, written=written)
    return "".join((quiet(said), *_annotations(report, folder)))


def _annotations(report: LintReport, folder: str) -> Iterator[str]:
    for one in report.findings:
        kind = KINDS.get(one.finding.severity)
        if kind is not None:
            fixes = [f"fix: {printable(advice(fix), _MOST)}" for fix in one.finding.fixes]
            lines = [printable(one.finding.message, _MOST), *fixes,
                     f"more: gpudoctor rules show {one.finding.rule}"]
            yield annotation(kind, "\n".join(lines),
                             _at(one.place, folder, f"{one.finding.cause} [{one.finding.rule}]"))
    for place, undecided in report.undecided:
        why = "; ".join(dict.fromkeys(reason.source for reason in undecided.reasons))
        yield annotation(KINDS[Severity.WARNING], printable(why, _MOST),
                         _at(place, folder, f"{undecided.cause} could not be judged [{undecided.rule}]"))
    for note in report.notes:
        if note.matters:
            yield annotation(KINDS[Severity.WARNING], printable(note.said, _MOST),
                             _at(note.place, folder, "could not be judged"))


def _at(place: Place, folder: str, title: str) -> Mapping[str, str]:
    return {"file": printable(relative(place.file, folder) or place.file, _MOST), "line": str(place.line),
            "col": str(place.column), "title": f"gpudoctor: {printable(title, _MOST)}"}
