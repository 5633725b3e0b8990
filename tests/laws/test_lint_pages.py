"""Whatever files are called and hold, what `lint` says as Markdown, page and tests stays what it is."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from gpudoctor.manifests.report import LintReport
from gpudoctor.model import Severity
from gpudoctor.render import manifest_formats, manifests
from gpudoctor.render.markup import xml
from gpudoctor.render.plain import printable
from tests.harness.junit import problems
from tests.laws.test_formats import Page, flat, texts
from tests.laws.test_lint_formats import reports, seen


def said_of(report: LintReport) -> list[str]:
    """Return what a reader has to find, as it is shown."""
    findings = [text for one in report.findings
                for text in (one.finding.message, *(fix.title for fix in one.finding.fixes))]
    places = [*(str(one.place) for one in report.findings), *(str(note.place) for note in report.notes)]
    return [printable(text, 1200) for text in (*findings, *places, *(note.said for note in report.notes))]


@given(reports(), texts)
@settings(max_examples=60, deadline=None)
def test_markdown_has_no_markup_of_a_file(report: LintReport, diff: str) -> None:
    """A real parser finds no link, no picture, no HTML but a comment of ours, and the diff in its block."""
    shown = manifest_formats.markdown(replace(report, diff=f"+{diff}"), written=False)
    tokens = [*flat(MarkdownIt("commonmark").enable("table").parse(shown))]
    assert {token.type for token in tokens} & {"link_open", "image", "html_block"} == set()
    assert {token.content for token in tokens if token.type.startswith("html")} <= {"<!-- -->"}
    assert {token.tag for token in tokens if token.type == "heading_open"} == {"h2", "h3"}
    [block] = [token.content for token in tokens if token.type == "fence"]
    assert block.startswith("+")


@given(reports())
@settings(max_examples=60, deadline=None)
def test_a_page_loads_and_runs_nothing(report: LintReport) -> None:
    """It has only elements of ours, and says all there is."""
    page = Page()
    page.feed(manifest_formats.page(replace(report, diff="+</pre><script>x()</script>"), written=True))
    assert page.tags & {"script", "img", "iframe", "object", "embed", "link", "a", "form", "base"} == set()
    assert page.attributes & {"src", "href", "style", "srcset", "action"} == set()
    words = "\n".join(page.words)
    assert [text for text in said_of(report) if xml(text) not in words] == []
    assert "</pre><script>x()</script>" in words


@given(reports(), st.sampled_from([Severity.ERROR, Severity.WARNING, Severity.INFO]), st.booleans())
@settings(max_examples=60, deadline=None)
def test_tests_fail_as_the_exit_code_does(report: LintReport, fail_on: Severity, strict: bool) -> None:
    """A finding of that level fails, what could not be judged is an error unless that is allowed."""
    document = manifest_formats.tests(report, fail_on, strict=strict)
    suite = ET.fromstring(document.encode()).find("testsuite")
    assert suite is not None
    cases = suite.findall("testcase")
    failed = [case for case in cases[1:] if case.find("failure") is not None]
    assert len(failed) == sum(one.finding.severity.rank <= fail_on.rank for one in report.findings)
    errors = [case for case in cases if case.find("error") is not None]
    questions = len(report.undecided) + sum(note.matters for note in report.notes)
    assert len(errors) == (questions if strict else 0)
    assert len(cases) == 1 + len(report.findings) + len(report.undecided) + len(report.notes)
    assert problems(document) == []


@pytest.mark.parametrize(("code", "kind"), [(0, None), (1, "failure"), (3, "error")])
def test_the_first_test_is_the_verdict(code: int, kind: str | None) -> None:
    """It holds the text for people."""
    report = replace(seen(), exit_code=code)
    first = ET.fromstring(manifest_formats.tests(report, Severity.ERROR, strict=True).encode()).find(
        "testsuite/testcase")
    assert first is not None
    assert [child.tag for child in first] == [*([kind] if kind else []), "system-out"]
    assert manifests.closing(report) in (first.findtext("system-out") or "")


def test_what_is_said_is_said_in_each() -> None:
    """The finding, its place and its rule."""
    report = seen()
    for shown in (manifest_formats.markdown(report, written=False),
                  manifest_formats.page(report, written=False),
                  manifest_formats.tests(report, Severity.ERROR, strict=True)):
        assert re.search(r"Dockerfile:3:\d+", shown)
        assert report.findings[0].finding.cause in shown
