"""The guide shows a recommendation and a Dockerfile, in the words that the commands print today."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from gpudoctor import codec, ruledb
from gpudoctor.assume import assumed, lay, parse_assumption
from tests.harness.pages import ROOT, assert_shows

MACHINE = ("cc=8.9", "driver=535.104.05", "gpu.name=NVIDIA L4")
RECORDED = ("--from", "machine.json")


def printed(folder: Path, language: str, *words: str) -> str:
    """Return what the command line prints about a recorded machine, as the page shows it."""
    database = ruledb.load()
    facts = assumed([parse_assumption(word) for word in MACHINE])
    machine = lay(database.base, facts, database.tables, source="recorded")
    (folder / "machine.json").write_text(json.dumps(codec.encode_snapshot(machine)), encoding="utf-8")
    run = subprocess.run([sys.executable, "-m", "gpudoctor", *words], cwd=folder, text=True,
                         env={"COLUMNS": "120", "PYTHONPATH": str(ROOT)}, capture_output=True, check=False)
    assert run.returncode == 0, run.stderr
    prompt = "$" if language == "text" else "# $"  # a comment, so that a Dockerfile stays one
    return f"```{language}\n{prompt} gpudoctor {' '.join(words)}\n{run.stdout}```\n"


def test_the_guide_shows_what_is_printed(tmp_path: Path, updating: bool) -> None:
    """`--update-golden` writes it anew."""
    words = ("recommend", *RECORDED, "--framework", "torch", "--may-change", "driver")
    assert_shows("recommendation", printed(tmp_path, "text", *words), updating=updating)


def test_the_guide_shows_what_is_written(tmp_path: Path, updating: bool) -> None:
    """`--update-golden` writes it anew."""
    words = ("dockerfile", *RECORDED, "--framework", "tensorflow")
    assert_shows("dockerfile", printed(tmp_path, "dockerfile", *words), updating=updating)
