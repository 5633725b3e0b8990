"""docs/findings.md lists what the wheels told first, each with the page and the case that prove it."""

from __future__ import annotations

import re
from functools import cache

import pytest

from gpudoctor import ruledb
from gpudoctor.model import Case, RuleDatabase
from tests.contract.checkout import ROOT

PAGE = ROOT / "docs" / "findings.md"
HEADING = "## The first findings, and the case of each"
_ROW = re.compile(
    r"^\| (?P<finding>[^|]+) \| \[(?P<page>GPD\d{4})\]\((?P<file>[^)]+)\) \| (?P<case>[^|]+) \|$",
    re.MULTILINE)
_TABLES = ("tensorflow", "torch", "tensorflow_distributions", "jax_distributions", "paddle_distributions",
           "nvidia_libraries", "misnamed_distributions", "placeholder_distributions")
_RELEASE = re.compile(r"([a-z][a-z0-9-]*)(?:\[[a-z0-9-]+\])?==(\d[\w.]*)")
_SPOKEN = re.compile(r"\b([A-Za-z][A-Za-z0-9-]*)(?:\[[a-z-]+\])?[ -](\d+(?:\.\d+)+(?:\.?[a-z]+\d+)?)")


def rows() -> list[dict[str, str]]:
    part = PAGE.read_text().split(HEADING)[1].split("\n## ")[0]
    return [match.groupdict() for match in _ROW.finditer(part)]


@cache
def database() -> RuleDatabase:
    return ruledb.load_shipped("whole")


@cache
def published() -> frozenset[tuple[str, str]]:
    """Return every release that a table of wheels has, by the name of its distribution or framework."""
    found = set()
    for name in _TABLES:
        table = database().tables[name]
        for row in table.rows:
            source = _RELEASE.search(str(row["source"]))
            found |= {(str(row.get("distribution", name)), str(row.get("version", "")))}
            found |= {(source[1], source[2])} if source else set()
    return frozenset(found)


def case_of(row: dict[str, str]) -> Case:
    rule = next(rule for rule in ruledb.load_shipped("whole").rules if rule.id == row["page"])
    return next(case for case in rule.case if case.name == row["case"])


def test_the_list_is_read() -> None:
    """A table that no longer has this form would leave the other tests with nothing to look at."""
    assert len(rows()) >= 30
    written = PAGE.read_text().split(HEADING)[1].split("\n## ")[0].count("\n| ")
    assert len(rows()) == written - 1  # its heading


@pytest.mark.parametrize("row", rows(), ids=lambda row: f"{row['page']} {row['case'][:40]}")
def test_a_finding_has_its_case_of_a_real_release(row: dict[str, str]) -> None:
    """The page and the case are there, and the case names a release that a table has."""
    assert (PAGE.parent / row["file"]).is_file()
    assert row["page"] in row["file"]
    case = case_of(row)
    words = f"{case.name} {case.log or ''} {dict(case.facts)}"
    named = {*_RELEASE.findall(words), *((name.lower(), version) for name, version in _SPOKEN.findall(words))}
    assert named & {*published(), *((_as_said(name), version) for name, version in published())}, named


def _as_said(distribution: str) -> str:
    return {"paddlepaddle-gpu": "paddle", "paddlepaddle": "paddle"}.get(distribution, distribution)
