"""What a real engine says when a registry refuses, its runtime is not there, and its disk is full."""

from __future__ import annotations

import http.server
import os
import shutil
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engines.test_examined_images import FINDINGS, PLAIN, check, left
from tests.harness.engine import Engine, unavailable

RUNTIME = "/nowhere/gpudoctor-test-runtime"
_FILLER_BYTES = 1 << 20


@pytest.fixture(scope="module")
def folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="gpudoctor-"))


@pytest.fixture(scope="module")
def engine(folder: Path) -> Iterator[Engine]:
    """Start a small engine whose runtime is named and not installed."""
    reason = unavailable()
    if reason:
        pytest.skip(reason)
    started = Engine(folder, size="600m", settings={
        "runtimes": {"absent": {"path": RUNTIME}}, "default-runtime": "absent"})
    started.start()
    try:
        started.load_system(PLAIN)
        yield started
    finally:
        started.stop()


class _Refusing(http.server.BaseHTTPRequestHandler):
    """A registry that gives nothing without a login."""

    def do_GET(self) -> None:
        """Refuse."""
        self.send_response(401)
        self.send_header("WWW-Authenticate", 'Basic realm="gpudoctor-test"')
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_HEAD(self) -> None:
        """Refuse."""
        self.do_GET()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def registry() -> Iterator[str]:
    """Serve such a registry; engines speak plain HTTP with 127.0.0.1."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Refusing) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def test_a_registry_that_wants_a_login(engine: Engine, registry: str) -> None:
    """The engine passes its refusal on with a status of its own, so the words tell it."""
    seen = check(engine.address, "--pull", "--image", f"{registry}/team/app:1")
    assert (seen.code, seen.causes) == (FINDINGS, ["container-image-absent"]), seen.report["findings"]
    assert seen.fact("image.trouble") == "unauthorised"
    commands = [words for fix in seen.report["findings"][0]["fixes"] for words in fix["commands"]]
    assert f"docker pull {registry}/team/app:1" in commands


def test_a_runtime_that_is_not_there(engine: Engine) -> None:
    """Without it no container starts, with or without a GPU; its path is said."""
    seen = check(engine.address, "--image", PLAIN)
    assert seen.code == FINDINGS
    assert "container-not-started" in seen.causes
    assert RUNTIME in seen.fact("image.trouble_said")
    assert not any(one["subject"] == "text" for one in seen.report["undecided"])  # nobody gave one
    assert left(engine) == ""


def test_a_default_runtime_that_the_toolkit_took_along() -> None:
    """The engine's words for it are known: their cause stands in front of a start by hand."""
    reason = unavailable()
    if reason:
        pytest.skip(reason)
    runtime = "/nowhere/nvidia-container-runtime"
    started = Engine(Path(tempfile.mkdtemp(prefix="gpudoctor-")), size="600m", settings={
        "runtimes": {"nvidia": {"path": runtime}}, "default-runtime": "nvidia"})
    started.start()
    try:
        started.load_system(PLAIN)
        seen = check(started.address, "--image", PLAIN)
        assert seen.code == FINDINGS
        first = seen.report["findings"][0]
        assert first["cause"] == "nvidia-container-toolkit-missing"
        assert [one["cause"] for one in first["consequences"]] == ["container-not-started"]
        assert runtime in seen.fact("image.trouble_said")
    finally:
        started.stop()


def test_a_disk_that_is_full(engine: Engine, folder: Path) -> None:
    """Not a byte is left where the engine keeps its containers."""
    filler = folder / "filler"
    try:
        with filler.open("wb", buffering=0) as file:
            while shutil.disk_usage(folder).free:
                file.write(b"0" * min(_FILLER_BYTES, shutil.disk_usage(folder).free))
        seen = check(engine.address, "--image", PLAIN)
        assert (seen.code, seen.causes) == (FINDINGS, ["container-engine-disk-full"]), seen.report["findings"]
        assert "no space left on device" in seen.fact("image.trouble_said")
    finally:
        os.unlink(filler)
    assert left(engine) == ""
