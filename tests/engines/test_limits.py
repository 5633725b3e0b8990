"""Engines whose kernel has no control group for some limits: they are asked for those that they can set."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from gpudoctor.transports import sandbox
from gpudoctor.transports.engine import connect
from tests.engines.test_examined_images import PLAIN, check, left
from tests.harness.engine import Engine, unavailable, unhidable


@dataclass(frozen=True)
class Lacking:
    """An engine, and the limits that it cannot set."""

    engine: Engine
    limits: list[str]


@pytest.fixture(scope="module", params=[
    (("cpu",), ["processors"]),
    (("cpu", "memory", "pids"), ["memory", "swap", "processes", "processors"])], ids=["one", "all"])
def lacking(request: pytest.FixtureRequest) -> Iterator[Lacking]:
    """Start an engine that finds no such controllers."""
    hidden, limits = request.param
    reason = unavailable() or unhidable(hidden)
    if reason:
        pytest.skip(reason)
    started = Engine(Path(tempfile.mkdtemp(prefix="gpudoctor-")), size="600m", hidden=hidden)
    started.start()
    try:
        started.load_system(PLAIN)
        yield Lacking(engine=started, limits=limits)
    finally:
        started.stop()


def test_such_an_engine_refuses_a_limit_of_processors(lacking: Lacking) -> None:
    """Else these tests would show nothing."""
    refused = lacking.engine.run("create", "--cpus", "1", PLAIN, "true", check=False)
    assert "NanoCPUs can not be set" in refused.stderr


def test_an_image_is_examined_all_the_same(lacking: Lacking) -> None:
    """It was refused, and the advice printed as proven was to start it by hand."""
    seen = check(lacking.engine.address, "--image", PLAIN)
    assert "container-not-started" not in seen.causes
    assert seen.fact("python.version") == "3.11.2"
    assert seen.fact("image.limits_missing") == lacking.limits
    assert left(lacking.engine) == ""


def test_the_report_says_which_limits_were_not_had(lacking: Lacking) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "gpudoctor", "check", "--image", PLAIN, "--depth", "static"],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False,
        env={**os.environ, "DOCKER_HOST": lacking.engine.address})
    assert f"limits that the engine cannot set: {', '.join(lacking.limits)}" in " ".join(ran.stdout.split())


def test_the_other_limits_are_asked_for(lacking: Lacking) -> None:
    found = connect({"DOCKER_HOST": lacking.engine.address}, 20)
    with sandbox.created(found, PLAIN, ["/bin/true"], request=None, timeout_seconds=20) as container:
        described = json.loads(lacking.engine.run("inspect", container).stdout)[0]["HostConfig"]
        sandbox.start(found, container, 20)
    found.api.close()
    names = {"memory": "Memory", "processes": "PidsLimit", "processors": "NanoCpus"}
    had = [limit for limit, name in names.items() if described[name]]
    assert had == [limit for limit in names if limit not in lacking.limits]
