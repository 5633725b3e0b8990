"""The report as one page of HTML: nothing is loaded, nothing is run, light and dark as the reader has it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from html import escape

from gpudoctor.model import Report, Snapshot, Unknown
from gpudoctor.render import closing, details, outline, pictures
from gpudoctor.render.markup import xml
from gpudoctor.render.outline import Entry, Item

_STYLE = """
:root { color-scheme: light dark; --page: #fff; --ink: #1b1f24; --soft: #59636e; --line: #d1d9e0;
  --card: #f6f8fa; --error: #b3261e; --warning: #8a5a00; --info: #0b57a4; --good: #1a7f37; }
@media (prefers-color-scheme: dark) { :root { --page: #0d1117; --ink: #e6edf3; --soft: #9198a1;
  --line: #3d444d; --card: #151b23; --error: #ff7b72; --warning: #e3b341; --info: #79c0ff;
  --good: #56d364; } }
* { box-sizing: border-box; }
body { background: var(--page); color: var(--ink); margin: 0 auto; max-width: 70rem; padding: 1rem;
  font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.2rem; margin: 2rem 0 .5rem; } h3 { font-size: 1rem; margin: 0; }
footer, .soft, th { color: var(--soft); }
table { border-collapse: collapse; table-layout: fixed; width: 100%; } td { padding: .2rem 0; }
th { text-align: left; font-weight: 600; vertical-align: top; padding: .2rem .6rem .2rem 0; width: 8.5rem;
  overflow-wrap: break-word; }
details th { width: 13rem; overflow-wrap: anywhere; }
article { border: 1px solid var(--line); border-left-width: .4rem; border-radius: .4rem; margin: 1rem 0;
  padding: .8rem 1rem; background: var(--card); }
.error { border-left-color: var(--error); } .error .label { color: var(--error); }
.warning, .open { border-left-color: var(--warning); } .warning .label { color: var(--warning); }
.info, .benign { border-left-color: var(--info); }
.label { font-weight: 700; }
code, pre, svg text { font-family: ui-monospace, monospace; font-size: .85rem; }
pre { background: var(--page); border: 1px solid var(--line); border-radius: .3rem; padding: .5rem;
  overflow-x: auto; margin: .3rem 0; overflow-wrap: normal; }
.picture { overflow-x: auto; } svg { max-width: none; display: block; }
svg text { font-size: 12px; fill: var(--ink); } svg rect { fill: var(--card); stroke: var(--line); }
svg .lost rect { stroke: var(--error); stroke-dasharray: 4 3; } svg path { fill: none; stroke-width: 1.5; }
svg path.good { stroke: var(--good); } svg path.bad { stroke: var(--error); stroke-dasharray: 4 3; }
svg .bar rect { stroke: none; fill: var(--info); } svg .bar.bad rect { fill: var(--error); }
"""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def render(report: Report) -> str:
    """Return the page."""
    return page(closing.words(report), _parts(report), footer=(
        f"gpudoctor {report.tool_version}, rules {report.rules_version} ({report.rules_sha256[:12]})"))


def page(words: str, parts: Iterable[str], *, footer: str) -> str:
    """Return a page with this heading, these parts (markup) and this last line."""
    return xml("\n".join(_page(words, parts, footer))) + "\n"


def _page(words: str, parts: Iterable[str], footer: str) -> Iterator[str]:
    yield "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">"
    yield f"<meta http-equiv=\"Content-Security-Policy\" content=\"{_POLICY}\">"
    yield "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">"
    yield f"<title>gpudoctor: {escape(words)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>"
    yield f"<header><h1>{escape(words)}</h1></header>\n<main>"
    yield from parts
    yield f"</main>\n<footer>{escape(footer)}</footer>\n</body>\n</html>"


def _parts(report: Report) -> Iterator[str]:
    for label, said in outline.head(report):
        yield f"<p><strong>{label}</strong> {escape(said)}</p>"
    for entry in outline.entries(report):
        yield from _finding(entry)
    yield from _questions(report)
    yield "<h2>What is there</h2>"
    yield table([*outline.seen(report)])
    yield from _pictures(report.snapshot)
    for block in details.blocks(report.snapshot):
        if block.rows:
            yield f"<details><summary>{escape(block.title)}</summary>{table(block.rows)}</details>"


def _finding(entry: Entry) -> Iterator[str]:
    yield f"<article class=\"{entry.severity.value}\">"
    yield (f"<h3><span class=\"label\">{escape(entry.label)}</span> {escape(entry.cause)} "
           f"<span class=\"soft\">[{escape(entry.subject)}]</span></h3>")
    yield f"<p>{escape(entry.message)}</p>"
    yield _items(entry.items)
    yield "</article>"


def _questions(report: Report) -> Iterator[str]:
    questions, failed = [*outline.open_questions(report)], outline.failed_probes(report.snapshot)
    if questions:
        yield "<h2>Could not be judged</h2>"
    for question in questions:
        yield f"<article class=\"open\"><p>{escape(question.said)}</p>{_items(question.items)}</article>"
    if failed:
        yield f"<h2>Probes that failed</h2>{table(failed)}"


def _items(items: Sequence[Item]) -> str:
    return _rows([(item.label, _item(item)) for item in items])


def _item(item: Item) -> str:
    said = escape(item.said)
    commands = "".join(f"<pre>{escape(command)}</pre>" for command in item.lines)
    answers = "".join(f"<li>{escape(answer)}</li>" for answer in item.answers)
    words = f"<code>{said}</code>" if item.label in ("seen", "line", "more") else said
    return words + commands + (f"<ul>{answers}</ul>" if answers else "")


def table(rows: Sequence[tuple[str, str]]) -> str:
    """Return a table of labels and words."""
    return _rows([(label, escape(said)) for label, said in rows])


def _rows(rows: Sequence[tuple[str, str]]) -> str:
    """Return a table of labels and markup."""
    said = "".join(f"<tr><th>{_label(label)}</th><td>{markup}</td></tr>\n" for label, markup in rows)
    return f"<table>{said}</table>" if rows else ""


def _label(label: str) -> str:
    """Return a label that is broken, where it must be, between the words of a fact's name."""
    return re.sub(r"([._])(?=\w)", r"\1<wbr>", escape(label))


def _pictures(snapshot: Snapshot) -> Iterator[str]:
    for framework in () if isinstance(snapshot.frameworks, Unknown) else snapshot.frameworks:
        picture = pictures.loader_trace(framework)
        if picture:
            yield f"<h2>{escape(details.name_of(framework))}: where its libraries come from</h2>"
            yield f"<div class=\"picture\">{picture}</div>"
    timings = pictures.timings(snapshot.probes)
    if timings:
        yield f"<h2>Where the time went</h2><div class=\"picture\">{timings}</div>"
