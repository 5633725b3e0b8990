"""Find Python interpreters of other versions on this machine; one that does not start is none."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from functools import lru_cache
from pathlib import Path

import pytest

RUNNING = "{}.{}".format(*sys.version_info)


@lru_cache(maxsize=32)
def find_python(version: str) -> Path | None:
    """Find an interpreter of a version such as 3.12: the running one, pyenv's, or one on the PATH."""
    if version == RUNNING:
        return Path(sys.base_prefix) / "bin" / f"python{version}"
    roots = (os.environ.get("PYENV_ROOT"), Path.home() / ".pyenv")
    pyenv = [found for root in roots if root
             for found in sorted((Path(root) / "versions").glob(f"{version}.*/bin/python"), reverse=True)]
    on_path = shutil.which(f"python{version}")
    candidates = [*pyenv, *([Path(on_path)] if on_path else [])]
    return next((candidate for candidate in candidates if _starts(candidate, version)), None)


def _starts(candidate: Path, version: str) -> bool:
    """Return whether it is that Python: a pyenv shim is on the PATH whether or not its version is chosen."""
    code = "import sys; sys.stdout.write('%d.%d' % sys.version_info[:2])"
    try:
        answer = subprocess.run([candidate, "-c", code], capture_output=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return answer.returncode == 0 and answer.stdout.decode() == version


def need_python(version: str) -> Path:
    """Return the interpreter of a version, or skip the test."""
    found = find_python(version)
    if found is None:
        pytest.skip(f"Python {version} is not installed here")
    return found
