"""Folders of pages that can be read and not judged by: exit 4 with file, line and remedy, however named."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from gpudoctor import codec, ruledb
from tests.contract.checkout import ROOT, RULES, run_gpudoctor

INPUT, FINDINGS = 4, 1
PAGE = "driver/GPD9990-cuda-does-not-start.md"
TABLE = "tables/branches.toml"
BRANCHES = """[table]
summary = "Branches that nobody makes"
key = ["driver"]

[columns]
driver = "driver_version"
cuda = "cuda_version"
forms = "texts"

[[row]]
driver = "470.0"
cuda = "11.4"
source = "pypi:branches==1"

[[row]]
driver = "580.0"
cuda = "13.0"
source = "pypi:branches==1"
"""
SYMPTOMS = """[program]
name = "crane"
summary = "A crane."

[[symptom]]
id = "crane-rope"
pattern = "crane: the rope is torn by {program}"
captures = { program = "word" }
gives = { "text.places" = "'docker'" }
meaning = "It is torn."
benign = false
versions = []
suspects = [
  { cause = "cuda-does-not-start", weight = 50, when = [{ fact = "system.os", op = "equals", value = "x" }] },
]
examples = [{ line = "crane: the rope is torn by load", captures = { program = "load" } }]
source = "https://example.org"
accessed = "2026-11-01"
"""


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    """Return a small folder of rules that a test may break."""
    folder = tmp_path / "rules"
    shutil.copytree(ROOT / "tests" / "hosts" / "rules", folder)
    for name, text in ((TABLE, BRANCHES), ("symptoms/crane.toml", SYMPTOMS)):
        (folder / name).parent.mkdir()
        (folder / name).write_text(text)
    return folder


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """Return the file of a machine that every page can judge."""
    path = tmp_path / "machine.json"
    path.write_text(json.dumps(codec.encode_snapshot(ruledb.load_shipped().base)))
    return path


def line_with(path: Path, text: str) -> int:
    """Return the first line of a file that holds a text."""
    return next(number for number, line in enumerate(path.read_text().splitlines(), 1) if text in line)


_CONDITION = '{ fact = "cuda.init_code", op = "differs", value = 0 }'
BROKEN = {
    "a fact that is mistyped": (PAGE, _CONDITION, '{ fact = "cuda.init_cod", op = "exists" }',
                                "there is no fact cuda.init_cod (did you mean cuda.init_code?)"),
    "a list asked of a number": (
        PAGE, _CONDITION, '{ fact = "cuda.init_code", op = "contains", value = "0" }',
        "cuda.init_code contains: integer is no list"),
    "an order of texts": (PAGE, _CONDITION, '{ fact = "system.os", op = "below", value = "x" }',
                          "system.os below: text has no order"),
    "a word for a number": (PAGE, _CONDITION, '{ fact = "cuda.init_code", op = "equals", value = "none" }',
                            "'none' is no integer"),
    "a word for a version": (PAGE, _CONDITION, '{ fact = "driver.version", op = "below", value = "seven" }',
                             "'seven' is no driver_version"),
    "a fact of a card on a page of the host": (
        PAGE, _CONDITION, '{ fact = "gpu.name", op = "exists" }', "gpu.name is not visible in scope 'host'"),
    "a table that is not there": (
        PAGE, _CONDITION,
        '{ fact = "driver.version", op = "below", lookup = "branch.driver", key = "driver.version" }',
        "there is no table column branch.driver"),
    "a summary that names no fact": (
        PAGE, 'summary = "', 'summary = "{cuda.init_cod} ', "there is no fact cuda.init_cod"),
    "a version that is none": (TABLE, 'cuda = "11.4"', 'cuda = "seven"',
                               "row 1: cuda = 'seven' is no cuda_version"),
    "a text for a list": (TABLE, 'cuda = "11.4"', 'cuda = "11.4"\nforms = "one"',
                          "row 1: forms = 'one' is no texts"),
    "a source without the day it was read": (
        TABLE, 'source = "pypi:branches==1"', 'source = "https://example.org"',
        "row 1: its https source lacks the day it was read"),
    "a source that nobody finds": (TABLE, 'source = "pypi:branches==1"', 'source = "a colleague"',
                                   "row 1: its source 'a' is neither https:// nor pypi:NAME==VERSION"),
    "a suspect under a condition that cannot hold": (
        "symptoms/crane.toml", 'fact = "system.os"', 'fact = "system.oss"',
        "crane-rope: suspects cuda-does-not-start: there is no fact system.oss"),
    "a suspect that is the cause of no page": (
        "symptoms/crane.toml", 'cause = "cuda-does-not-start"', 'cause = "cuda-starts"',
        "crane-rope: suspects 'cuda-starts', which is the cause of no page"),
    "a fact of a text that is mistyped": (
        "symptoms/crane.toml", '"text.places"', '"text.place"',
        "crane-rope: gives text.place: there is no such fact (did you mean text.places?)"),
    "a fact of the machine, given by a text": (
        "symptoms/crane.toml", '"text.places"', '"system.os"',
        "crane-rope: gives system.os, which is no fact of a text"),
    "a flag, given as a word": (
        "symptoms/crane.toml", '"text.places"', '"text.nvidia_card"',
        "crane-rope: gives text.nvidia_card: what a line says is words, and flag is not"),
    "a word, given as a version": (
        "symptoms/crane.toml", '"text.places"', '"text.driver"',
        "crane-rope: gives text.driver as 'docker', which is no driver_version"),
    "any word, given as a version": (
        "symptoms/crane.toml", "\"text.places\" = \"'docker'\"", '"text.driver" = "program"',
        "crane-rope: gives text.driver from the hole {program}, which holds any word"),
    "a hole that no pattern has": (
        "symptoms/crane.toml", "\"'docker'\"", '"rope"',
        "crane-rope: gives text.places from 'rope': neither a hole of a pattern nor a word"),
    "an order that there is not": (
        "symptoms/crane.toml", "benign = false",
        'benign = false\nholds = [{ left = "program", op = "under", right = "program" }]',
        "crane-rope: compares program by 'under': it is above or below"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_what_cannot_be_judged_by_is_refused(kind: str, rules: Path, machine: Path) -> None:
    """It was taken for what could not be seen, and the machine for healthy."""
    name, old, new, said = BROKEN[kind]
    file = rules / name
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new, 1))
    run = run_gpudoctor("check", "--from", str(machine), "--rules", str(rules))
    assert (run.returncode, run.stdout) == (INPUT, ""), run.stderr
    assert f"{file}:{line_with(file, new.splitlines()[-1])}: " in run.stderr
    assert said in run.stderr
    assert f"gpudoctor rules lint --rules {rules}" in run.stderr
    proof = run_gpudoctor("rules", "lint", str(rules))
    assert proof.returncode == FINDINGS
    assert said in proof.stdout


@pytest.mark.parametrize("option", ["GPUDOCTOR_RULES", "GPUDOCTOR_RULES_EXTRA"])
def test_it_is_refused_however_the_folder_is_named(option: str, tmp_path: Path, machine: Path) -> None:
    """Also a skeleton that nobody filled in: it judged, and nothing could be decided."""
    site = tmp_path / "site"
    site.mkdir()
    begun = run_gpudoctor("rules", "new", "licence", "server-full", "--rules", str(site))
    page = Path(begun.stdout.splitlines()[0])
    (site / "db.toml").write_text('version = "2026.11.0"\nschema = 1\n')
    run = run_gpudoctor("check", "--from", str(machine), environment={option: str(site)})
    assert (run.returncode, run.stdout) == (INPUT, "")
    assert f"{page}:{line_with(page, 'FILL IN')}: 21 places are still to be filled in" in run.stderr
    assert len(run.stderr.splitlines()) == 1


def test_an_id_of_two_pages_is_refused_once(rules: Path, machine: Path) -> None:
    """Both judged, and the same was found twice."""
    (rules / "card").mkdir()
    shutil.copy(rules / PAGE, rules / "card")
    run = run_gpudoctor("check", "--from", str(machine), "--rules", str(rules))
    assert (run.returncode, len(run.stderr.splitlines())) == (INPUT, 1)
    assert f"{rules / PAGE}:2: the id GPD9990 is also that of card/" in run.stderr


def test_a_site_may_look_up_in_tables_that_ship(tmp_path: Path) -> None:
    """Its pages are held against all the rules that they are judged with, not against its own alone."""
    page = (ROOT / "tests" / "hosts" / "rules" / PAGE).read_text().replace("GPD9990", "GPDX0001").replace(
        _CONDITION, '{ fact = "driver.version", op = "below", lookup = "cuda_toolkits.minimum_driver", '
        'key = ["driver.cuda_ceiling"] }')
    file = tmp_path / "driver" / "GPDX0001-cuda-does-not-start.md"
    file.parent.mkdir()
    file.write_text(page)
    assert "cuda_toolkits" in page
    assert ruledb.load(None, str(tmp_path)).rules[-1].id == "GPDX0001"


def test_a_fault_of_many_rows_is_one_line(rules: Path, machine: Path) -> None:
    """A column of another kind was a line for each row."""
    file = rules / TABLE
    file.write_text(file.read_text().replace('cuda = "cuda_version"', 'cuda = "integer"'))
    run = run_gpudoctor("check", "--from", str(machine), "--rules", str(rules))
    assert (run.returncode, len(run.stderr.splitlines())) == (INPUT, 1)
    line = line_with(file, "11.4")
    assert f"{file}:{line}: row 1 and 1 more: cuda = '11.4' is no integer" in run.stderr


@pytest.mark.parametrize("option", ["GPUDOCTOR_RULES", "GPUDOCTOR_RULES_EXTRA"])
def test_a_shipped_table_with_another_name_for_a_column_is_refused(
        option: str, tmp_path: Path, machine: Path) -> None:
    """It was whole, and the program, which reads it by the name, failed on its own account."""
    file = tmp_path / "tables" / "driver_branches.toml"
    file.parent.mkdir()
    text = (ROOT / "rules" / "tables" / file.name).read_text()
    file.write_text(text.replace("\ncuda = ", "\ntoolkit = "))
    (tmp_path / "db.toml").write_text('version = "2026.11.0"\nschema = 1\n')
    run = run_gpudoctor("check", "--from", str(machine), environment={option: str(tmp_path)})
    assert (run.returncode, run.stdout, len(run.stderr.splitlines())) == (INPUT, "", 1)
    line = line_with(file, "toolkit = ")
    assert f"{file}:{line}: has toolkit where the shipped table has cuda" in run.stderr
    file.write_text(text.replace("[columns]", '[columns]\nseen = "text"'))
    run = run_gpudoctor("check", "--from", str(machine), environment={option: str(tmp_path)})
    assert run.returncode != INPUT, run.stderr  # newer rules may have more columns


@pytest.mark.parametrize("option", ["GPUDOCTOR_RULES", "GPUDOCTOR_RULES_EXTRA"])
def test_a_shipped_table_without_one_of_its_columns_is_refused(
        option: str, tmp_path: Path, machine: Path) -> None:
    """The program, which reads the column, found nothing there; rules from before it are still read."""
    file = tmp_path / "tables" / "driver_branches.toml"
    file.parent.mkdir()
    text = (ROOT / "rules" / "tables" / file.name).read_text()
    kept = [line for line in text.splitlines() if not line.startswith("cuda = ")]
    file.write_text("\n".join(kept) + "\n")
    (tmp_path / "db.toml").write_text(f'version = "{ruledb.load_shipped().version}"\nschema = 1\n')
    run = run_gpudoctor("check", "--from", str(machine), environment={option: str(tmp_path)})
    assert (run.returncode, run.stdout, len(run.stderr.splitlines())) == (INPUT, "", 1)
    assert f"{file}:{line_with(file, '[columns]')}: lacks cuda, which the shipped table has" in run.stderr
    proof = {"GPUDOCTOR_RULES": f"gpudoctor rules lint --rules {tmp_path}",
             "GPUDOCTOR_RULES_EXTRA": f"GPUDOCTOR_RULES_EXTRA={tmp_path} gpudoctor rules lint"}
    assert f"prove it: {proof[option]}\n" in run.stderr
    (tmp_path / "db.toml").write_text('version = "2001.1.0"\nschema = 1\n')
    run = run_gpudoctor("check", "--from", str(machine), environment={option: str(tmp_path)})
    assert run.returncode not in (INPUT, 5), run.stderr


def test_a_page_that_looks_in_a_renamed_column_is_refused(rules: Path, machine: Path) -> None:
    """The table is a site's own, and whole; the page is what still has the old name."""
    page, table = rules / PAGE, rules / TABLE
    table.write_text(table.read_text().replace("\ncuda = ", "\ntoolkit = "))
    looking = ('{ fact = "driver.cuda_ceiling", op = "below", lookup = "branches.cuda", '
               'key = ["driver.version"] }')
    page.write_text(page.read_text().replace(_CONDITION, looking))
    run = run_gpudoctor("check", "--from", str(machine), "--rules", str(rules))
    assert (run.returncode, len(run.stderr.splitlines())) == (INPUT, 1)
    assert f"{page}:{line_with(page, 'branches.cuda')}: there is no table column branches.cuda" in run.stderr


