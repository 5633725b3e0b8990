"""The guide shows what is found in a Dockerfile, in the words that the command prints today."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.harness.pages import ROOT, assert_shows

DOCKERFILE = """\
FROM nvidia/cuda:12.4.1-cudnn9-runtime-ubuntu22.04
ENV NVIDIA_DRIVER_CAPABILITIES=utility
RUN apt-get update && apt-get install -y python3-pip
RUN pip install tensorflow==2.20.0 numpy>=1.26
"""
WORDS = ("lint", "Dockerfile", "--assume", "driver=595.45.04", "--fix")


def printed(folder: Path) -> str:
    """Return what the command line prints of the Dockerfile, as the page shows it."""
    (folder / "Dockerfile").write_text(DOCKERFILE, encoding="utf-8")
    run = subprocess.run([sys.executable, "-m", "gpudoctor", *WORDS], cwd=folder, text=True,
                         env={"COLUMNS": "120", "PYTHONPATH": str(ROOT)}, capture_output=True, check=False)
    assert run.returncode == 1, run.stderr
    return f"```text\n$ gpudoctor {' '.join(WORDS)}\n{run.stdout}```\n"


def test_the_guide_shows_what_is_printed(tmp_path: Path, updating: bool) -> None:
    """`--update-golden` writes it anew."""
    assert_shows("lint", printed(tmp_path), updating=updating)
