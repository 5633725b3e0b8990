"""`tools/environment.sh`: what it makes anew is this checkout's own environment."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.contract.checkout import ROOT

# clears what it is told to, as `python -m venv --clear` does through a link, and makes nothing
PYTHON = """#!/bin/sh
[ "$2" = venv ] || exit 0
rm -rf "$4"/*
exit 9
"""


def test_the_environment_of_another_checkout_is_not_emptied(tmp_path: Path) -> None:
    """Regression: a link to it was followed, and what others were working with was gone."""
    other, checkout = tmp_path / "other", tmp_path / "checkout"
    (other / "bin").mkdir(parents=True)
    (other / "bin" / "python").touch()
    (checkout / "tools").mkdir(parents=True)
    script = checkout / "tools" / "environment.sh"
    script.write_text((ROOT / "tools" / "environment.sh").read_text("utf-8"), "utf-8")
    python = tmp_path / "python3"
    python.write_text(PYTHON, "utf-8")
    python.chmod(0o755)
    (checkout / ".venv").symlink_to(other)
    ran = subprocess.run(["sh", str(script), "run"], env={"PATH": "/usr/bin:/bin", "PYTHON": str(python)},
                         stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False)
    assert ran.returncode == 9, ran.stderr
    assert (other / "bin" / "python").exists()
