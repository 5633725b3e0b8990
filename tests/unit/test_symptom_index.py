"""The index of symptoms finds what a look at all of them finds; compiled ones are decoded late."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from gpudoctor import compiled, ruledb
from gpudoctor.model import SymptomPattern
from gpudoctor.pattern_forms import PEOPLE, stem_of
from gpudoctor.sources.scan import scan_text
from gpudoctor.symptom_index import ById, index_of, of_program
from tests.contract.checkout import RULES


@pytest.fixture(scope="module")
def every_one() -> tuple[SymptomPattern, ...]:
    """Return all shipped symptoms, decoded one after another."""
    return tuple(ruledb.load_compiled(RULES, "told").symptoms)


def test_compiled_index_is_the_one_that_would_be_made(every_one: tuple[SymptomPattern, ...]) -> None:
    """Places, ids, programs and stems."""
    shipped = ruledb.load_compiled(RULES, "told").symptoms
    assert index_of(shipped) == index_of(every_one)
    assert list(ById(shipped)) == [symptom.id for symptom in every_one]


def test_each_pattern_has_its_owner(every_one: tuple[SymptomPattern, ...]) -> None:
    """Symptoms without patterns, which share their place with the next, own none."""
    index = index_of(every_one)
    owners = [index.owner_of(place) for place in range(index.first_patterns[-1])]
    assert owners == [(number, place) for number, symptom in enumerate(every_one)
                      for place in range(len(symptom.patterns))]
    assert all(stem_of(every_one[number].patterns[which]) == stem for stem, places in index.stems.items()
               for number, which in map(index.owner_of, places))
    wordless = [symptom.id for symptom in every_one if not symptom.patterns]
    assert wordless
    assert [symptom.id for symptom in ById(every_one).without_patterns()] == wordless


def test_people_are_found_by_their_name(every_one: tuple[SymptomPattern, ...]) -> None:
    """And a program that no symptom is of has none."""
    assert list(of_program(every_one, PEOPLE)) == [one for one in every_one if one.program == PEOPLE]
    assert not list(of_program(every_one, "nobody"))


def test_a_text_needs_only_what_it_shows(tmp_path: Path) -> None:
    """A line of the file that is damaged is told when its symptom is asked for, with the file's name."""
    for name in compiled.NAMES:
        shutil.copy(RULES / name, tmp_path)
    file = tmp_path / compiled.SYMPTOM_LINES_NAME
    first, *lines = file.read_text("utf-8").splitlines()
    file.write_text("\n".join([first, *lines[:-1], "{"]), "utf-8")
    symptoms = ruledb.load_compiled(tmp_path, "told").symptoms
    assert list(scan_text(f"{symptoms[0].patterns[0]}\n", symptoms).shown) == [symptoms[0].id]
    with pytest.raises(ruledb.RuleDatabaseError, match=r"symptoms\.jsonl is damaged"):
        _ = symptoms[-1]


@pytest.mark.parametrize("name", [compiled.SYMPTOM_LINES_NAME, compiled.TABLES_NAME])
def test_a_file_that_was_cut_off_is_told(name: str, tmp_path: Path) -> None:
    """Regression: explain ended with exit code 5 at a symptom behind the end of its file."""
    for each in compiled.NAMES:
        shutil.copy(RULES / each, tmp_path)
    (tmp_path / name).write_bytes(b"\n".join((RULES / name).read_bytes().splitlines()[:9]))
    database = ruledb.load_compiled(tmp_path, "told")
    with pytest.raises(ruledb.RuleDatabaseError, match=rf"{name} is damaged \(8 lines of"):
        _ = [database.symptoms[-1], database.tables["torch"]]
