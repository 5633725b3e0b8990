"""A child whose starter was killed does not stay: it ends itself, also while a library keeps the lock."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path

import pytest

from gpudoctor.transports.local import PAYLOAD
from tests.harness.interpreters import find_python
from tests.shim import build


@pytest.mark.parametrize("version", ["3.6", "3.11", "3.13"])
def test_a_child_ends_itself_long_after_its_limit(version: str, tmp_path: Path) -> None:
    """libcuda hangs while it is loaded, which holds the interpreter's lock; nobody kills the child."""
    python = find_python(version)
    if python is None:
        pytest.skip(f"Python {version} is not installed here")
    (tmp_path / "libcuda.so.1").symlink_to(build.hanging(soname="libcuda.so.1"))
    request = json.dumps({"answer_within_seconds": 0.5})
    begun = time.monotonic()
    ended = subprocess.run(
        [str(python), PAYLOAD, "cuda", "1", request], env={"LD_LIBRARY_PATH": str(tmp_path)},
        capture_output=True, timeout=60, check=False)
    assert ended.returncode == 1, "the watchdog's way out"
    assert b"Timeout" in ended.stderr
    assert time.monotonic() - begun >= 2.0
