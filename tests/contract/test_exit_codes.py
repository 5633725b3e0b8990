"""Every exit code of the command line, each brought about for real (DESIGN.md, section 5)."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.contract.checkout import ROOT, RULES, run_gpudoctor
from tests.harness import namespace
from tests.harness.machine import Machine
from tests.harness.nvidia import H100, LIBRARY_FOLDER, nvidia_machine
from tests.harness.patient import Patient
from tests.shim import build

HEALTHY, FINDINGS, USAGE, UNDECIDED, INPUT = range(5)
DRIVER = "580.95.05"
CHECK = ("check", "--depth", "static", "--format", "json")

Run = subprocess.CompletedProcess[str]


def write_snapshot(folder: Path, **host: Any) -> Path:
    """Write the snapshot of a healthy machine without a framework, with other facts in place of some."""
    made = run_gpudoctor(*CHECK, "--from", str(ROOT / "tests/contract/healthy.json"))
    assert made.returncode in (HEALTHY, UNDECIDED), made.stderr
    snapshot = json.loads(made.stdout)["snapshot"]
    snapshot["host"].update(host)
    path = folder / "snapshot.json"
    path.write_text(json.dumps(snapshot))
    return path
