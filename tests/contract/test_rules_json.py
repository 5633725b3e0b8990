"""The compiled files of rules/, which commands read, are what compiling the pages gives."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from gpudoctor import compiled, ruledb, texts
from gpudoctor.proving import problems_of
from tests.contract.checkout import RULES

NAMES = compiled.NAMES


def test_compiled_rules_are_up_to_date() -> None:
    """Byte for byte; after a change of a page or table: `make rules`."""
    expected = compiled.encode(ruledb.load_pages(RULES))
    names = (compiled.HEAD_NAME, *NAMES)
    assert {name: (RULES / name).read_bytes() for name in names} == expected, "run `make rules`"


def test_compiled_rules_read_back_as_the_pages() -> None:
    """The two readers, of pages and of the compiled file, agree on every value."""
    assert ruledb.load_compiled(RULES, "whole") == ruledb.load_pages(RULES)


def test_what_judges_a_machine_reads_neither_pages_nor_cases_nor_symptoms(tmp_path: Path) -> None:
    """Without their files a machine is judged all the same; nothing of them is in the first."""
    for name in (compiled.RULES_NAME, compiled.TABLES_NAME):
        shutil.copy(RULES / name, tmp_path)
    judged = ruledb.load_compiled(tmp_path)
    assert {rule.id for rule in judged.rules} == {r.id for r in ruledb.load_pages(RULES).rules if r.detect}
    assert [rule.id for rule in judged.rules if rule.page or rule.case] == []
    with pytest.raises(ruledb.RuleDatabaseError, match=r"symptoms\.json.*reinstall"):
        list(judged.symptoms)


def read_wholly(folder: Path) -> None:
    """Read all that compiled rules hold, also what is read only when needed."""
    database = ruledb.load_compiled(folder, "whole")
    dict(database.tables)
    tuple(database.symptoms)
    tuple(database.words)


@pytest.mark.parametrize("name", NAMES[1:])
def test_a_file_of_another_compilation_is_refused(name: str, tmp_path: Path) -> None:
    """Each file names the digest of all that was compiled with it."""
    for each in NAMES:
        shutil.copy(RULES / each, tmp_path)
    digest = ruledb.load_compiled(tmp_path).sha256.encode()
    (tmp_path / name).write_bytes((tmp_path / name).read_bytes().replace(digest, b"0" * 64))
    with pytest.raises(ruledb.RuleDatabaseError, match=rf"{name} is not the one that was compiled"):
        read_wholly(tmp_path)


def test_shipped_rules_prove_themselves() -> None:
    """`rules lint` reads the compiled file, in which the order of a case's facts must have survived."""
    database = ruledb.load_shipped("whole")
    assert list(problems_of(database, lambda log: texts.told_causes(log, database))) == []
