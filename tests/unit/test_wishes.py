"""What may be asked of `recommend`: read, joined, and held against what the tables know."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpudoctor.candidates.wishes import Wish, WishError, parse
from gpudoctor.model import RuleDatabase
from gpudoctor.ruledb import load_compiled

RULES = Path(__file__).parents[2] / "rules"


@pytest.fixture(scope="module")
def database() -> RuleDatabase:
    return load_compiled(RULES)


@pytest.mark.parametrize(("text", "expected"), [
    ("tensorflow", Wish(framework="tensorflow")),
    (" TF ", Wish(framework="tensorflow")),
    ("pytorch==2.9.*", Wish(framework="torch", bounds=("==2.9.*",))),
    ("tensorflow>=2.14,<2.16", Wish(framework="tensorflow", bounds=(">=2.14", "<2.16"))),
    ("jax[cuda12]==0.10.2", Wish(framework="jax", bounds=("==0.10.2",), extra="cuda12")),
    ("tensorflow[AND_CUDA]", Wish(framework="tensorflow", extra="and-cuda")),
    ("PaddlePaddle_GPU==2.6.2", Wish(framework="paddle", bounds=("==2.6.2",))),
    ("paddlepaddle-gpu==2.6.2", Wish(framework="paddle", bounds=("==2.6.2",))),
    ("torch==2.14.1+cu126", Wish(framework="torch", bounds=("==2.14.1+cu126",))),
])
def test_a_wish_is_read(text: str, expected: Wish, database: RuleDatabase) -> None:
    assert parse([text], database.tables) == (expected,)


def test_wishes_for_one_framework_are_joined(database: RuleDatabase) -> None:
    wishes = parse(["tensorflow>=2.14", "torch", "tensorflow<2.16"], database.tables)
    assert [wish.text for wish in wishes] == ["tensorflow>=2.14,<2.16", "torch"]


@pytest.mark.parametrize(("texts", "words"), [
    (["tensorfow"], ("unknown framework 'tensorfow'", "did you mean tensorflow?")),
    (["keras"], ("unknown framework", "tensorflow, torch, jax, paddle")),
    (["tensorflow==2.99"], ("tensorflow==2.99", "no such release", "2.21.0, 2.20.0")),
    (["tensorflow==2.15.7"], ("2.16.1, 2.15.1",)),
    (["torch==banana"], ("'==banana' is no bound",)),
    (["torch; rm -rf /"], ("is no framework",)),
    (["torch 2.9"], ("is no framework",)),
    ([""], ("is no framework",)),
    (["tensorflow==2.22.0rc0"], ("only pre-releases", "--pre")),
    (["tensorflow>=2.18", "tensorflow<2.16"], ("tensorflow>=2.18 and tensorflow<2.16", "contradict")),
    (["jax[cuda12]", "jax[cuda13]"], ("jax[cuda12] and jax[cuda13] contradict",)),
    (["tensorflow==1.15"], ("the nearest is 2.0.0 (",)),
    (["torch==2.10.7"], ("the nearest are 2.11.0, 2.10.0, 2.9.1 (",)),
    (["x" * 100_000], ("is no framework",)),
    (["torch==" + "9" * 100_000], ("is no framework",)),
])
def test_what_cannot_be_fulfilled_is_one_line(texts: list[str], words: tuple[str, ...],
                                              database: RuleDatabase) -> None:
    with pytest.raises(WishError) as raised:
        parse(texts, database.tables)
    said = str(raised.value)
    assert "\n" not in said
    assert len(said) < 400
    for word in words:
        assert word in said


def test_the_smallest_conflict_is_named(database: RuleDatabase) -> None:
    """Of three bounds the two that clash; the third is innocent."""
    with pytest.raises(WishError) as raised:
        parse(["tensorflow>=2.10", "tensorflow>=2.18,<2.16"], database.tables)
    assert "tensorflow>=2.18 and tensorflow<2.16" in str(raised.value)
    assert "2.10" not in str(raised.value)


def test_a_prerelease_is_known_when_it_may_be(database: RuleDatabase) -> None:
    [wish] = parse(["tensorflow==2.22.0rc0"], database.tables, pre=True)
    assert wish.is_exact


@pytest.mark.parametrize(("text", "words"), [
    ("torch[foo]", "torch has no such extra that brings CUDA, and needs none"),
    ("jax[cuda99]", "known: cuda12, cuda13"),
    ("tensorflow[and-cuda]==2.10.*", "no such release has the extra and-cuda; 2.14.0 to 2."),
])
def test_an_extra_that_nothing_has_is_named(text: str, words: str, database: RuleDatabase) -> None:
    """It was said that the machine does not go together with it."""
    with pytest.raises(WishError) as error:
        parse([text], database.tables)
    assert words in str(error.value)
    assert "rc0" not in str(error.value)
