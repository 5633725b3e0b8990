"""A short run of `python -m tests.fuzz`; long ones are recorded in docs/reliability.md."""

from __future__ import annotations

from gpudoctor.sources.importers import MARKS
from tests.fuzz.made import maker, samples
from tests.fuzz.trial import growth, problems
from tests.laws.test_symptoms import database

FILES = 60


def test_whatever_a_file_is_made_of_it_is_read() -> None:
    """Nothing raises, no border of a read shows, and nothing that is quoted can harm a terminal."""
    making = maker(20261120, database(), [])
    for _ in range(FILES):
        data, size = making.file(), making.chance.choice((7, 100, 4096))
        assert list(problems(data, size, database())) == []


def test_work_grows_no_faster_than_the_file() -> None:
    """Neither that of the pass nor that of an importer."""
    making = maker(20261121, database(), [])
    assert [problem for _ in range(4) for problem in growth(making.file(), database())] == []


def test_every_importer_is_among_what_files_are_made_of() -> None:
    """What no sample shows the signs of, chance would hardly ever make."""
    together = "\n".join(samples())
    assert [name for name, marks in MARKS.items() if not any(mark in together for mark in marks)] == []


def test_the_same_seed_makes_the_same_files() -> None:
    """What was found can be found again."""
    first, second = (maker(7, database(), []) for _ in range(2))
    assert [first.file() for _ in range(20)] == [second.file() for _ in range(20)]
