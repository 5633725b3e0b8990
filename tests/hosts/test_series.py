"""Several collectors share a child: one that breaks it is named, and costs no other its answer."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import gpudoctor

PACKAGE = Path(gpudoctor.__file__).parent
READING = ("system", "driver", "container", "toolkit", "loader", "environment")
BREAKS = {
    "signal": "    import os\n    os.abort()\n",
    "exit": "    import sys\n    sys.exit(3)\n",
    "timeout": "    import time\n    time.sleep(600)\n",
    "garbled": "    import os\n    os._exit(0)\n",
}


@pytest.fixture
def doctor(tmp_path: Path) -> Path:
    """Return a folder with a gpudoctor of its own, which can be broken."""
    shutil.copytree(PACKAGE, tmp_path / "gpudoctor", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "rules").symlink_to(PACKAGE.parent / "rules")
    return tmp_path


def break_collector(doctor: Path, name: str, outcome: str) -> None:
    """Let a collector end so, whatever it is asked."""
    file = doctor / "gpudoctor" / "payloads" / f"{name}.py"
    broken = f"\n\ndef collect(request):\n{BREAKS[outcome]}"
    file.write_text(file.read_text(encoding="utf-8") + broken, encoding="utf-8")


def answers(doctor: Path, timeout_seconds: float = 60) -> dict[str, Any]:
    """Return the raw answers of a snapshot that it takes."""
    argv = [sys.executable, "-m", "gpudoctor", "snapshot", "--python", sys.executable, "--record", "raw",
            "--timeout", str(timeout_seconds), "--output", "snapshot.json"]
    variables = {**os.environ, "PYTHONPATH": str(doctor)}
    subprocess.run(argv, cwd=doctor, env=variables, check=True, timeout=300, stdin=subprocess.DEVNULL)
    raw: dict[str, Any] = json.loads((doctor / "raw" / "raw.json").read_text(encoding="utf-8"))["probes"]
    return raw


def outcomes(raw: dict[str, Any]) -> dict[str, str]:
    """Return how the collectors of a series ended."""
    return {name: raw[name]["outcome"] for name in (*READING, "nvml")}


@pytest.mark.parametrize("outcome", ["signal", "exit", "garbled"])
@pytest.mark.parametrize("name", ["system", "toolkit", "environment", "nvml"])
def test_who_breaks_the_child_is_named_and_alone(doctor: Path, name: str, outcome: str) -> None:
    """First, in the middle and last of those that read, and the one that asks."""
    break_collector(doctor, name, outcome)
    assert outcomes(answers(doctor)) == {**dict.fromkeys((*READING, "nvml"), "ok"), name: outcome}


def test_who_hangs_is_named_and_alone(doctor: Path) -> None:
    """The others have their whole limit after it."""
    break_collector(doctor, "driver", "timeout")
    raw = answers(doctor, timeout_seconds=15)
    assert outcomes(raw) == {**dict.fromkeys((*READING, "nvml"), "ok"), "driver": "timeout"}
    assert raw["driver"]["seconds"] >= 15


def test_two_that_break_are_two(doctor: Path) -> None:
    """Each is started again by itself."""
    break_collector(doctor, "toolkit", "signal")
    break_collector(doctor, "loader", "exit")
    expected = {**dict.fromkeys((*READING, "nvml"), "ok"), "toolkit": "signal", "loader": "exit"}
    assert outcomes(answers(doctor)) == expected
