"""docs/matrix: what the sweep of the engine over the tables says today, and some of it checked by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpudoctor.model import RuleDatabase
from gpudoctor.ruledb import load_compiled
from tools import sweep
from tools.sweep_pages import cell
from tools.sweep_states import Card, Release, Verdict, cards, releases, verdict

ROOT = Path(__file__).parents[2]
LINUX = "linux_x86_64"


@pytest.fixture(scope="module")
def database() -> RuleDatabase:
    return load_compiled(ROOT / "rules")


def test_pages_are_what_the_rules_give_today(database: RuleDatabase) -> None:
    """The page of one framework and the index; `make matrix ARGS=--check` compares them all."""
    for name, text in sweep.pages(database, ("paddle",)):
        committed = (ROOT / "docs" / "matrix" / name).read_text(encoding="utf-8")
        assert committed == text, f"docs/matrix/{name} is out of date: run `make matrix`"


def one(framework: str, version: str, capability: str, database: RuleDatabase) -> tuple[Release, Card]:
    release = next(r for r in releases(framework, LINUX, database) if r.version == version)
    return release, next(card for card in cards(database, LINUX) if card.capability == capability)


@pytest.mark.parametrize(("framework", "version", "capability", "expected"), [
    ("tensorflow", "2.20.0", "8.9", Verdict(kind="runs", driver="525.60.13")),
    ("tensorflow", "2.20.0", "9.0", Verdict(kind="part", driver="555.42.02")),
    ("tensorflow", "2.15.1", "9.0", Verdict(kind="jit", driver="530.30.02")),
    ("tensorflow", "2.21.0", "8.0", Verdict(kind="runs", driver="525.60.13", cured=("GPD4020",))),
    ("tensorflow", "2.20.0", "7.0", Verdict(kind="runs", driver="525.60.13", cured=("GPD5050",))),
    ("tensorflow", "2.3.0", "5.0", Verdict(kind="stopped", driver="580.65.06", rule="GPD5015")),
    ("tensorflow", "2.20.0", "12.0", Verdict(kind="stopped", driver="620.70.06", rule="GPD5020")),
    ("torch", "2.15.0", "7.0", Verdict(kind="stopped", driver="580.65.06", rule="GPD5010")),
    ("torch", "2.6.0", "3.7", Verdict(kind="stopped", driver="470.42.01", rule="GPD2062")),
    ("torch", "1.12.1", "3.5", Verdict(kind="stopped", driver="470.42.01", rule="GPD5010")),
    ("torch", "1.12.1", "3.7", Verdict(kind="runs", driver="440.33")),
    ("jax", "0.12.0.1 cuda12", "7.0", Verdict(kind="runs", driver="525.60.13", cured=("GPD5050",))),
    ("jax", "0.12.0.1 cuda13", "12.0", Verdict(kind="runs", driver="580.65.06")),
    ("paddle", "2.6.2", "6.0", Verdict(kind="stopped", driver="580.65.06", rule="GPD5010")),
    ("paddle", "2.6.2", "9.0", Verdict(kind="stopped", driver="620.70.06", rule="GPD5020")),
    ("paddle", "2.1.3", "7.0", Verdict(kind="runs", driver="440.33")),
    ("cupy", "14.2.0 cuda12x", "5.0", Verdict(kind="runs", driver="525.60.13")),
    ("cupy", "14.2.0 cuda13x", "7.0", Verdict(kind="stopped", driver="580.65.06", rule="GPD5010")),
    ("cupy", "9.6.0 cuda92", "7.0", Verdict(kind="runs", driver="396.26")),
])
def test_verdict_and_oldest_driver(framework: str, version: str, capability: str, expected: Verdict,
                                   database: RuleDatabase) -> None:
    release, card = one(framework, version, capability, database)
    assert sweep.Sweep(database).on(release, card) == expected


def test_the_driver_before_the_oldest_one_does_not_run_it(database: RuleDatabase) -> None:
    """The H100 needs a driver that knows the PTX of TensorFlow 2.20: one release before, it does not."""
    release, card = one("tensorflow", "2.20.0", "9.0", database)
    assert verdict(release, card, "550.54.14", database).rule == "GPD5030"


def test_a_cell_says_driver_compilation_and_cure() -> None:
    causes = {"GPD4020": "pip-nvidia-libs-not-found", "GPD5010": "gpu-too-old-for-build"}
    assert cell(Verdict(kind="part", driver="555.42.02", cured=("GPD4020",)), causes) == "555+ [path]"
    assert cell(Verdict(kind="jit", driver="530.30.02"), causes) == "530 JIT"
    assert cell(Verdict(kind="stopped", driver="610.43.02", rule="GPD5010"), causes) == "old"
    assert cell(Verdict(kind="open", driver="610.43.02"), causes) == "?"
