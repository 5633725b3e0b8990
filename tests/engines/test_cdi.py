"""Engines that take the GPU from CDI specifications: Docker 26 and Podman 5.4 of a newer Debian."""

from __future__ import annotations

import contextlib
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

import docker
import pytest

from gpudoctor import versions
from tests.engines.test_examined_images import (
    FAR, FINDINGS, HEALTHY, LATER, NONE, PLAIN, UNDECIDED, WORKS, Seen, check, left, with_images,
)
from tests.engines.test_podman import HEEDS_REQUESTS
from tests.harness import podman as podmans
from tests.harness.engine import Engine, unavailable
from tests.harness.nvidia import H100
from tests.harness.podman import Podman
from tests.harness.tree import Newer, Specification


@pytest.fixture(scope="module")
def specification(tmp_path_factory: pytest.TempPathFactory) -> Specification:
    return Specification(tmp_path_factory.mktemp("specification"), H100)


@pytest.fixture(scope="module")
def engine(specification: Specification, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """Start a Docker that knows CDI."""
    reason = unavailable()
    if reason:
        pytest.skip(reason)
    yield from with_images(tmp_path_factory.mktemp("built"), [NONE, FAR, LATER], newer=Newer(specification))


@pytest.fixture(scope="module")
def podman(specification: Specification) -> Iterator[Podman]:
    """Start a Podman that heeds requests which come by Docker's API."""
    reason = podmans.unavailable()
    if reason:
        pytest.skip(reason)
    started = Podman(Path(tempfile.mkdtemp(prefix="gpudoctor-")), Newer(specification))
    started.start()
    try:
        started.load_system(PLAIN)
        yield started
    finally:
        started.stop()


def commands_of(seen: Seen) -> list[str]:
    """Return all commands of a report."""
    return [words for finding in seen.report["findings"] for fix in finding["fixes"]
            for words in fix["commands"]]


def test_the_card_of_a_specification_is_told(engine: Engine, specification: Specification) -> None:
    """A command to start a container is one that this engine takes: it refuses --gpus."""
    specification.there()
    seen = check(engine.address, "--image", PLAIN)
    assert seen.code == HEALTHY, seen.report["findings"]
    assert (seen.fact("image.gpu_request"), seen.fact("image.gpu_refusals")) == ("cdi", None)
    assert [card["gpu.name"]["value"] for card in seen.report["snapshot"]["gpus"]] == [H100.name]
    assert "docker run --device nvidia.com/gpu=all --shm-size=8g IMAGE COMMAND" in commands_of(seen)
    assert not any("--gpus" in words for words in commands_of(seen))
    assert left(engine) == ""


@pytest.mark.parametrize(("image", "expected", "code"), [
    (FAR, ("GPD3081", "error"), FINDINGS), (LATER, ("GPD3082", "info"), HEALTHY)])
def test_nothing_compares_what_an_image_asks_for(image: str, expected: tuple[str, str], code: int,
                                                 engine: Engine, specification: Specification) -> None:
    """The look before the start called an image for CUDA 14 healthy on a driver for CUDA 13."""
    specification.there()
    seen = check(engine.address, "--image", image, "--depth", "static", "--require", "gpu>=1",
                 command="preflight")
    assert seen.fact("image.gpu_request") == "cdi"
    assert expected in [(one["rule"], one["severity"]) for one in seen.report["findings"]]
    assert seen.code == code, seen.report["findings"]


@pytest.mark.parametrize("image", [PLAIN, NONE])
def test_a_specification_that_is_older_than_the_driver(image: str, engine: Engine,
                                                       specification: Specification) -> None:
    """The toolkit was said to be missing, for --gpus is refused on every such machine."""
    specification.stale()
    seen = check(engine.address, "--image", image, "--depth", "static", *WORKS)
    assert seen.code == FINDINGS
    first = seen.report["findings"][0]
    assert first["cause"] == "cdi-not-generated"
    assert "nvidia-container-toolkit-missing" not in seen.causes
    assert first["fixes"][0]["commands"][0].removeprefix("sudo ").startswith("nvidia-ctk cdi generate")
    assert "libcuda.so.570.133.07" in json.dumps(seen.fact("image.gpu_refusals"))
    assert left(engine) == ""


@pytest.mark.parametrize("image", [PLAIN, NONE])
def test_neither_a_specification_nor_the_toolkit(image: str, engine: Engine,
                                                 specification: Specification) -> None:
    """What would generate a specification is not there: it is installed first."""
    specification.gone()
    seen = check(engine.address, "--image", image, "--depth", "static", *WORKS)
    assert seen.code == FINDINGS
    first = seen.report["findings"][0]
    assert first["cause"] == "nvidia-container-toolkit-missing"
    assert "install -y nvidia-container-toolkit" in " ".join(first["fixes"][0]["commands"])
    assert len(seen.fact("image.gpu_refusals")) == 2


def test_a_gpu_in_an_image_without_python(engine: Engine, specification: Specification) -> None:
    """That this machine has no card does not mean that the container has none."""
    specification.there()
    seen = check(engine.address, "--image", NONE, "--depth", "static")
    assert seen.fact("image.gpu_request") == "cdi"
    assert (seen.fact("system.distribution"), seen.fact("image.shows_host")) == ("debian", False)
    assert "no-nvidia-gpu" not in seen.causes
    assert left(engine) == ""


@contextlib.contextmanager
def with_device(engine: Engine, image: str) -> Iterator[str]:
    """Run a container that was started with a CDI device; its client here is too old to ask for one."""
    client = docker.DockerClient(base_url=engine.address, timeout=60)
    container = client.containers.create(image, ["sleep", "600"], network_mode="none", device_requests=[
        docker.types.DeviceRequest(driver="cdi", device_ids=["nvidia.com/gpu=all"])])
    try:
        container.start()
        yield str(container.id)
    finally:
        container.remove(force=True)
        client.close()


def test_a_running_container_with_a_device(engine: Engine, specification: Specification) -> None:
    """It is looked into where it runs, and commands ask for the GPU as it was asked for there."""
    specification.there()
    with with_device(engine, PLAIN) as container:
        seen = check(engine.address, "--container", container)
    assert seen.code == HEALTHY, seen.report["findings"]
    assert (seen.fact("python.version"), seen.fact("image.is_running")) == ("3.11.2", True)
    assert [card["gpu.name"]["value"] for card in seen.report["snapshot"]["gpus"]] == [H100.name]
    assert seen.fact("image.gpu_request") == "cdi"
    assert "docker run --device nvidia.com/gpu=all --shm-size=8g IMAGE COMMAND" in commands_of(seen)
    assert not any("--gpus" in words for words in commands_of(seen))


def test_a_running_container_with_a_device_and_no_python(engine: Engine,
                                                         specification: Specification) -> None:
    """Its system is read from its files; that the machine shows no card does not mean that it has none."""
    specification.there()
    with with_device(engine, NONE) as container:
        seen = check(engine.address, "--container", container)
    assert (seen.code, seen.fact("image.gpu_request")) == (UNDECIDED, "cdi")
    assert (seen.fact("system.distribution"), seen.fact("image.trouble")) == ("debian", None)
    assert "no-nvidia-gpu" not in seen.causes
    assert "nothing in it could look at it" in json.dumps(seen.report["snapshot"]["gpus"])


def test_a_podman_that_heeds_requests(podman: Podman, specification: Specification) -> None:
    specification.there()
    seen = check(podman.address, "--image", PLAIN)
    version = versions.parse(seen.fact("image.engine_version"))
    assert (seen.fact("image.engine"), version >= versions.parse(HEEDS_REQUESTS)) == ("podman", True)
    assert seen.code == HEALTHY, seen.report["findings"]
    assert [card["gpu.name"]["value"] for card in seen.report["snapshot"]["gpus"]] == [H100.name]


def test_a_podman_that_drops_what_gpus_asks_for(podman: Podman, specification: Specification) -> None:
    """It hands the CDI device out, and nothing said that --gpus by Docker's API ends without a GPU."""
    specification.there()
    seen = check(podman.address, "--image", PLAIN, "--depth", "static")
    assert (seen.fact("image.gpu_dropped"), seen.fact("image.gpu_request")) == ("some", "cdi")
    note, = (one for one in seen.report["findings"] if one["cause"] == "podman-drops-gpu-request")
    assert (note["rule"], note["severity"]) == ("GPD3080", "info")
    assert note["fixes"][0]["commands"] == [f"podman run --rm --device nvidia.com/gpu=all {PLAIN}"]


def test_what_the_note_says_is_so(podman: Podman, specification: Specification) -> None:
    """The package docker asks in both ways; only the device of its page gets the nodes in."""
    specification.there()
    gpus = {"count": -1, "capabilities": [["gpu"]]}
    device = {"driver": "cdi", "device_ids": ["nvidia.com/gpu=all"]}
    client = docker.DockerClient(base_url=podman.address, timeout=60)
    try:
        seen = [_printed(client, ["ls", "/dev"], docker.types.DeviceRequest(**one)) for one in (gpus, device)]
    finally:
        client.close()
    assert ["nvidia0" in nodes for nodes in seen] == [False, True]
    assert ["null" in nodes for nodes in seen] == [True, True], "both were listed"


def _printed(
    client: docker.DockerClient, command: list[str], request: docker.types.DeviceRequest) -> list[str]:
    """Return the words that a command prints in a container; `run` may read before Podman has written."""
    container = client.containers.create(PLAIN, command, network_mode="none", device_requests=[request])
    try:
        container.start()
        container.wait(timeout=60)
        return str(container.logs().decode()).split()
    finally:
        container.remove(force=True)


def test_a_podman_without_a_specification(podman: Podman, specification: Specification) -> None:
    """It refuses aloud, and its words lead to what is missing."""
    specification.gone()
    seen = check(podman.address, "--image", PLAIN, "--depth", "static", *WORKS)
    assert seen.code == FINDINGS
    assert seen.causes[0] == "nvidia-container-toolkit-missing", seen.fact("image.gpu_refusals")
    assert "gpu-not-handed-out" not in seen.causes
