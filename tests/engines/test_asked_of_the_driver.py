"""What an image asks of driver and cards, on an engine whose hook compares it, or reads none of it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.engines.test_examined_images import (
    ASKING, FAR, FINDINGS, HEALTHY, LABELLED, OLDER, QUIET, check, with_images,
)
from tests.engines.toolkit import NOT_LOADED, Toolkit
from tests.harness.engine import Engine
from tests.harness.nvidia import H100


@pytest.fixture(scope="module")
def toolkit(tmp_path_factory: pytest.TempPathFactory) -> Toolkit:
    return Toolkit(tmp_path_factory.mktemp("toolkit"), H100)


@pytest.fixture(scope="module")
def engine(toolkit: Toolkit, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """Start an engine that hands out a scripted card, unless the hook is told otherwise."""
    yield from with_images(tmp_path_factory.mktemp("built"), (ASKING, OLDER, QUIET, FAR, LABELLED),
                           programs=toolkit.programs)


def test_what_an_image_asks_of_the_driver_is_judged(engine: Engine, toolkit: Toolkit) -> None:
    """By all of its alternatives, against the host's driver."""
    toolkit.fails(NOT_LOADED)
    seen = check(engine.address, "--image", ASKING, "--assume", "driver=550.54.14", "--assume", "cc=9.0")
    assert seen.fact("image.requirements") == ["cuda>=99.0 brand=tesla,driver>=470,driver<471"]
    finding, = (one for one in seen.report["findings"] if one["cause"] == "docker-require-cuda-unsatisfied")
    assert "asks for cuda>=99.0, this driver (550.54.14) runs CUDA 12.4" in finding["message"]


@pytest.mark.parametrize(("image", "driver", "is_told"), [
    (OLDER, "550.54.14", True), (OLDER, "535.183.06", False), (OLDER, "570.86.15", False),
    (QUIET, "535.183.06", False)])
def test_a_hook_that_fails_for_another_reason(image: str, driver: str, is_told: bool, engine: Engine,
                                              toolkit: Toolkit) -> None:
    """An older branch that the image takes was called too old, and so was any where nothing is compared."""
    toolkit.fails("nvidia-container-cli: mount error: failed to add device rules")
    seen = check(engine.address, "--image", image, "--depth", "static", "--assume", f"driver={driver}",
                 "--assume", "card=T4")
    assert ("docker-require-cuda-unsatisfied" in seen.causes) == is_told
    assert seen.code == FINDINGS


def test_the_hook_compared_what_it_started(engine: Engine, toolkit: Toolkit) -> None:
    """That it hands the GPU out all the same was set in its configuration."""
    toolkit.fails(None)
    seen = check(engine.address, "--image", FAR, "--depth", "static")
    assert (seen.fact("image.gpu_request"), seen.code) == ("nvidia", HEALTHY), seen.report["findings"]


def test_a_label_that_nothing_reads_any_more(engine: Engine, toolkit: Toolkit) -> None:
    """An image for nvidia-docker 1 asks by its label alone; what else labels say of NVIDIA's is kept."""
    toolkit.fails(None)
    seen = check(engine.address, "--image", LABELLED, "--depth", "static")
    assert seen.fact("image.labels") == ["com.nvidia.cuda.version=14.0.1",
                                         "com.nvidia.volumes.needed=nvidia_driver"]
    finding, = (one for one in seen.report["findings"] if one["severity"] == "error")
    assert (finding["rule"], finding["certainty"], seen.code) == ("GPD3081", "likely", FINDINGS)
    assert "asks for cuda>=14.0, this driver (580.95.05) runs CUDA 13.0" in finding["message"]
