"""What programs for AMD's cards say is answered in AMD's terms: no command of NVIDIA's is printed for it."""

from __future__ import annotations

import pytest

from gpudoctor import texts
from gpudoctor.explanation import explain
from gpudoctor.model import Known
from tests.explain.shipped import database, findings

OF_NVIDIA = ("nvidia-smi", "modprobe nvidia", "libcuda", "/dev/nvidia", "NVIDIA driver", "10de:")


@pytest.mark.parametrize(("line", "cause", "command"), [
    ("RuntimeError: No HIP GPUs are available", "device-permission", "usermod -aG render,video"),
    ("Unable to open /dev/kfd read-write: Permission denied", "device-permission",
     "usermod -aG render,video"),
    ("ROCk module is NOT loaded, possibly no GPU devices", "driver-module-not-loaded", "modprobe amdgpu"),
    ("hipErrorNoBinaryForGpu: Unable to find code object for all current devices!",
     "gpu-too-new-for-build", "rules table rocm"),
    ("failed call to hipInit: HIP_ERROR_NoDevice", "device-permission", "render"),
])
def test_a_line_of_rocm_is_answered_with_what_rocm_needs(line: str, cause: str, command: str) -> None:
    """It was to load the module nvidia, to ask nvidia-smi and to install NVIDIA's driver."""
    found = findings(line + "\n")
    assert found[0].cause == cause
    assert command in found[0].message
    for one in found:
        said = " ".join((one.message, *(ask.command for ask in one.asks), *one.asks[0].answers.values(),
                         *(" ".join((fix.title, *fix.commands)) for fix in one.fixes)))
        assert [word for word in OF_NVIDIA if word in said] == []
        assert "rocminfo" in one.asks[0].command


def test_a_line_of_cuda_beside_it_keeps_its_own_page() -> None:
    """A server with both kinds of cards says a line of each; NVIDIA's has NVIDIA's remedy."""
    text = "CUDA driver version is insufficient for CUDA runtime version\nNo HIP GPUs are available\n"
    found = {one.cause: one for one in findings(text)}
    assert "GPD1016" not in found["driver-too-old"].message


def test_whose_cards_the_programs_are_for_is_a_fact_of_the_text() -> None:
    """So that a symptom's suspects may ask for it."""
    told = explain(texts.read_text("No HIP GPUs are available\n", database()), database())
    fact = told.snapshot.host["text.maker"]
    assert isinstance(fact, Known)
    assert fact.value == "amd"
