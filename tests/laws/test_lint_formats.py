"""Whatever files are called and hold, what `lint` says for sites that hold code stays what it is."""

from __future__ import annotations

import json
import os
import re
from dataclasses import replace
from functools import cache
from typing import Any
from urllib.parse import unquote, urljoin, urlsplit

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpudoctor import ruledb
from gpudoctor.assume import assumed, lay
from gpudoctor.manifests import kinds
from gpudoctor.manifests.judging import Linter, Located
from gpudoctor.manifests.left_open import Note
from gpudoctor.manifests.report import LintReport
from gpudoctor.manifests.spans import Place, Source
from gpudoctor.model import Evidence, Severity, Undecided, Verdict
from gpudoctor.render import annotated, sarif
from gpudoctor.render.plain import printable
from tests.laws.test_formats import HOSTILE, obeyed, texts

FOLDER = "/work dir/é"
names = st.one_of(
    st.sampled_from(["Dockerfile", "./a/../b", "a b", "x:y", "../up", "/abs/olute", "%41", "#", "?", "a\\b",
                     "::error::x", "new\nline", f"{FOLDER}/inside", *filter(str.strip, HOSTILE[2:8])]),
    st.binary(min_size=1, max_size=12).map(lambda data: os.fsdecode(data.replace(b"\0", b"-"))))
_TEXT = {"type": "object", "required": ["text"], "properties": {
    "text": {"type": "string", "minLength": 1}, "markdown": {"type": "string"}},
    "additionalProperties": False}
_LOCATIONS = {"type": "array", "minItems": 1, "items": {
    "type": "object", "required": ["physicalLocation"], "additionalProperties": False, "properties": {
        "physicalLocation": {
            "type": "object", "required": ["artifactLocation", "region"], "additionalProperties": False,
            "properties": {
                "artifactLocation": {
                    "type": "object", "required": ["uri"], "additionalProperties": False, "properties": {
                        "uri": {"type": "string", "pattern": r"\A[A-Za-z0-9\-._~:/%]+\Z"},
                        "uriBaseId": {"const": "%SRCROOT%"}}},
                "region": {
                    "type": "object", "required": ["startLine", "startColumn"],
                    "additionalProperties": False, "properties": {
                        "startLine": {"type": "integer", "minimum": 1},
                        "startColumn": {"type": "integer", "minimum": 1}}}}}}}}
_LEVEL = {"enum": ["none", "note", "warning", "error"]}
# Of the parts that are written, what SARIF 2.1.0 asks for and allows there, by its prose (3.13 to 3.58). What
# it allows besides is left out, so that a slip of the pen is refused.
SHAPE: dict[str, Any] = {
    "type": "object", "required": ["version", "runs"], "additionalProperties": False, "properties": {
        "$schema": {"type": "string", "format": "uri"}, "version": {"const": "2.1.0"},
        "runs": {"type": "array", "minItems": 1, "maxItems": 1, "items": {
            "type": "object", "required": ["tool", "results"], "additionalProperties": False, "properties": {
                "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
                "originalUriBaseIds": {"type": "object", "additionalProperties": {
                    "type": "object", "properties": {"description": _TEXT}, "additionalProperties": False}},
                "tool": {"type": "object", "required": ["driver"], "additionalProperties": False,
                         "properties": {"driver": {
                             "type": "object", "required": ["name"], "additionalProperties": False,
                             "properties": {
                                 "name": {"type": "string"}, "informationUri": {"type": "string"},
                                 "semanticVersion": {"type": "string", "pattern": r"\A\d+\.\d+\.\d+"},
                                 "properties": {"type": "object"},
                                 "rules": {"type": "array", "uniqueItems": True, "items": {
                                     "type": "object", "required": ["id"], "additionalProperties": False,
                                     "properties": {
                                         "id": {"type": "string"}, "name": {"type": "string"},
                                         "helpUri": {"type": "string", "pattern": "^https://"},
                                         "shortDescription": _TEXT, "fullDescription": _TEXT, "help": _TEXT,
                                         "defaultConfiguration": {
                                             "type": "object", "properties": {"level": _LEVEL},
                                             "additionalProperties": False}}}}}}}},
                "invocations": {"type": "array", "items": {
                    "type": "object", "required": ["executionSuccessful"], "additionalProperties": False,
                    "properties": {
                        "executionSuccessful": {"type": "boolean"}, "exitCode": {"type": "integer"},
                        "toolExecutionNotifications": {"type": "array", "items": {
                            "type": "object", "required": ["message"], "additionalProperties": False,
                            "properties": {"message": _TEXT, "level": _LEVEL, "locations": _LOCATIONS}}}}}},
                "results": {"type": "array", "items": {
                    "type": "object", "required": ["message", "ruleId", "locations"],
                    "additionalProperties": False, "properties": {
                        "ruleId": {"type": "string"}, "ruleIndex": {"type": "integer", "minimum": 0},
                        "level": _LEVEL, "kind": {"enum": ["fail", "open", "informational"]},
                        "message": _TEXT, "locations": _LOCATIONS}}}}}}}}


