"""The summary of many machines as text, Markdown, a page of HTML, and a table for spreadsheets."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from html import escape

from gpudoctor import __version__
from gpudoctor.fleet.document import Judging
from gpudoctor.fleet.summary import Summary
from gpudoctor.render import fleet, html, markup
from gpudoctor.render.fleet import Line
from gpudoctor.render.sheet import Sheet
from gpudoctor.render.text import COLOURS

_COLUMNS = ("section", "machines", "what", "fact", "value", "names")
_INDENT, _WIDEST_LABEL = 11, 34  # columns
_FORMULA = ("=", "+", "-", "@", "\t")  # with which a spreadsheet takes a cell for a formula


def text(summary: Summary, judging: Judging, folder: str, *, width: int, colour: bool) -> str:
    """Return the summary as text; `width` in columns."""
    sheet = Sheet(width=width, colour=colour)
    sheet.line((f"gpudoctor {__version__}", ""))
    sheet.line()
    for label, said in fleet.head(summary, judging):
        sheet.row(label, said)
    for section in fleet.sections(summary, folder):
        sheet.line()
        sheet.paragraph(section.title, 0, "bold")
        for line in section.lines:
            _line(sheet, line)
        if section.note:
            sheet.paragraph(section.note, 2)
    commands = fleet.steps(summary)
    if commands:
        sheet.line()
        sheet.line(("NEXT", "bold"))
    for command in commands:
        sheet.line((f"    {command}", "cyan"))
    sheet.line()
    sheet.paragraph(fleet.closing(summary), 0, "bold")
    return sheet.text()


def _line(sheet: Sheet, line: Line) -> None:
    sheet.entry(f"{line.machines:7}  ", line.what, COLOURS[line.severity] if line.severity else "")
    if line.names:
        sheet.paragraph(line.names, _INDENT)
    widest = max((len(label) for label, _ in line.items), default=0)
    for label, said in line.items:
        _item(sheet, label, said, min(widest, _WIDEST_LABEL) + 2)
    for command in line.commands:
        sheet.line((f"{' ' * _INDENT}{command}", "cyan"))


def _item(sheet: Sheet, label: str, said: str, width: int) -> None:
    if len(label) < width:
        sheet.row(label, said, _INDENT, width)
        return
    sheet.paragraph(label, _INDENT, "bold")
    sheet.paragraph(said, _INDENT + width)


def markdown(summary: Summary, judging: Judging, folder: str) -> str:
    """Return the summary as GitHub's and GitLab's Markdown."""
    return "\n".join(_markdown(summary, judging, folder))


def _markdown(summary: Summary, judging: Judging, folder: str) -> Iterator[str]:
    said = markup.markdown
    yield f"## gpudoctor: {said(fleet.closing(summary))}\n"
    yield "".join(f"- **{label}** {said(words)}\n" for label, words in fleet.head(summary, judging))
    for section in fleet.sections(summary, folder):
        yield f"### {said(section.title)}\n"
        for line in section.lines:
            yield f"**{line.machines}** {said(line.what)}\n"
            if line.names:
                yield f"{said(line.names)}\n"
            if line.items:
                yield "".join(f"- {markup.code(label)} {said(words)}\n" for label, words in line.items)
            if line.commands:
                yield markup.block(line.commands, "sh")
        if section.note:
            yield f"{said(section.note)}\n"
    commands = fleet.steps(summary)
    if commands:
        yield "### Next\n"
        yield markup.block(commands, "sh")
    yield f"gpudoctor {said(__version__)}\n"


def page(summary: Summary, judging: Judging, folder: str) -> str:
    """Return the summary as one page of HTML."""
    parts = _page(summary, judging, folder)
    return html.page(fleet.closing(summary), parts, footer=f"gpudoctor {__version__}")


def _page(summary: Summary, judging: Judging, folder: str) -> Iterator[str]:
    yield html.table([*fleet.head(summary, judging)])
    for section in fleet.sections(summary, folder):
        yield f"<h2>{escape(section.title)}</h2>"
        for line in section.lines:
            kind = line.severity.value if line.severity else "open"
            yield f"<article class=\"{kind}\"><h3>{line.machines} "
            yield f"<span class=\"label\">{escape(line.what)}</span></h3>"
            yield f"<p>{escape(line.names)}</p>" if line.names else ""
            yield html.table(line.items)
            yield "".join(f"<pre>{escape(command)}</pre>" for command in line.commands)
            yield "</article>"
        if section.note:
            yield f"<p class=\"soft\">{escape(section.note)}</p>"
    commands = fleet.steps(summary)
    if commands:
        yield "<h2>Next</h2>"
    yield "".join(f"<pre>{escape(command)}</pre>" for command in commands)


def table(summary: Summary, judging: Judging, folder: str) -> str:
    """Return the summary as CSV (RFC 4180): no cell is taken for a formula by a spreadsheet."""
    written = io.StringIO()
    writer = csv.writer(written)
    writer.writerow(_COLUMNS)
    for label, said in fleet.head(summary, judging):
        writer.writerow(map(_cell, ("SUMMARY", "", label, "", said, "")))
    for section in fleet.sections(summary, folder):
        for line in section.lines:
            facts = line.items or (("", ""),)
            writer.writerows([_cell(part) for part in
                              (section.title, str(line.machines), line.what, fact, value, line.names)]
                             for fact, value in facts)
        if section.note:
            writer.writerow(map(_cell, (section.title, "", "", "", section.note, "")))
    return written.getvalue()


def _cell(said: str) -> str:
    return f"'{said}" if said.startswith(_FORMULA) else said
