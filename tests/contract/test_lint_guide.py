"""The guide's table of what lint judges: held against what it finds in files, and what it rewrites."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache

from gpudoctor.manifests import rewrites
from gpudoctor.manifests.judging import Verdicts
from tests.harness.pages import ROOT
from tests.unit.test_manifest_reaching import CASES
from tests.unit.test_manifest_troubles import TROUBLES, Files, database, docker, judged

ROW = re.compile(r"\| (?P<judged>[^|]+) \| (?P<said>[A-Za-z, ]+) \| (?P<pages>GPD\d{4}(?:, GPD\d{4})*) \| "
                 r"(?P<fix>yes |)\|")
CONTAINERS = ("Dockerfile", "compose.yaml", "pod.yaml")
SAID_BY = {"RUN": ("Dockerfile",), "images": CONTAINERS, "variables": CONTAINERS,
           "packages": ("Dockerfile", "requirements.txt", "pyproject.toml", "environment.yml")}
ANY_DRIVER = ("driver=545.23.08", "cc=8.9")
OTHERS: tuple[tuple[Files, tuple[str, ...]], ...] = (
    (docker("FROM ubuntu:24.04", "RUN apt-get install -y cuda-drivers"), ANY_DRIVER),
    (docker("FROM ubuntu:24.04", "RUN apt-get install -y nvidia-driver-550"), ANY_DRIVER),
    (docker("FROM ubuntu:24.04", "RUN apt-get install -y cuda-12-3"), ANY_DRIVER),
    (docker("FROM ubuntu:24.04", "RUN apt-get install -y cuda-12-4"), ANY_DRIVER),
    (docker("FROM ubuntu:24.04", "RUN echo don't"), ANY_DRIVER),
    ({"requirements.txt": "six\njax[cuda13]==0.12.0\n"}, ANY_DRIVER),
    ({"requirements.txt": "tensorflow[and-cuda]\n"}, ()),
    (docker("FROM ubuntu:24.04", "CMD ['python', 'a.py']"), ANY_DRIVER))


@cache
def rows() -> tuple[tuple[tuple[str, ...], tuple[str, ...], bool], ...]:
    """Return of each row what says it, its pages, and whether it can be put right."""
    text = (ROOT / "docs/guide/lint.md").read_text(encoding="utf-8")
    table = text.partition("| judged |")[2].partition("\n\n")[0].splitlines()[2:]
    found = [ROW.fullmatch(line) for line in table]
    assert all(found), table
    return tuple((tuple(row["said"].split(", ")), tuple(row["pages"].split(", ")), bool(row["fix"]))
                 for row in found if row is not None)


def found_in(files: Files, host: tuple[str, ...]) -> Iterator[tuple[str, str, bool]]:
    """Yield the page of each finding, the file that it is in, and whether it is put right."""
    def judge_again(changed: Mapping[str, str]) -> Verdicts:
        return judged(changed, *host, whole=True)

    verdicts = judge_again(files)
    changed = {change.rule for change in rewrites.proven(verdicts.findings, files, judge_again)}
    for one in verdicts.findings:
        yield one.finding.rule, one.place.file, one.finding.rule in changed


@cache
def seen() -> tuple[tuple[str, str, bool], ...]:
    """Return what is found in the files of the tests."""
    files = [*((files, host) for files, _, _, _, host in TROUBLES.values()),
             *((files, host) for files, host, _ in CASES.values()), *OTHERS]
    return tuple(one for pair in files for one in found_in(*pair))


def test_every_page_in_the_table_is_found_and_every_page_that_is_found_is_in_it() -> None:
    listed = [page for _, pages, _ in rows() for page in pages]
    assert sorted(listed) == sorted(set(listed))
    assert {page for page, _, _ in seen()} == set(listed)


def test_every_page_about_files_is_in_the_table() -> None:
    listed = {page for _, pages, _ in rows() for page in pages}
    assert {rule.id for rule in database().rules if rule.path.startswith("file/")} <= listed


def test_what_the_table_calls_fixable_is_rewritten_and_nothing_else() -> None:
    fixable = {page for _, pages, fix in rows() for page in pages if fix}
    assert {page for page, _, is_fixed in seen() if is_fixed} == fixable


def test_a_finding_stands_in_a_file_that_the_table_names() -> None:
    kinds = {page: {kind for word in said for kind in SAID_BY[word]} for said, pages, _ in rows()
             for page in pages}
    others = {(page, file) for page, file, _ in seen() if file not in kinds[page] and file != "r.txt"}
    assert others == set()
