"""At the end of a test run stands by name which recommendations nobody installed."""

from __future__ import annotations

import json

from tests.contract.checkout import run_gpudoctor
from tests.frameworks import untried


def test_what_is_offered_beside_what_was_typed_is_named() -> None:
    """Of a real recommendation: a build on PyTorch's index, an image, another release; each once."""
    assumed = ("--assume", "python=3.12.1", "--assume", "cc=8.9", "--assume", "driver=535.104.05")
    run = run_gpudoctor("recommend", "--framework", "torch", *assumed, "--format", "json")
    said = json.loads(run.stdout)
    typed = next(one for one in said["candidates"] if one["verdict"] == "fits")
    named = list(untried.lines([*untried.offered_besides(said, typed), ("other", "x"),
                                *untried.offered_besides(said, typed)]))
    assert [line.partition(" (")[0] for line in named] == [
        "recommendations offered and not tried: images",
        "recommendations offered and not tried: on PyTorch's and Paddle's own indexes",
        "recommendations offered and not tried: other releases of pip's index"]
    assert "nvcr.io/nvidia/pytorch:23.06-py3" in named[0]
    assert "torch 2.14.1 (CUDA 12.6)" in named[1]
    assert f"torch {typed['version']}," not in named[2]
    assert named[2].count("torch 2.9.1") == 1
