"""The report as Markdown, for the summary of a job, a merge request or an issue."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpudoctor.model import Report
from gpudoctor.render import closing, details, outline
from gpudoctor.render.markup import block, code, markdown
from gpudoctor.render.outline import Item

_FOLDED = "seen"  # the evidence is long, and read by who doubts


def render(report: Report, *, verbose: bool = False) -> str:
    """Return the report as GitHub's and GitLab's Markdown."""
    return "\n".join(_parts(report, verbose=verbose))


def _parts(report: Report, *, verbose: bool) -> Iterator[str]:
    yield f"## gpudoctor: {markdown(closing.words(report))}\n"
    for label, said in outline.head(report):
        yield f"**{label}** {markdown(said)}\n"
    for entry in outline.entries(report):
        yield f"### {entry.label} {code(entry.cause)} on {code(entry.subject)}\n"
        yield f"{markdown(entry.message)}\n"
        yield from _items([item for item in entry.items if item.label != _FOLDED])
        evidence = [item for item in entry.items if item.label == _FOLDED]
        if evidence:
            yield "<details><summary>What was seen</summary>\n"
            yield "".join(f"- {code(item.said)}\n" for item in evidence)
            yield "</details>\n"
    questions = [*outline.open_questions(report)]
    if questions:
        yield "### Could not be judged\n"
    for question in questions:
        yield f"{markdown(question.said)}\n"
        yield from _items(question.items)
    failed = outline.failed_probes(report.snapshot)
    if failed:
        yield "### Probes that failed\n"
        yield _table(failed)
    yield "<details><summary>What is there</summary>\n"
    yield _table([*outline.seen(report)])
    for part in details.blocks(report.snapshot) if verbose else ():
        yield f"#### {markdown(part.title)}\n"
        yield _table(part.rows)
    yield "</details>\n"
    yield f"gpudoctor {markdown(report.tool_version)}, rules {markdown(report.rules_version)}\n"


def _items(items: Sequence[Item]) -> Iterator[str]:
    for item in items:
        said = code(item.said) if item.label in ("line", "more") else markdown(item.said)
        yield f"**{item.label}** {said}\n"
        if item.commands:
            yield block(item.commands, "sh")
        if item.undo:
            yield f"to undo it: {code(item.undo)}\n"
        if item.answers:
            yield "".join(f"- {markdown(answer)}\n" for answer in item.answers)


def _table(rows: Sequence[tuple[str, str]]) -> str:
    lines = ["| | |", "|---|---|", *(f"| {markdown(label)} | {markdown(said)} |" for label, said in rows)]
    return "\n".join(lines) + "\n"
