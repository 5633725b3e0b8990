"""The report as a job on GitHub prints it: for people, and as annotations of the run.

What stands in the log of a job is read for commands (`::name::`), wherever a line begins with one. So the
text is printed between a stop and a word that only this run knows.
Source: https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands (2026-11-23).
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence

from gpudoctor.model import Report, Severity
from gpudoctor.render import outline, text
from gpudoctor.render.outline import Item

KINDS: Mapping[Severity, str] = {
    Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}
_WIDTH = 100  # columns; the log of a job has no terminal to ask


def render(report: Report) -> str:
    """Return the text for people, then a line for each annotation."""
    said = text.render(report, width=_WIDTH, colour=False)
    return "".join((quiet(said), *_annotations(report)))


def quiet(said: str) -> str:
    """Return text in which GitHub looks for no commands."""
    word = secrets.token_hex(16)
    return f"::stop-commands::{word}\n{said}::{word}::\n"


def annotation(kind: str, message: str, properties: Mapping[str, str]) -> str:
    """Return one annotation; `kind` is error, warning or notice."""
    given = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return f"::{kind} {given}::{_data(message)}\n"


def _annotations(report: Report) -> Iterator[str]:
    for entry in outline.entries(report):
        kind = KINDS.get(entry.severity)
        if kind is not None:
            likely = f"{entry.sureness}: " if entry.sureness else ""
            yield annotation(kind, "\n".join((likely + entry.message, *_cures(entry.items))),
                             {"title": f"gpudoctor: {entry.cause} [{entry.subject}]"})
    for question in outline.open_questions(report):
        why = "\n".join(f"{item.label}: {item.said}" for item in question.items)
        yield annotation("warning", f"{question.said}\n{why}", {"title": "gpudoctor: could not be judged"})


def _cures(items: Sequence[Item]) -> Iterator[str]:
    for item in items:
        if item.label in ("fix", "decide", "more"):
            yield f"{item.label}: {item.said}"
            yield from (f"    {command}" for command in item.lines)


def _data(value: str) -> str:
    return value.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(value: str) -> str:
    return _data(value).replace(":", "%3A").replace(",", "%2C")
