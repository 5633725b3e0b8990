"""Whatever stands in a report, each format stays what it is, and says all of it."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from gpudoctor import ruledb
from gpudoctor.assume import assumed, lay
from gpudoctor.examine import Policy, examine
from gpudoctor.model import Ask, Evidence, Finding, Known, Remedy, Report, Severity, Undecided
from gpudoctor.render import closing, github, html, junit
from gpudoctor.render import line as one_line
from gpudoctor.render import markdown
from gpudoctor.render.markup import block, code
from gpudoctor.render.plain import printable
from tests.harness.junit import problems

HOSTILE = (
    "", " ", "plain words", "::error::x", "\n::set-env name=A::b", "##[group]", "</pre><script>x()</script>",
    "<img src=x onerror=y>", "]]>", "&amp;", "`", "```\nrm -rf ~\n```", "```", "| a | b |",
    "[x](http://evil.example)", "http://evil.example", "www.evil.example", "@somebody", "# heading", "1. one",
    "- item", "> quoted", "---", "a\x1b[31mred", "\ufffe", "\ud800", "\x00", "% 0A %0A", "\u202e", "'\"",
    "![x](y)", "<!-- x", "\\", "~~~\nx", f"{'word ' * 18}::error::x",
    f"{'word ' * 17}::stop-commands::x ::error::y")
texts = st.one_of(st.sampled_from(HOSTILE), st.text(max_size=40))


@cache
def seen() -> Report:
    """Return the report on a card with a driver that is too old for the installed torch."""
    database = ruledb.load()
    facts = assumed([("cc", "9.0"), ("driver", "450.80.02"), ("release", "torch==2.15.0")])
    return examine(lay(database.base, facts, database.tables, source="a test"), database, Policy())


@st.composite
def reports(draw: st.DrawFn) -> Report:
    """Draw a report whose every text comes from a hostile machine."""
    words = [draw(texts) for _ in range(8)]
    fix = replace(_fix(), title=words[0], commands=(words[1], "true"), env={"NAME": words[2]}, undo=words[3])
    ask = Ask(question=words[4], command=words[5], answers={words[6]: words[7]})
    finding = replace(seen().findings[0], message=words[1], subject=words[2], fixes=(fix,), asks=(ask,),
                      severity=draw(st.sampled_from(Severity)),
                      evidence=(Evidence(fact="driver.version", saw=words[3], source=words[0]),))
    question = Undecided(rule="GPD1010", cause="driver-too-old", severity=draw(st.sampled_from(Severity)),
                         subject=words[5], asked=True,
                         reasons=(Evidence(fact="x.y", saw=words[6], source=words[7]),))
    host = {**seen().snapshot.host, "system.distribution": Known(value=words[4], source=words[1])}
    return replace(seen(), findings=(finding, *seen().findings[1:]), undecided=(question,),
                   assumptions=(words[2],), snapshot=replace(seen().snapshot, host=host))


def _fix() -> Remedy:
    return next(fix for finding in seen().findings for fix in finding.fixes)


def said_of(finding: Finding) -> list[str]:
    """Return what a reader has to find of a finding: its message and its commands, as they are shown."""
    return [printable(finding.message, 1200), *(printable(command, 4000) for fix in finding.fixes
                                                for command in fix.commands)]


# -- JUnit -------------------------------------------------------------------------------------------------


@given(reports(), st.sampled_from(Severity), st.booleans())
@settings(max_examples=60, deadline=None)
def test_junit_counts_what_it_holds(report: Report, fail_on: Severity, allow: bool) -> None:
    """The document can be read, its sums are right, and what fails is what the policy calls a failure."""
    document = junit.render(report, Policy(fail_on=fail_on, allow_undecided=allow))
    assert problems(document) == []
    assert not set(document) & set("\ufffe\uffff")  # which Java's readers refuse, and Python's takes
    suite = ET.fromstring(document.encode()).find("testsuite")
    assert suite is not None
    cases = suite.findall("testcase")
    for attribute, kind in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        assert int(suite.attrib[attribute]) == sum(case.find(kind) is not None for case in cases)
    assert int(suite.attrib["tests"]) == len(cases)
    failed = [case for case in cases[1:] if case.find("failure") is not None]
    assert len(failed) == sum(one.severity.rank <= fail_on.rank for one in report.findings)
    counted = [case for case in cases[1:] if case.find("error") is not None]
    assert len(counted) == (0 if allow else sum(
        one.severity.rank <= fail_on.rank and one.severity.rank <= Severity.WARNING.rank
        for one in report.undecided))


def test_the_schema_of_junit_refuses_what_is_none() -> None:
    """What holds documents against it would else hold them against nothing."""
    document = junit.render(seen(), Policy())
    assert problems(document) == []
    for written, wrong in (("(</?)failure", r"\1finding"), (' tests="', ' sum="'), (' time="', ' time="a ')):
        assert problems(re.sub(written, wrong, document)) != []


@pytest.mark.parametrize(("code", "kind"), [(0, None), (1, "failure"), (3, "error")])
def test_the_first_test_is_the_verdict(code: int, kind: str | None) -> None:
    """It passes, fails or cannot tell as the exit code does, and holds the text for people."""
    root = ET.fromstring(junit.render(replace(seen(), exit_code=code), Policy()).encode())
    first = root.find("testsuite/testcase")
    assert first is not None
    assert [child.tag for child in first] == [*([kind] if kind else []), "system-out"]
    assert "driver-too-old" in (first.findtext("system-out") or "")


# -- one line ----------------------------------------------------------------------------------------------


@given(reports(), st.sampled_from(Severity), st.sampled_from([0, 1, 3]))
@settings(max_examples=60, deadline=None)
def test_a_line_is_one_line(report: Report, fail_on: Severity, code: int) -> None:
    """It can be printed, it ends, and of a failure it begins with the name of one."""
    said = one_line.render(replace(report, exit_code=code), Policy(fail_on=fail_on))
    assert said.splitlines() == [said[:-1]]
    assert printable(said[:-1], 9999) == said[:-1]
    assert len(said) < 1200
    failing = [one.cause for one in report.findings if one.severity.rank <= fail_on.rank]
    if code == 1 and failing:
        assert said.startswith(f"{failing[0]} [")
        assert "Next: gpudoctor rules show GPD" in said
    assert ("could not look" in said) == (
        code == 3 and report.undecided[0].severity.rank <= min(fail_on.rank, Severity.WARNING.rank))


# -- GitHub ------------------------------------------------------------------------------------------------


def obeyed(log: str) -> Iterator[str]:
    """Yield the lines of a log that the runner takes for commands, as its ActionCommand does."""
    stopped: str | None = None
    for line in log.splitlines():
        begun = line.lstrip()
        if stopped is not None:
            stopped = None if begun == f"::{stopped}::" else stopped
        elif begun.startswith("::stop-commands::"):
            stopped = begun.removeprefix("::stop-commands::")
        elif begun.startswith("::") or "##[" in line:
            yield line
    assert stopped is None


@given(reports())
@settings(max_examples=60, deadline=None)
def test_github_obeys_annotations_alone(report: Report) -> None:
    """Nothing of a machine becomes a command; every finding that is not harmless becomes an annotation."""
    commands = [*obeyed(github.render(report))]
    assert [line for line in commands if not line.startswith(("::error ", "::warning ", "::notice "))] == []
    said = [line.partition("::")[2].partition("::")[2].replace("%0A", "\n").replace("%0D", "\r")
            .replace("%25", "%") for line in commands]
    told = [one for one in report.findings if one.severity is not Severity.BENIGN]
    assert len(commands) == len(told) + any(
        one.severity.rank <= Severity.WARNING.rank for one in report.undecided)
    for finding, words in zip(told, said, strict=False):
        assert [part for part in said_of(finding) if part not in words] == []
        assert words.splitlines()[-1] == f"more: gpudoctor rules show {finding.rule}"


# -- Markdown ----------------------------------------------------------------------------------------------

_OWN_HTML = {"<details>", "</details>", "<summary>", "</summary>", "<!-- -->",
             "<details><summary>What was seen</summary>\n", "<details><summary>What is there</summary>\n",
             "</details>\n"}


def flat(tokens: list[Token]) -> Iterator[Token]:
    """Yield tokens and what is in them."""
    for token in tokens:
        yield token
        yield from flat(token.children or [])


@given(reports())
@settings(max_examples=60, deadline=None)
def test_markdown_shows_what_it_was_given(report: Report) -> None:
    """A real parser finds no link, no picture and no HTML but ours, and every command in a block of code."""
    tokens = [*flat(MarkdownIt("commonmark").enable("table").parse(markdown.render(report)))]
    assert {token.type for token in tokens} & {"link_open", "image"} == set()
    assert {token.content for token in tokens if token.type.startswith("html")} <= _OWN_HTML
    assert {token.tag for token in tokens if token.type == "heading_open"} <= {"h2", "h3"}
    code = [token.content for token in tokens if token.type == "fence"]
    for command in (command for one in report.findings for fix in one.fixes for command in fix.commands):
        assert any(printable(command, 4000) in block for block in code)
    outside = [token.content for token in tokens if token.type == "text"]
    assert closing.words(report).rstrip(".") in "".join(outside)


@given(texts.map(printable))
@settings(max_examples=200, deadline=None)
def test_code_is_shown_as_it_is(said: str) -> None:
    """A span and a block hold exactly what they were given, whatever backticks are in it."""
    reader = MarkdownIt("commonmark")
    if said.strip():
        inline = reader.parse(f"x {code(said)} y")[1].children or []
        assert [token.content for token in inline if token.type == "code_inline"] == [said]
        assert len(inline) == 3
    assert [(token.type, token.content) for token in reader.parse(block((said, "true"), "sh"))] == [
        ("fence", f"{said}\ntrue\n")]


def test_markdown_mentions_and_links_nothing() -> None:
    """What sites make links of by themselves (names, addresses) is broken up where it stands in prose."""
    finding = replace(seen().findings[0], message="@somebody, https://evil.example, www.evil.example")
    said = markdown.render(replace(seen(), findings=(finding,)))
    assert [word for word in ("@somebody", "https://evil", "www.evil") if word in said] == []


def test_no_block_that_is_copied_undoes_itself() -> None:
    """GitHub's button copies a whole block: with the way back in it the fix would be gone at once."""
    fix = replace(_fix(), commands=(), env={"LD_LIBRARY_PATH": "/new"}, undo="unset LD_LIBRARY_PATH")
    said = markdown.render(replace(seen(), findings=(replace(seen().findings[0], fixes=(fix,)),)))
    blocks = [token.content for token in MarkdownIt("commonmark").parse(said) if token.type == "fence"]
    assert blocks == ["export LD_LIBRARY_PATH=/new\n"]
    assert "to undo it: `unset LD_LIBRARY_PATH`" in said


