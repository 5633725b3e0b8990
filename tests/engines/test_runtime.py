"""An engine that hands the GPU out by NVIDIA's runtime alone, as nvidia-docker2 did: no hook, no CDI."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from tests.engines.test_examined_images import FINDINGS, HEALTHY, NONE, PLAIN, WORKS, check, left, with_images
from tests.engines.toolkit import NOT_LOADED, Toolkit
from tests.harness.engine import Engine
from tests.harness.nvidia import H100

BY_RUNTIME = "--runtime=nvidia"


@pytest.fixture(scope="module")
def toolkit(tmp_path_factory: pytest.TempPathFactory) -> Toolkit:
    return Toolkit(tmp_path_factory.mktemp("toolkit"), H100)


@pytest.fixture(scope="module")
def engine(toolkit: Toolkit, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """Start an engine in whose configuration the runtime stands."""
    yield from with_images(tmp_path_factory.mktemp("built"), [NONE],
                           settings={"runtimes": {"nvidia": {"path": str(toolkit.runtime)}}})


def test_the_engine_itself_refuses_gpus(engine: Engine) -> None:
    """Else these tests would show nothing of the runtime."""
    refused = engine.run("run", "--rm", "--network", "none", "--gpus", "all", PLAIN, "true", check=False)
    assert "could not select device driver" in refused.stderr
    ran = engine.run("run", "--rm", "--network", "none", BY_RUNTIME, "-e", "NVIDIA_VISIBLE_DEVICES=all",
                     PLAIN, "ls", "/dev/nvidia0")
    assert ran.stdout == "/dev/nvidia0\n"


def test_the_card_is_told_and_how_it_was_asked_for(engine: Engine, toolkit: Toolkit) -> None:
    """That --gpus was refused is no finding: a container gets the card all the same."""
    toolkit.fails(None)
    seen = check(engine.address, "--image", PLAIN, "--require", "gpu>=1")
    assert seen.code == HEALTHY, seen.report["findings"]
    assert (seen.fact("image.gpu_request"), seen.fact("image.gpu_refusals")) == ("runtime", None)
    assert [card["gpu.name"]["value"] for card in seen.report["snapshot"]["gpus"]] == [H100.name]
    commands = [words for finding in seen.report["findings"] for fix in finding["fixes"]
                for words in fix["commands"]]
    assert f"docker run {BY_RUNTIME} -e NVIDIA_VISIBLE_DEVICES=all --shm-size=8g IMAGE COMMAND" in commands
    assert not any("--gpus" in words for words in commands)
    assert left(engine) == ""


def test_the_line_of_the_image_says_so(engine: Engine, toolkit: Toolkit) -> None:
    toolkit.fails(None)
    ran = subprocess.run(
        [sys.executable, "-m", "gpudoctor", "check", "--image", PLAIN, "--depth", "static"],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False,
        env={**os.environ, "DOCKER_HOST": engine.address})
    assert f"with {BY_RUNTIME} and NVIDIA_VISIBLE_DEVICES=all" in " ".join(ran.stdout.split())


def test_a_driver_that_is_not_loaded(engine: Engine, toolkit: Toolkit) -> None:
    """The hook speaks through the runtime; that this engine refuses --gpus does not hide its words."""
    toolkit.fails(NOT_LOADED)
    seen = check(engine.address, "--image", PLAIN, "--depth", "static", *WORKS)
    assert seen.code == FINDINGS
    assert "docker-host-driver-missing" in seen.causes
    said = seen.fact("image.gpu_refusals")
    assert [line.partition(": ")[0] for line in said] == ["--gpus all", BY_RUNTIME]
    assert "driver not loaded" in said[1]
    assert left(engine) == ""


def test_a_runtime_that_hangs(engine: Engine, toolkit: Toolkit) -> None:
    toolkit.fails(None)
    with toolkit.hangs():
        seen = check(engine.address, "--image", PLAIN, "--depth", "static", "--timeout", "3", *WORKS)
    assert seen.code == FINDINGS
    assert "gpu-start-hangs" in json.dumps(seen.report["findings"])
    until = time.monotonic() + 30
    while left(engine) and time.monotonic() < until:
        time.sleep(0.2)
    assert left(engine) == ""


def test_a_runtime_that_heeds_no_variable_hands_out_nothing(engine: Engine, toolkit: Toolkit) -> None:
    """The container starts without a word, and is not taken for one with a GPU."""
    toolkit.fails(None)
    with toolkit.deaf():
        seen = check(engine.address, "--image", PLAIN, "--depth", "static", *WORKS)
    assert seen.code == FINDINGS
    assert seen.fact("image.gpu_request") is None
    assert f"{BY_RUNTIME}: the engine took the request for a GPU, and started the container without one" in (
        seen.fact("image.gpu_refusals"))
    assert left(engine) == ""


def test_an_image_without_python_leaves_it_open(engine: Engine, toolkit: Toolkit) -> None:
    """That the runtime starts a container does not tell that it put a GPU into it."""
    toolkit.fails(None)
    seen = check(engine.address, "--image", NONE, "--depth", "static", *WORKS)
    request = seen.report["snapshot"]["host"]["image.gpu_request"]
    assert "cannot be asked without a Python" in request["unknown"]
    assert seen.fact("system.distribution") == "debian"
    assert left(engine) == ""