@pytest.mark.parametrize("option", ["--rules", "GPUDOCTOR_RULES", "GPUDOCTOR_RULES_EXTRA"])
def test_pages_without_a_head_are_added_and_replace_nothing(option: str, rules: Path, machine: Path) -> None:
    """A site's few pages, named as all the rules, found every machine healthy."""
    (rules / "db.toml").unlink()
    for page in (rules / "driver").iterdir():
        text = page.read_text().replace("GPD999", "GPDX000")
        page.unlink()
        (page.parent / page.name.replace("GPD999", "GPDX000")).write_text(text)
    named = ("--rules", str(rules)) if option == "--rules" else ()
    environment = {} if named else {option: str(rules)}
    run = run_gpudoctor("check", "--from", str(machine), *named, environment=environment)
    if option == "GPUDOCTOR_RULES_EXTRA":
        assert "+site" in run.stdout.splitlines()[0], run.stderr
        return
    assert (run.returncode, run.stdout, len(run.stderr.splitlines())) == (INPUT, "", 1)
    assert f"{rules}/db.toml: there is none" in run.stderr
    assert f"GPUDOCTOR_RULES_EXTRA={rules}" in run.stderr
    assert run_gpudoctor("rules", "lint", str(rules)).returncode == FINDINGS  # it proves pages, whatever for


