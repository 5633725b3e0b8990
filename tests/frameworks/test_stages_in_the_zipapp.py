"""The stand-alone payload runs a real framework through its stages, and its answers are judged elsewhere."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from gpudoctor import zipapp
from tests.harness.machine import File
from tests.harness.nvidia import H100
from tests.harness.patient import Patient
from tests.machines.catalogue import r580

ROOT = Path(__file__).parents[2]


def test_the_zipapp_leaves_a_full_card_alone(environment: Callable[[str], Patient]) -> None:
    """As `check` does: nothing is run, and why is said."""
    full = r580(H100).adding(shim=f"gpu.0.mem_used={(80 << 30) - (64 << 20)}\ngpu.0.mem_total={80 << 30}")
    probe = File(content=zipapp.build())
    machine = replace(full, loader_cache=True).adding(files={"/opt/probe.pyz": probe})
    python = str(environment("torch-cpu").python)
    done = machine.run([python, "/opt/probe.pyz", "--depth", "smoke"], timeout=300)
    course, = json.loads(done.stdout)["probes"]["stages"]["data"]["courses"]
    assert course["skipped"]["reason"].startswith("no room on it: 64 MiB")
    assert "begun" not in course["rounds"][0]["journal"]


def test_what_the_zipapp_ran_is_judged_here(environment: Callable[[str], Patient], tmp_path: Path) -> None:
    probe = File(content=zipapp.build())
    machine = replace(r580(H100), loader_cache=True).adding(files={"/opt/probe.pyz": probe})
    python = str(environment("torch-cpu").python)
    done = machine.run([python, "/opt/probe.pyz", "--depth", "smoke"], timeout=300)
    assert (done.returncode, done.stderr, done.leftover) == (0, "", ())
    raw = tmp_path / "raw.json"
    raw.write_text(done.stdout, "utf-8")
    judged = subprocess.run(
        [sys.executable, "-m", "gpudoctor", "check", "--from", str(raw), "--format", "json"],
        cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    report = json.loads(judged.stdout)
    torch, = report["snapshot"]["frameworks"]
    outcomes = {stage["stage"]: stage["outcome"] for stage in torch["framework.stages"]["value"]}
    assert outcomes == {"matmul": "ran-on-cpu", "convolution": "ran-on-cpu", "compiled": "skipped",
                        "reduced-precision": "ran-on-cpu"}
    assert report["findings"][0]["cause"] == "cpu-only-build"
    assert judged.returncode == 1
