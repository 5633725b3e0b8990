"""What `gpudoctor lint` found as SARIF 2.1.0, which sites that hold code show beside its lines.

Source: https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html (2026-11-23). A message there may
hold links and places to fill in, so that what stands in a file is written in a way that is neither.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gpudoctor.home import REPOSITORY
from gpudoctor.manifests.judging import Located
from gpudoctor.manifests.report import LintReport, advice
from gpudoctor.manifests.spans import Place
from gpudoctor.model import Rule, Severity, Undecided
from gpudoctor.render.plain import printable
from gpudoctor.render.where import uri
from gpudoctor.skeleton import OF_A_SITE

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_ROOT = "%SRCROOT%"  # as GitHub calls the top of a checkout
_MOST = 4000  # characters of one thing said
_LEVELS: Mapping[Severity, str] = {
    Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note", Severity.BENIGN: "none"}
_NOT_JUDGED = "not-judged"  # the rule of what no rule could be asked about


def render(report: LintReport, rules: Sequence[Rule], folder: str) -> str:
    """Return the document; files are told from this folder, of `rules` those that spoke."""
    spoke = dict.fromkeys([*(one.finding.rule for one in report.findings),
                           *(one.rule for _, one in report.undecided)])
    known = {rule.id: rule for rule in rules}
    described = [_rule(known[name]) if name in known else {"id": name} for name in spoke]
    if any(note.matters for note in report.notes):
        described.append({"id": _NOT_JUDGED, "shortDescription": {
            "text": "Say in the file what only the build knows: gpudoctor could not judge it"}})
    numbers = {one["id"]: number for number, one in enumerate(described)}
    results = [{**one, "ruleIndex": numbers[one["ruleId"]]} for one in _results(report, folder)]
    run = {
        "tool": {"driver": {
            "name": "gpudoctor", "semanticVersion": report.tool_version, "informationUri": REPOSITORY,
            "rules": described, "properties": {"rulesVersion": report.rules_version}}},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {_ROOT: {"description": {"text": "The folder in which gpudoctor was run"}}},
        "invocations": [{
            "executionSuccessful": True, "exitCode": report.exit_code,
            "toolExecutionNotifications": [
                {"level": "note", "message": {"text": literal(note.said)},
                 "locations": _at(note.place, folder)} for note in report.notes if not note.matters]}],
        "results": results,
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def literal(said: str) -> str:
    """Return words in which a reader of SARIF finds no link, no place to fill in and no control character."""
    return printable(said, _MOST).replace("](", "] (").replace("{", "{{").replace("}", "}}")


def _results(report: LintReport, folder: str) -> Iterator[dict[str, Any]]:
    for one in report.findings:
        yield {"ruleId": one.finding.rule, **_gravity(one), "message": {"text": literal(_said(one))},
               "locations": _at(one.place, folder)}
    for place, undecided in report.undecided:
        said = f"{undecided.cause} could not be judged: {_why(undecided)}"
        yield _open(undecided.rule, said, place, folder)
    for note in report.notes:
        if note.matters:
            yield _open(_NOT_JUDGED, note.said, note.place, folder)


def _gravity(one: Located) -> dict[str, str]:
    level = _LEVELS[one.finding.severity]
    return {"level": level, "kind": "informational" if level == "none" else "fail"}


def _said(one: Located) -> str:
    """Return the message with its first cure: some readers show no help."""
    cures = [advice(fix) for fix in one.finding.fixes[:1]]
    return ". ".join([one.finding.message.rstrip("."), *cures])


def _why(undecided: Undecided) -> str:
    return "; ".join(dict.fromkeys(reason.source for reason in undecided.reasons))


def _open(rule: str, said: str, place: Place, folder: str) -> dict[str, Any]:
    return {"ruleId": rule, "level": "none", "kind": "open", "message": {"text": literal(said)},
            "locations": _at(place, folder)}


def _at(place: Place, folder: str) -> list[dict[str, Any]]:
    address, is_relative = uri(place.file, folder)
    artifact = {"uri": address, **({"uriBaseId": _ROOT} if is_relative else {})}
    return [{"physicalLocation": {"artifactLocation": artifact, "region": {
        "startLine": place.line, "startColumn": place.column}}}]


def _rule(rule: Rule) -> dict[str, Any]:
    """Return what is known of a rule: its page is the help."""
    whole = rule.page.replace("](../../", f"]({REPOSITORY}/blob/main/")
    page = f"{whole}\n\ngpudoctor rules show {rule.id} prints this page with its sources."
    told = page.replace("{", "{{").replace("}", "}}")
    address = REPOSITORY if rule.id.startswith(OF_A_SITE) else f"{REPOSITORY}/blob/main/rules/{rule.path}"
    return {
        "id": rule.id, "name": rule.cause, "shortDescription": {"text": literal(rule.title)},
        "fullDescription": {"text": literal(rule.told or rule.title)}, "helpUri": address,
        "help": {"text": told, "markdown": told},
        "defaultConfiguration": {"level": _LEVELS[rule.severity]}}
