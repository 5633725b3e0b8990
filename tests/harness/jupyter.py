"""A real Jupyter: jupyter_client and ipykernel in an environment of their own, made once and kept."""

from __future__ import annotations

import functools
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.harness.interpreters import find_python
from tests.shim.build import cache_folder

# What the search order was last held against; newer releases are for a person to look at.
REQUIREMENTS = ("jupyter_client==8.10.0", "jupyter_core==5.9.1", "ipykernel==7.4.0")
PYTHONS = ("3.12", "3.11", "3.13")
COMPLETE = "gpudoctor-complete"


@functools.cache
def jupyter() -> Path:
    """Return the environment; skip the test where it cannot be had, but not in continuous integration."""
    python = next((found for version in PYTHONS if (found := find_python(version))), None)
    if python is None:
        pytest.skip("no Python here that Jupyter runs on")
    prefix = cache_folder("jupyter") / "-".join(part.replace("==", "-") for part in REQUIREMENTS)
    if not (prefix / COMPLETE).exists():
        shutil.rmtree(prefix, ignore_errors=True)
        subprocess.run([str(python), "-m", "venv", str(prefix)], check=True, capture_output=True)
        pip = [str(prefix / "bin" / "python"), "-m", "pip", "install", "--quiet", *REQUIREMENTS]
        done = subprocess.run(pip, capture_output=True, text=True, timeout=600, check=False)
        if done.returncode != 0:
            pytest.skip(f"Jupyter cannot be installed here: {done.stderr.strip()[-300:]}")
        (prefix / COMPLETE).touch()
    return prefix
