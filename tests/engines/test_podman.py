"""Podman's own socket: known by its answer; what it does with a request for a GPU is seen, not believed."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpudoctor import versions
from gpudoctor.transports import limits
from gpudoctor.transports.engine import connect
from tests.engines.test_examined_images import FINDINGS, PLAIN, check
from tests.harness.podman import Podman, unavailable

HEEDS_REQUESTS = "5.4.0"


@pytest.fixture(scope="module")
def podman() -> Iterator[Podman]:
    reason = unavailable()
    if reason:
        pytest.skip(reason)
    started = Podman(Path(tempfile.mkdtemp(prefix="gpudoctor-")))
    started.start()
    try:
        started.load_system(PLAIN)
        yield started
    finally:
        started.stop()


def test_a_dropped_request_is_not_taken_for_a_gpu(podman: Podman) -> None:
    """The container starts without a word; what is inside shows that no GPU came, and the page says why.

    It was called a container with `--gpus all`, and its lack of a driver the machine's.
    """
    seen = check(podman.address, "--image", PLAIN, "--assume", "driver=580.95.05", "--assume", "cc=9.0")
    assert seen.fact("image.engine") == "podman"
    assert seen.fact("python.version") == "3.11.2"
    assert seen.fact("image.gpu_request") is None
    if versions.parse(seen.fact("image.engine_version")) < versions.parse(HEEDS_REQUESTS):
        assert seen.code == FINDINGS
        assert seen.fact("image.gpu_dropped") == "all"
        assert [(one["rule"], one["severity"]) for one in seen.report["findings"]
                if one["cause"] == "podman-drops-gpu-request"] == [("GPD3074", "error")]
    assert podman.run("ps", "--all", "--quiet") == ""


def test_the_controllers_that_it_may_use(podman: Podman) -> None:
    """Its own answer names them; with version 1 of control groups these are the kernel's, and count not."""
    found = connect({"DOCKER_HOST": podman.address}, 20)
    try:
        named = limits.controllers_of_podman(found.api, {"CgroupVersion": "2"})
        assert named is not None
        assert {"cpu", "memory", "pids"} <= set(named)
        assert limits.controllers_of_podman(found.api, {"CgroupVersion": "1"}) is None
    finally:
        found.api.close()


def test_it_is_found_as_its_own_command_finds_it(podman: Podman) -> None:
    """By CONTAINER_HOST, where nothing names a Docker."""
    seen = check("", "--image", "gpudoctor-test/absent:1", variables={"CONTAINER_HOST": podman.address})
    assert (seen.fact("image.engine"), seen.causes) == ("podman", ["container-image-absent"])


def test_a_connection_that_podman_itself_wrote_is_followed(podman: Podman, tmp_path: Path) -> None:
    """It was not read, and Docker's socket asked instead. Podman 5 writes a file of its own."""
    settings = {"CONTAINERS_CONF": str(tmp_path / "containers.conf"),
                "PODMAN_CONNECTIONS_CONF": str(tmp_path / "connections.json")}
    (tmp_path / "containers.conf").touch()
    subprocess.run(["podman", "system", "connection", "add", "mine", podman.address], check=True,
                   env={**os.environ, **settings}, stdin=subprocess.DEVNULL, capture_output=True)
    for chosen in ("mine", "other"):
        seen = check("", "--image", "gpudoctor-test/absent:1",
                     variables={**settings, "CONTAINER_CONNECTION": chosen})
        if chosen == "mine":
            assert (seen.fact("image.engine"), seen.causes) == ("podman", ["container-image-absent"])
        else:
            said = "Podman's connection other that was chosen does not exist"
            assert (seen.fact("image.trouble_said"), seen.causes) == (said, ["container-engine-unreachable"])


def test_an_image_that_is_not_there(podman: Podman) -> None:
    seen = check(podman.address, "--image", "gpudoctor-test/absent:1")
    assert (seen.code, seen.causes) == (FINDINGS, ["container-image-absent"])


def test_a_running_container(podman: Podman) -> None:
    """It is examined, and goes on."""
    podman.run("run", "--detach", "--network", "none", "--name", "mine", PLAIN, "sleep", "600")
    try:
        seen = check(podman.address, "--container", "mine")
        assert (seen.fact("python.version"), seen.fact("image.is_running")) == ("3.11.2", True)
        assert podman.run("ps", "--quiet", "--filter", "name=mine") != ""
    finally:
        podman.run("rm", "--force", "--time", "0", "mine")
