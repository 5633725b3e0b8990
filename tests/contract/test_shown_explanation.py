"""The guide shows an explanation, in the words that the command prints today."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.harness.pages import ROOT, assert_shows

LOG = """\
NVIDIA GeForce RTX 5090 with CUDA capability sm_120 is not compatible with the current PyTorch installation.
The current PyTorch install supports CUDA capabilities sm_50 sm_60 sm_70 sm_75 sm_80 sm_86 sm_90.
RuntimeError: CUDA error: no kernel image is available for execution on the device
"""


def printed(folder: Path) -> str:
    """Return what the command line prints of the log, as the page shows it."""
    (folder / "train.log").write_text(LOG, encoding="utf-8")
    run = subprocess.run([sys.executable, "-m", "gpudoctor", "explain", "train.log"], cwd=folder, text=True,
                         env={"COLUMNS": "100", "PYTHONPATH": str(ROOT)}, capture_output=True, check=False)
    assert run.returncode == 1, run.stderr
    return f"```text\n$ tail -3 train.log\n{LOG}$ gpudoctor explain train.log\n{run.stdout}```\n"


def test_the_guide_shows_what_is_printed(tmp_path: Path, updating: bool) -> None:
    """`--update-golden` writes it anew."""
    assert_shows("explanation", printed(tmp_path), updating=updating)