def test_a_copy_of_the_rules_from_which_files_are_gone(tmp_path: Path, machine: Path) -> None:
    """A regression: without the table of torch each machine was judged as if no release of it were known."""
    rules, gone = tmp_path / "rules", ["tables/preloads.toml", "tables/torch.toml", "base.toml"]
    shutil.copytree(RULES, rules, ignore=shutil.ignore_patterns("*.json", "*.jsonl"))
    for name in gone:
        (rules / name).unlink()
    run = run_gpudoctor("check", "--from", str(machine), "--rules", str(rules))
    assert (run.returncode, run.stdout) == (INPUT, "")
    said = run.stderr.removeprefix("gpudoctor: ").splitlines()
    assert [line.partition(", and the shipped pages")[0] for line in said] == [
        f"{rules}/{name}: there is none" for name in gone]
    assert all("put it back" in line for line in said)
    head = rules / "db.toml"
    head.write_text(re.sub(r'version = ".*"', 'version = "2026.1.0"', head.read_text(), count=1))
    assert run_gpudoctor("rules", "list", "--rules", str(rules)).returncode == 0, "older rules may lack it"


def test_cases_start_from_the_shipped_machine_where_a_folder_has_none(rules: Path, machine: Path) -> None:
    """A replacing folder needs no base.toml: with the shipped one the same is proven, and judged."""
    assert not (rules / "base.toml").exists()
    assert ruledb.load(str(rules)).base == ruledb.load_shipped().base
    assert run_gpudoctor("check", "--from", str(machine), "--rules", str(rules)).returncode == 0


def test_a_column_that_was_renamed_is_one_line(rules: Path) -> None:
    """It was one for each row, and the remedy stood at the end of the last."""
    file = rules / TABLE
    file.write_text(file.read_text().replace('cuda = "cuda_version"', 'toolkit = "cuda_version"'))
    run = run_gpudoctor("rules", "list", "--rules", str(rules))
    assert (run.returncode, len(run.stderr.splitlines())) == (INPUT, 1)
    line = line_with(file, "[[row]]")
    assert f"{file}:{line}: row 1 has cuda, which is no column; so do 1 more" in run.stderr
