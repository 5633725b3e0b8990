"""What programs printed on a real card, healthy and broken on purpose: an H100, 2026-11-27.

With driver 580.159.04, torch 2.11, JAX 0.11.2, CuPy 14.2, Numba, Triton 3.6, ONNX Runtime 1.30 and CUDA 13.0;
serial numbers are taken out. `done` says what was done to each, `causes` what may be told first: none of a
healthy one.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gpudoctor.model import Severity
from tests.explain.shipped import findings

RECORDED = [json.loads(line)
            for line in (Path(__file__).parent / "recorded" / "h100.jsonl").read_text("utf-8").splitlines()]


@pytest.mark.parametrize("run", RECORDED, ids=lambda run: run["name"])
def test_what_was_done_is_told_first(run: dict[str, Any]) -> None:
    found = findings(run["text"])
    faults = [finding.cause for finding in found if finding.severity is not Severity.BENIGN]
    assert faults[:1] == run["causes"], run["done"]
