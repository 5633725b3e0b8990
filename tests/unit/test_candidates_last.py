"""The last release that ran on a card, named where nothing fits; and that none is known to have."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from gpudoctor.model import RuleDatabase
from gpudoctor.render import recommendation
from gpudoctor.ruledb import load_compiled
from tests.unit.asked_candidates import asked, host

RULES = Path(__file__).parents[2] / "rules"


@pytest.fixture(scope="module")
def database() -> RuleDatabase:
    return load_compiled(RULES)


@pytest.mark.parametrize(("words", "would_be"), [
    (("cc=3.5", "driver=470.256.02"), "older"),
    (("cc=3.7", "cc=12.0", "driver=none"), "nowhere"), (("cc=3.5", "cc=12.0", "driver=none"), "older"),
    (("cc=3.5", "cc=12.0", "driver=470.256.02"), "older"),  # which leaves out the newer one
])
def test_where_no_release_has_code_it_is_said_on_which_side_of_the_rules_one_would_be(
        words: Iterable[str], would_be: str, database: RuleDatabase) -> None:
    """The tables of torch begin at 1.8: what served a K40 is older, and is not said not to exist."""
    said = asked(host(database, *words), database, "torch", python="3.8")
    assert [(one.oldest, one.would_be) for one in said.unserved] == [("1.8.0", would_be)]


def test_of_a_card_newer_than_all_the_last_with_ptx_is_named(database: RuleDatabase) -> None:
    """Of torch that is a build on PyTorch's own index: those after it were built without."""
    said = asked(host(database, "cc=39.0", "driver=470.256.02"), database, "torch", python="3.8")
    assert [(one.version, one.cuda, one.is_ptx) for one in said.last] == [("2.10.0", "13.0", True)]
    assert said.unserved == ()


def test_of_a_card_that_cuda_has_dropped_no_newer_release_is_promised(database: RuleDatabase) -> None:
    """Regression: JAX has code for 5.0 and for 6.0, and what serves the GPU of a Tegra X1 was "newer"."""
    machine = host(database, "cc=5.3", "driver=470.256.02", system__architecture="aarch64")
    said = asked(machine, database, "jax", python="3.12")
    assert [(one.framework, one.would_be) for one in said.unserved] == [("jax", "gone")]
    page = " ".join(recommendation.render(said, width=100, colour=False).split())
    assert "CUDA has dropped this one, and no later release will." in page


def test_the_last_release_with_ptx_alone_says_so(database: RuleDatabase) -> None:
    machine = host(database, "cc=11.0", "driver=580.65.06")
    said = asked(machine, database, "tensorflow>=2.20", python="3.8")
    assert [(one.framework, one.version, one.is_ptx) for one in said.last] == [("tensorflow", "2.21.0", True)]


@pytest.mark.parametrize("card", ["10.0", "12.0", "13.0"])
def test_no_release_is_the_last_whose_code_is_not_known_to_work(card: str, database: RuleDatabase) -> None:
    """TensorFlow 2.21 was named on Blackwell, where its PTX fails: by that very reason it was not offered."""
    said = asked(host(database, f"cc={card}", "driver=580.65.06"), database, "tensorflow>=2.18")
    assert (said.exit_code, said.last) == (1, ())
    assert [(one.framework, one.newest, one.would_be) for one in said.unserved] == [
        ("tensorflow", "2.21.0", "newer")]
    page = " ".join(recommendation.render(said, width=100, colour=False).split())
    assert "(2.1.0 to 2.21.0) has code that is known to work on the cards here" in page


@pytest.mark.parametrize("card", ["3.7", "6.1", "12.0"])
def test_the_last_release_did_run_on_the_card(card: str, database: RuleDatabase) -> None:
    """Each that is named is offered for the card, with a driver that serves it and a Python of its own."""
    lost = asked(host(database, f"cc={card}", "driver=none"), database)
    assert lost.last
    for one in lost.last:
        wanted = f"{one.framework}=={one.version}"
        said = [asked(host(database, f"cc={card}", f"driver={driver}"), database, wanted, python=python)
                for driver in ("595.45.04", "580.95.05", "470.256.02") for python in one.python]
        assert any(each.offered and each.kind == "pip" for some in said for each in some.candidates), wanted


@pytest.mark.parametrize(("words", "wishes", "alone"), [
    (("cc=5.2", "cc=10.0"), ("torch",), ["5.2", "10.0"]),
    (("cc=6.1", "cc=12.0"), ("tensorflow",), ["6.1"]),  # no release has code for the other
    (("cc=5.2", "cc=10.0"), ("torch", "jax"), ["5.2", "10.0"]),
])
def test_where_no_release_serves_all_cards_the_next_step_is_one_of_them(
        words: tuple[str, ...], wishes: tuple[str, ...], alone: list[str], database: RuleDatabase) -> None:
    """It was said that nothing fits, and not what to do: hide a card. What is named fits the other."""
    driver = "driver=580.95.05"
    said = asked(host(database, *words, driver), database, *wishes, python="3.11")
    assert [hint.command.partition("cc=")[2].split()[0] for hint in said.hints] == alone
    for hint, card in zip(said.hints, alone, strict=True):
        assert "CUDA_VISIBLE_DEVICES" in hint.words
        assert all(f"--framework {name}" in hint.command for name in wishes)
        name, version = hint.words.partition("can have ")[2].partition(",")[0].split()
        again = asked(host(database, f"cc={card}", driver), database, name, python="3.11")
        assert next(one.version for one in again.candidates if one.offered) == version
    page = " ".join(recommendation.render(said, width=100, colour=False).split())
    assert page.endswith(said.hints[-1].command)


@pytest.mark.parametrize("words", [("cc=10.0", "cc=10.0", "driver=580.95.05"),
                                   ("cc=5.2", "cc=10.0", "driver=none")])
def test_no_card_is_hidden_where_that_would_not_help(words: tuple[str, ...], database: RuleDatabase) -> None:
    """Two cards of one kind fare alike, and without a driver each is lost."""
    said = asked(host(database, *words), database, "tensorflow", python="3.11")
    assert not [hint for hint in said.hints if "CUDA_VISIBLE_DEVICES" in hint.words]
