"""Programs of the index that tests ask, each in an environment of its own that is made once and kept."""

from __future__ import annotations

import fcntl
import functools
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.harness.interpreters import find_python
from tests.shim.build import cache_folder

PYTHONS = ("3.12", "3.11", "3.13")
COMPLETE = "gpudoctor-complete"


@functools.cache
def installed(name: str, *requirements: str) -> Path:
    """Return an environment with these releases; skip the test where it cannot be had."""
    python = next((found for version in PYTHONS if (found := find_python(version))), None)
    if python is None:
        pytest.skip(f"no Python here that {name} runs on")
    prefix = cache_folder(name) / "-".join(part.replace("==", "-") for part in requirements)
    with prefix.with_name(f"{prefix.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # another worker may want the same one
        if not (prefix / COMPLETE).exists():
            shutil.rmtree(prefix, ignore_errors=True)
            subprocess.run([str(python), "-m", "venv", str(prefix)], check=True, capture_output=True)
            pip = [str(prefix / "bin" / "python"), "-m", "pip", "install", "--quiet", *requirements]
            done = subprocess.run(pip, capture_output=True, text=True, timeout=600, check=False)
            if done.returncode != 0:
                pytest.skip(f"{name} cannot be installed here: {done.stderr.strip()[-300:]}")
            (prefix / COMPLETE).touch()
    return prefix
