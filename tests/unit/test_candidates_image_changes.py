"""What another driver or Python makes possible where images are asked for, or where nothing else fits."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from gpudoctor.dockerfiles.choice import Nothing, Wanted, choose
from gpudoctor.model import Recommendation, RuleDatabase
from gpudoctor.render import recommendation
from gpudoctor.ruledb import load_compiled
from gpudoctor.versions import parse
from tests.unit.asked_candidates import asked, host

RULES = Path(__file__).parents[2] / "rules"
BLACKWELL = "nvcr.io/nvidia/tensorflow:25.02-tf2-py3"


@pytest.fixture(scope="module")
def database() -> RuleDatabase:
    return load_compiled(RULES)


def changes(said: Recommendation) -> list[tuple[str, tuple[str, ...]]]:
    return [(one.change, one.gains) for one in said.changes]


@pytest.mark.parametrize("image", [True, False])
def test_a_newer_driver_and_the_image_that_it_makes_possible(image: bool, database: RuleDatabase) -> None:
    """Nothing was named, with `--image` and without: an image counted for no change."""
    machine = host(database, "cc=12.0", "driver=535.104.05")
    said = asked(machine, database, "tensorflow", image=image, may_change=("driver", "python"))
    assert changes(said) == [("driver 535.104.05 -> 580.65.06", (f"the image {BLACKWELL}",))]
    page = " ".join(recommendation.render(said, width=100, colour=False).split())
    assert f"driver 535.104.05 -> 580.65.06 makes the image {BLACKWELL} possible" in page
    unasked = asked(machine, database, "tensorflow", image=image)  # told of itself where nothing fits
    assert changes(unasked) == changes(said)
    there = asked(host(database, "cc=12.0", "driver=580.65.06"), database, "tensorflow", image=image)
    assert [one.image for one in there.candidates if one.offered] == [BLACKWELL]


@pytest.mark.parametrize(("cards", "driver", "framework"), [
    (("cc=8.9",), "450.80.02", "torch"), (("cc=8.9",), "580.95.05", "torch"),
    (("cc=7.5",), "470.256.02", "paddle"), (("cc=7.0",), "418.87.01", "tensorflow"),
    (("cc=6.1", "cc=8.0"), "525.60.13", "tensorflow"), (("cc=3.5",), "390.157", "tensorflow"),
    (("cc=12.0",), "none", "torch"), (("cc=9.0",), "535.104.05", "jax"),
])
def test_each_driver_is_named_that_brings_a_newer_image_and_no_other(
        cards: Sequence[str], driver: str, framework: str, database: RuleDatabase) -> None:
    """Held against what is offered where the driver is there already."""
    every = asked(host(database, "driver=none"), database, framework, image=True).candidates
    order = [one.image for one in every]
    said = asked(host(database, *cards, f"driver={driver}"), database, framework, image=True,
                 may_change=("driver",))
    best, expected = place(said, order), []
    for newer in ("470.42.01",) if cards == ("cc=3.5",) else ("580.65.06", "595.45.04"):
        machine = host(database, *cards, f"driver={newer}")
        there = place(asked(machine, database, framework, image=True), order)
        if there < best and (driver == "none" or parse(newer) > parse(driver)):
            best = there
            expected.append((f"driver {driver} -> {newer}", (f"the image {order[there]}",)))
    assert changes(said) == expected


def place(said: Recommendation, order: Sequence[str | None]) -> int:
    """Return where the image that is offered first stands in the order of all, behind them without one."""
    first = next((one.image for one in said.candidates if one.offered), None)
    return len(order) if first is None else order.index(first)


def test_a_python_is_changed_for_an_image_only_where_one_was_named(database: RuleDatabase) -> None:
    """An image brings its own: another one on the machine makes no image possible."""
    machine = host(database, "cc=8.9", "driver=580.95.05")
    named = asked(machine, database, "tensorflow", python="3.12", only_python="3.12", image=True,
                  may_change=("python",))
    assert changes(named)[0] == ("Python 3.12 -> 3.11", ("the image tensorflow/tensorflow:2.17.0-gpu",))
    old = host(database, "cc=8.9", "driver=418.87.01")
    assert changes(asked(old, database, "torch", image=True, may_change=("python",))) == []


def test_no_image_is_a_gain_where_a_release_fits(database: RuleDatabase) -> None:
    said = asked(host(database, "cc=8.9", "driver=535.104.05"), database, may_change=("driver",))
    assert said.changes
    assert not any("image" in gain for one in said.changes for gain in one.gains)


@pytest.mark.parametrize(("base", "gains"), [("tensorflow", []), ("ngc", [f"the image {BLACKWELL}"]),
                                             ("python-slim", [])])
def test_a_dockerfile_is_told_of_the_images_that_it_may_be_built_on(
        base: str, gains: list[str], database: RuleDatabase) -> None:
    machine = host(database, "cc=12.0", "driver=535.104.05")
    nothing = choose(machine, database, Wanted(frameworks=("tensorflow",), base=base))  # type: ignore[arg-type]
    assert isinstance(nothing, Nothing)
    assert nothing.said is not None
    assert [gain for one in nothing.said.changes for gain in one.gains] == gains