# -- HTML --------------------------------------------------------------------------------------------------


class Page(HTMLParser):
    """Gathers the elements, their attributes and the words of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.words: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take in an element."""
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        """Take in words."""
        self.words.append(data)


@given(reports())
@settings(max_examples=60, deadline=None)
def test_html_loads_and_runs_nothing(report: Report) -> None:
    """No element and no attribute that a machine could have written; all that matters is in the words."""
    assert_harmless_page(report)


@pytest.mark.parametrize("said", HOSTILE)
def test_html_shows_markup_as_words(said: str) -> None:
    """Each thing that a page could obey is shown instead, wherever it stands."""
    fix = replace(_fix(), title=said, commands=(said, "true"))
    evidence = (Evidence(fact="driver.version", saw=said, source=said),)
    finding = replace(seen().findings[0], message=said, subject=said, fixes=(fix,), evidence=evidence)
    assert_harmless_page(replace(seen(), findings=(finding,), assumptions=(said,)))


def assert_harmless_page(report: Report) -> None:
    """Assert that the page of a report has only elements of ours, and says what it has to say."""
    page = Page()
    page.feed(html.render(report))
    assert page.tags & {"script", "img", "iframe", "object", "embed", "link", "a", "form", "base"} == set()
    assert {name for name in page.attributes if name.startswith("on")} == set()
    assert page.attributes & {"src", "href", "style", "srcset", "action"} == set()
    words = "\n".join(page.words)
    for finding in report.findings:
        shown = [part.replace("\ufffe", "\ufffd").replace("\uffff", "\ufffd") for part in said_of(finding)]
        assert [part for part in shown if part not in words] == []