@cache
def seen() -> LintReport:
    """Return the report on a file of which one thing is wrong."""
    database = ruledb.load()
    machine = lay(database.base, assumed([("driver", "595.45.04")]), database.tables, source="a test")
    text = "# docker run --gpus all\nFROM python:3.12-slim\nRUN pip install 'numpy' a>=1\n"
    source = Source("Dockerfile", text)
    verdicts = Linter(machine, database).judge(kinds.environments(source, lambda _: None))
    assert len(verdicts.findings) == 1
    return LintReport(
        tool_version="0.1.0", rules_version=database.version, rules_sha256=database.sha256,
        verdict=Verdict.FINDINGS, exit_code=1, assumptions=(), files=("Dockerfile",),
        host={"kind": "assumed", "driver": "595", "cuda_ceiling": "13", "cards": "any"},
        findings=verdicts.findings, undecided=verdicts.undecided, notes=verdicts.notes)


@st.composite
def reports(draw: st.DrawFn) -> LintReport:
    """Draw a report on files whose names and contents are as hostile as they can be."""
    def place() -> Place:
        line, column = draw(st.integers(1, 9)), draw(st.integers(1, 9))
        return Place(file=draw(names), line=line, column=column, start=0, end=0)

    def located(one: Located) -> Located:
        fixes = tuple(replace(fix, title=draw(texts)) for fix in one.finding.fixes)
        finding = replace(one.finding, message=draw(texts), fixes=fixes,
                          severity=draw(st.sampled_from(Severity)))
        return replace(one, place=place(), finding=finding)

    question = Undecided(rule="GPD2010", cause="driver-too-old", severity=Severity.ERROR, subject="torch",
                         reasons=(Evidence(fact="x.y", saw=draw(texts), source=draw(texts)),), asked=True)
    noted = [Note(place=place(), said=draw(texts) or "-", matters=draw(st.booleans())) for _ in range(2)]
    return replace(seen(), findings=tuple(map(located, seen().findings)), notes=tuple(noted),
                   undecided=((place(), question),))


@given(reports())
@settings(max_examples=150, deadline=None)
def test_sarif_is_sarif_and_points_at_the_files(report: LintReport) -> None:
    """The document has the shape of SARIF 2.1.0, each result has its rule, each address leads to its file."""
    document = json.loads(sarif.render(report, ruledb.load().rules, FOLDER))
    jsonschema.validate(document, SHAPE)
    run = document["runs"][0]
    told = [*run["results"], *run["invocations"][0]["toolExecutionNotifications"]]
    matter = [note for note in report.notes if note.matters]
    places = [*(one.place for one in report.findings), *(place for place, _ in report.undecided),
              *(note.place for note in matter), *(note.place for note in report.notes if not note.matters)]
    assert len(told) == len(places)
    for one, place in zip(told, places, strict=True):
        where = one["locations"][0]["physicalLocation"]
        assert where["region"] == {"startLine": place.line, "startColumn": place.column}
        artifact = where["artifactLocation"]
        base = "file:///work%20dir/%C3%A9/" if "uriBaseId" in artifact else "file:///"
        address = urlsplit(urljoin(base, artifact["uri"]))
        assert (address.scheme, address.query, address.fragment) == ("file", "", "")
        path = unquote(address.path, errors="surrogateescape")
        assert path == os.path.normpath(os.path.join(FOLDER, place.file)).replace("//", "/")
        assert ("uriBaseId" in artifact) == path.startswith(f"{FOLDER}/")
    for one in run["results"]:
        assert run["tool"]["driver"]["rules"][one["ruleIndex"]]["id"] == one["ruleId"]
        assert one["kind"] == "fail" or one["level"] == "none"


@given(st.one_of(texts, st.text(alphabet="[](){}01x\\ ", max_size=20)))
@settings(max_examples=300, deadline=None)
def test_a_message_holds_no_link_and_nothing_to_fill_in(said: str) -> None:
    """What a reader of SARIF makes of it is what was said."""
    literal = sarif.literal(said)
    assert re.search(r"\]\(", literal) is None
    shown = literal.replace("{{", "\0").replace("}}", "\1")
    assert set(shown) & set("{}") == set()
    assert shown.replace("\0", "{").replace("\1", "}").replace("] (", "](") == printable(
        said, 4000).replace("] (", "](")


@given(reports())
@settings(max_examples=100, deadline=None)
def test_github_obeys_annotations_alone(report: LintReport) -> None:
    """Nothing in a file becomes a command of the job; what could not be judged is annotated, too."""
    commands = [*obeyed(annotated.render(report, FOLDER, written=False))]
    assert [line for line in commands if not line.startswith(("::error ", "::warning ", "::notice "))] == []
    told = [one for one in report.findings if one.finding.severity is not Severity.BENIGN]
    assert len(commands) == len(told) + len(report.undecided) + sum(note.matters for note in report.notes)
    for line in commands:
        assert re.match(r"::\w+ file=[^,:]+,line=\d+,col=\d+,title=gpudoctor%3A [^,:]+::", line)


def test_the_shape_refuses_what_is_none() -> None:
    """A slip of the pen, and an address with a space in it, would be noticed."""
    document = json.loads(sarif.render(seen(), ruledb.load().rules, FOLDER))
    result = document["runs"][0]["results"][0]
    spaced = json.loads(json.dumps(result["locations"]).replace("Dockerfile", "a b"))
    changes: tuple[dict[str, Any], ...] = (
        {"mesage": {"text": "x"}}, {"level": "info"}, {"locations": []}, {"locations": spaced})
    for change in changes:
        broken = {**document, "runs": [{**document["runs"][0], "results": [{**result, **change}]}]}
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(broken, SHAPE)
