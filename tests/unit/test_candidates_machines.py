"""Machines for which the builds of the indexes are not made: a board with its own, a system without glibc."""

from __future__ import annotations

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


def test_a_jetson_is_told_by_its_own_reason(database: RuleDatabase) -> None:
    """It was told of a driver for CUDA 13 first, and to take the last torch with code for its card."""
    board = {"system__architecture": "aarch64", "system__jetson": "36.4.3"}
    said = asked(host(database, "cc=8.7", "driver=540.4.0", **board), database, "torch")
    assert said.exit_code == 1
    assert said.ground.board.startswith("Jetson board (L4T 36.4.3, JetPack 6.2")
    assert "NVIDIA builds for its JetPack" in said.ground.board
    assert [hint.command for hint in said.hints] == ["gpudoctor explain jetson-wrong-wheel"]
    assert said.last == ()
    page = recommendation.render(said, width=100, colour=False)
    assert page.count("GPD6025") == 1
    assert "GPD2010" not in page
    thor = {**board, "system__jetson": "38.4.0"}
    newer = asked(host(database, "cc=11.0", "driver=580.95.05", **thor), database, "torch")
    assert newer.exit_code == 0
    assert "it takes wheels built for servers" in newer.ground.board
    assert newer.ground.board.endswith("--runtime nvidia, not with --gpus")
    unknown = {**board, "system__jetson": "45.1.0"}
    assert "not known" in asked(host(database, "cc=8.7", "driver=540.4.0", **unknown), database).ground.board


def test_without_glibc_no_wheel_is_offered_but_images_are(database: RuleDatabase) -> None:
    """Alpine: a container brings its own C library."""
    said = asked(host(database, "cc=8.9", "driver=580.95.05", system__glibc=None), database, "torch")
    assert not any(one.offered for one in said.candidates if one.kind == "pip")
    [first, *_] = [one for one in said.candidates if one.version == "2.9.1" and one.kind == "pip"]
    assert "GPD6082" in [one.rule for one in first.rejected_by]
    assert any(one.offered for one in said.candidates if one.kind == "image")
    assert said.ground.glibc == "none"
