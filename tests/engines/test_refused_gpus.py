"""A GPU that a real engine refuses, or hangs over: told in its words, whatever they are."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engines.test_examined_images import (
    BENT, FINDINGS, HEALTHY, NONE, PLAIN, UNDECIDED, WORKS, check, left, started,
)
from tests.engines.toolkit import NOT_LOADED, UNHEARD_OF, Toolkit
from tests.harness.engine import Engine
from tests.harness.nvidia import H100, script
from tests.unit import driver_answers


@pytest.fixture(scope="module")
def toolkit(tmp_path_factory: pytest.TempPathFactory) -> Toolkit:
    return Toolkit(tmp_path_factory.mktemp("toolkit"), H100)


@pytest.fixture(scope="module")
def engine(toolkit: Toolkit, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """Start an engine that hands out a scripted card, unless the hook is told otherwise."""
    yield from started(toolkit.programs, tmp_path_factory.mktemp("built"))


@pytest.mark.parametrize("image", [PLAIN, NONE])
def test_words_that_no_symptom_knows_are_a_finding(image: str, engine: Engine, toolkit: Toolkit) -> None:
    """On a machine that is well the report was "healthy", and the words were nowhere.

    Later it asked besides what "this text" says, which nobody had given.
    """
    toolkit.fails(UNHEARD_OF)
    seen = check(engine.address, "--image", image, "--depth", "static", *WORKS)
    assert seen.code == FINDINGS
    assert seen.causes[0] == "gpu-not-handed-out"
    assert seen.report["findings"][0]["certainty"] == "certain"
    assert "frobnicated" in seen.report["findings"][0]["message"]
    assert ["frobnicated" in line for line in seen.fact("image.gpu_refusals")] == [True]
    assert not any(one["subject"] == "text" for one in seen.report["undecided"])
    assert seen.report["assumed"] == [WORKS[1], WORKS[3]]
    assert left(engine) == ""


@pytest.mark.parametrize("form", ["text", "markdown", "github", "junit"])
def test_every_format_quotes_them(form: str, engine: Engine, toolkit: Toolkit) -> None:
    toolkit.fails(UNHEARD_OF)
    ran = subprocess.run(
        [sys.executable, "-m", "gpudoctor", "check", "--image", PLAIN, "--depth", "static", "--format", form,
         *WORKS], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False,
        env={**os.environ, "DOCKER_HOST": engine.address})
    assert ran.returncode == FINDINGS
    assert "gpu-not-handed-out" in ran.stdout
    said = " ".join(ran.stdout.split())
    assert "frobnicated" in said
    assert "the text" not in said
    assert "this text" not in said


def test_known_words_stand_before_the_refusal(engine: Engine, toolkit: Toolkit) -> None:
    """It follows from their cause, and is not a second trouble."""
    toolkit.fails(NOT_LOADED)
    seen = check(engine.address, "--image", PLAIN, "--depth", "static", *WORKS)
    assert seen.code == FINDINGS
    assert "gpu-not-handed-out" not in seen.causes
    first = seen.report["findings"][0]
    assert first["cause"] == "docker-host-driver-missing"
    assert [one["cause"] for one in first["consequences"]] == ["gpu-not-handed-out"]


@pytest.mark.parametrize("image", [PLAIN, NONE])
def test_a_hook_that_hangs_is_a_start_that_hangs(image: str, engine: Engine, toolkit: Toolkit) -> None:
    """It was "no container engine answers", and to restart it. The container cannot go as long.

    The limit was waited for once more each time the engine was told to take it away.
    """
    toolkit.fails(None)
    limit = 8
    with toolkit.hangs():
        begun = time.monotonic()
        seen = check(engine.address, "--image", image, "--depth", "static", "--timeout", str(limit), *WORKS)
        assert limit < time.monotonic() - begun < 2 * limit
        assert seen.code == FINDINGS
        assert seen.causes[:2] == ["gpu-start-hangs", "container-left-behind"]
        assert seen.fact("image.trouble") is None
        assert seen.fact("system.distribution") == "debian"  # it was examined all the same
        commands = [words for finding in seen.report["findings"] for fix in finding["fixes"]
                    for words in fix["commands"]]
        assert not any("restart docker" in words for words in commands)
        container, = seen.fact("image.left_containers")
        assert f"docker rm --force {container}" in commands
        assert container in left(engine)
    until = time.monotonic() + 30
    while left(engine) and time.monotonic() < until:
        time.sleep(0.2)
    assert left(engine) == ""  # the engine was told to


@pytest.mark.parametrize("image", [NONE, BENT])
def test_a_gpu_in_an_image_without_python_is_not_denied(image: str, engine: Engine, toolkit: Toolkit) -> None:
    """The engine hands it out; that this machine shows none itself was called its lack of a card."""
    toolkit.fails(None)
    seen = check(engine.address, "--image", image, "--depth", "static")
    assert (seen.fact("image.gpu_request"), seen.fact("image.shows_host")) == ("nvidia", False)
    assert "no-nvidia-gpu" not in seen.causes
    assert "nothing in it could look at it" in json.dumps(seen.report["snapshot"]["gpus"])


def test_in_an_image_without_python_the_cards_are_the_machines(engine: Engine, toolkit: Toolkit,
                                                               tmp_path: Path) -> None:
    """It is said whose they are."""
    toolkit.fails(None)
    ran = _on_a_machine_with_a_card(engine, tmp_path, NONE)
    said = " ".join(ran.stdout.split())
    assert ("with --gpus all; nothing in it could look at it, so what is said of driver and cards is the "
            "machine's own") in said
    assert H100.name in said


def _on_a_machine_with_a_card(engine: Engine, folder: Path,
                              *words: str) -> subprocess.CompletedProcess[str]:
    """Check an image where libraries beside the engine show an H100."""
    place = driver_answers.machine(folder, script(driver_answers.DRIVER, 13000, [H100]))
    return subprocess.run(
        [sys.executable, "-m", "gpudoctor", "check", "--depth", "static", "--image", *words],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False,
        env={**os.environ, "DOCKER_HOST": engine.address, "LD_LIBRARY_PATH": str(place),
             "GPUDOCTOR_SHIM": str(place / "script")})


@pytest.mark.parametrize("wish", ["gpu", "gpu.memory>=70GiB"])
@pytest.mark.parametrize(("image", "words", "code"), [
    (NONE, None, UNDECIDED), (PLAIN, None, HEALTHY),
    (PLAIN, UNHEARD_OF, FINDINGS), (NONE, UNHEARD_OF, FINDINGS)],
    ids=["could not be asked", "got it", "was refused it", "was refused it, without Python"])
def test_a_wish_is_for_cards_of_the_container(image: str, words: str | None, code: int, wish: str,
                                              engine: Engine, toolkit: Toolkit, tmp_path: Path) -> None:
    """The machine has the card, which alone met the wish; that it is not met follows from the refusal."""
    toolkit.fails(words)
    ran = _on_a_machine_with_a_card(engine, tmp_path, image, "--require", wish, "--format", "json")
    report = json.loads(ran.stdout)
    assert ran.returncode == code, report["findings"]
    assert ("requirement-not-met" in [one["cause"] for one in report["undecided"]]) == (code == UNDECIDED)
    if code == FINDINGS:
        first = report["findings"][0]
        assert first["cause"] == "gpu-not-handed-out"
        assert "requirement-not-met" in [one["cause"] for one in first["consequences"]]
        assert report["snapshot"]["host"]["require.unmet"]["value"] == [wish]
