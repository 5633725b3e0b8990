"""README.md shows what is found in a Dockerfile, in the words that the command prints today."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCKERFILE = """\
FROM nvidia/cuda:12.4.1-cudnn9-runtime-ubuntu22.04
ENV NVIDIA_DRIVER_CAPABILITIES=utility
RUN apt-get update && apt-get install -y python3-pip
RUN pip install tensorflow==2.20.0 numpy>=1.26
"""
WORDS = ("lint", "Dockerfile", "--assume", "driver=595.45.04", "--fix")
_SHOWN = re.compile(r"<!-- lint: begin -->\n(.*?)<!-- lint: end -->", re.DOTALL)


def printed(folder: Path) -> str:
    """Return what the command line prints of the Dockerfile, as the page shows it."""
    (folder / "Dockerfile").write_text(DOCKERFILE, encoding="utf-8")
    run = subprocess.run([sys.executable, "-m", "gpudoctor", *WORDS], cwd=folder, text=True,
                         env={"COLUMNS": "120", "PYTHONPATH": str(ROOT)}, capture_output=True, check=False)
    assert run.returncode == 1, run.stderr
    return f"```text\n$ gpudoctor {' '.join(WORDS)}\n{run.stdout}```\n"


def test_the_readme_shows_what_is_printed(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """`--update-golden` writes it anew."""
    text = printed(tmp_path)
    readme = ROOT / "README.md"
    page = readme.read_text("utf-8")
    shown = _SHOWN.search(page)
    assert shown is not None, "README.md shows no linted file between its markers"
    if request.config.getoption("--update-golden"):
        readme.write_text(page[: shown.start(1)] + text + page[shown.end(1):], "utf-8")
        return
    assert shown[1] == text
