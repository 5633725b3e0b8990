"""The report as JUnit XML, which Jenkins and GitLab show as tests.

The first test is the verdict, which fails as the exit code does; each finding and each open question is one
more. What is below the level of failure passes, and says what it found.
Source: https://docs.gitlab.com/ci/testing/unit_test_reports/ and
https://github.com/jenkinsci/xunit-plugin junit-10.xsd (2026-11-23).
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterator

from gpudoctor.examine import EXIT_FINDINGS, EXIT_HEALTHY, Policy
from gpudoctor.model import Report
from gpudoctor.render import closing, outline, text
from gpudoctor.render.markup import xml
from gpudoctor.render.outline import Entry, Item, Open

_SUITE = "gpudoctor"
_WIDTH = 100  # columns; a report of tests has no terminal to ask


def render(report: Report, policy: Policy) -> str:
    """Return the document; what the policy calls a failure is a test that failed."""
    cases = [_verdict(report), *_findings(report, policy), *_questions(report, policy)]
    return document(cases, sum(probe.seconds for probe in report.snapshot.probes))


def document(cases: list[ET.Element], seconds: float) -> str:
    """Return the document of these tests, which took so long."""
    suite = ET.Element("testsuite", {
        "name": _SUITE, "tests": str(len(cases)), "failures": _count(cases, "failure"),
        "errors": _count(cases, "error"), "skipped": _count(cases, "skipped"), "time": f"{seconds:.3f}"})
    suite.extend(cases)
    root = ET.Element("testsuites")
    root.append(suite)
    ET.indent(root)
    return f"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{ET.tostring(root, encoding='unicode')}\n"


def _count(cases: list[ET.Element], kind: str) -> str:
    return str(sum(case.find(kind) is not None for case in cases))


def case_of(group: str, name: str) -> ET.Element:
    """Return a test that has passed so far."""
    return ET.Element("testcase", {"classname": xml(f"{_SUITE}.{group}"), "name": xml(name)})


def _verdict(report: Report) -> ET.Element:
    case = case_of("verdict", "the machine")
    if report.exit_code != EXIT_HEALTHY:
        kind = "failure" if report.exit_code == EXIT_FINDINGS else "error"
        tell(case, kind, closing.words(report), report.verdict.value, "")
    ET.SubElement(case, "system-out").text = xml(text.render(report, width=_WIDTH, colour=False))
    return case


def _findings(report: Report, policy: Policy) -> Iterator[ET.Element]:
    for entry in outline.entries(report):
        case = case_of(entry.subject.replace(".", "_"), f"{entry.cause} [{entry.rule}]")
        if entry.severity.rank <= policy.fail_on.rank:
            tell(case, "failure", entry.message, entry.label, _words(entry))
        else:
            ET.SubElement(case, "system-out").text = xml(f"{entry.label}\n{_words(entry)}")
        yield case


def _questions(report: Report, policy: Policy) -> Iterator[ET.Element]:
    """Yield what could not be judged: no test has passed that could not look."""
    for question in outline.open_questions(report):
        case = case_of("undecided", question.said)
        matters = question.severity.rank <= policy.fail_on.rank and not policy.allow_undecided
        tell(case, "error" if matters else "skipped", "could not be judged", "undecided", _words(question))
        yield case


def tell(case: ET.Element, kind: str, message: str, type_: str, words: str) -> None:
    """Say of a test that it is a failure, an error or was skipped, and why."""
    told = ET.SubElement(case, kind, {"message": xml(message), "type": xml(type_)})
    told.text = xml(words)


def _words(told: Entry | Open) -> str:
    said = told.message if isinstance(told, Entry) else told.said
    return "\n".join((said, *(line for item in told.items for line in _lines(item))))


def _lines(item: Item) -> Iterator[str]:
    yield f"{item.label}: {item.said}"
    yield from (f"    {line}" for line in (*item.lines, *item.answers))
