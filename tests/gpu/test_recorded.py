"""What real cards showed is judged the same on any machine: no card is needed for these."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gpudoctor import codec, derive, ruledb, share
from gpudoctor.engine import evaluate
from gpudoctor.proving.proofs import strangers

RECORDED = Path(__file__).parent / "recorded"
H100, H200 = "h100-580.159.04-2026-11-27-", "h200-580.159.04-2026-11-20-"
NO_TENSORFLOW = ["pip-nvidia-libs-not-found", "wheel-file-collision"]


def judged(name: str) -> tuple[int, Any]:
    """Return the exit code and the report of the real command on a recording."""
    path = str(RECORDED / f"{name}.json")
    command = [sys.executable, "-m", "gpudoctor", "check", "--format", "json", "--from", path]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert result.stdout, result.stderr
    return result.returncode, json.loads(result.stdout)


@pytest.mark.parametrize(("name", "exit_code", "causes"), [
    pytest.param("healthy-torch-jax", 0, [], id="every-stage-passed"),
    # an RPATH comes before LD_LIBRARY_PATH: the empty libcudnn in front does no harm to these two
    pytest.param("broken-library-in-front-torch-jax", 0, [], id="an-empty-library-in-front"),
    pytest.param("full-torch-jax", 3, ["gpu-memory-in-use"], id="another-process-holds-the-card"),
    pytest.param("forced-jit-torch-jax", 1, ["ptx-jit-environment"], id="machine-code-is-ignored"),
    # as pip installs it: libcusolver lies where this release does not look, and TensorFlow takes the CPU
    pytest.param("tensorflow-2.21", 1, NO_TENSORFLOW, id="tensorflow-without-cusolver"),
    pytest.param("masked-tensorflow-2.21", 1, ["cuda-visible-devices", *NO_TENSORFLOW], id="card-hidden"),
])
def test_what_was_seen_on_an_h200(name: str, exit_code: int, causes: list[str]) -> None:
    code, report = judged(H200 + name)
    found = [finding["cause"] for finding in report["findings"]]
    assert (code, found[:len(causes)]) == (exit_code, causes)
    assert exit_code == 1 or found == causes, "nothing else is said of a machine without a fault"


@pytest.mark.parametrize(("name", "exit_code", "causes"), [
    pytest.param("healthy-torch-jax", 0, [], id="every-stage-passed"),
    pytest.param("nodes-of-root-torch-jax", 1, ["device-permission"], id="nobody-may-not-open-the-nodes"),
    pytest.param("stub-in-front-torch-jax", 1, ["libcuda-stub-loaded"], id="the-toolkit's-stub-in-front"),
    # in a container that was made before the module was loaded anew; in one that was given two nodes only
    pytest.param("stale-number-of-uvm-torch-jax", 1, ["nvidia-uvm-missing"], id="a-node-that-leads-nowhere"),
    pytest.param("without-uvm-torch-jax", 1, ["nvidia-uvm-missing"], id="nobody-without-the-node"),
    pytest.param("index-beyond-torch-jax", 1, ["cuda-visible-devices"], id="an-index-beyond-the-cards"),
])
def test_what_was_seen_on_an_h100(name: str, exit_code: int, causes: list[str]) -> None:
    code, report = judged(H100 + name)
    assert (code, [finding["cause"] for finding in report["findings"]]) == (exit_code, causes)
    assert {finding["certainty"] for finding in report["findings"]} <= {"certain"}


@pytest.mark.parametrize("card", [H100, H200])
def test_the_stages_that_passed_there_are_in_the_report(card: str) -> None:
    _, report = judged(f"{card}healthy-torch-jax")
    for framework in report["snapshot"]["frameworks"]:
        stages = {stage["stage"]: stage["outcome"] for stage in framework["framework.stages"]["value"]}
        assert stages == dict.fromkeys(("matmul", "convolution", "compiled", "reduced-precision"), "passed")
        assert framework["framework.trace_differs"]["value"] == [], "the loader went where it was foretold"


@pytest.mark.parametrize("path", sorted(RECORDED.glob("*.json")), ids=lambda path: path.stem)
def test_nothing_private_is_in_it(path: Path) -> None:
    """What `snapshot --share` would change still could have no place here."""
    seen = codec.decode_snapshot(json.loads(path.read_text("utf-8")), path.name)
    assert share.share(seen) == replace(seen, redacted=True)


@pytest.mark.parametrize("path", sorted(RECORDED.glob("*.json")), ids=lambda path: path.stem)
def test_pages_that_it_shows_together_name_each_other(path: Path) -> None:
    """Within a family, as on the cases of the pages."""
    rules = ruledb.load(extent="whole")
    seen = codec.decode_snapshot(json.loads(path.read_text("utf-8")), path.name)
    found = evaluate(derive.subjects(seen, rules), rules.rules, rules.tables, worded=False)
    assert list(strangers(found, rules)) == []


def test_verbose_shows_how_each_stage_went() -> None:
    """Its end, where the result lies, how far off it is, and how long it took."""
    path = str(RECORDED / f"{H200}healthy-torch-jax.json")
    command = [sys.executable, "-m", "gpudoctor", "check", "--from", path, "-v"]
    said = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False).stdout
    of_torch = " ".join(said.partition("STAGES of torch")[2].partition("STAGES of jax")[0].split())
    assert "matmul passed, for GPU 0, result on cuda:0, off by 0 (allowed: 0), 0.44 s" in of_torch
    assert "compiled passed, for GPU 0, result on cuda:0, off by 1.06266e-07" in of_torch
