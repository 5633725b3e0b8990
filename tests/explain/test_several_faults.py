"""Two faults in one text: each is told, and what one framework says is no word against another."""

from __future__ import annotations

import pytest

from gpudoctor import ruledb, texts
from gpudoctor.examine import Policy
from gpudoctor.explanation import Told, explain, report
from gpudoctor.render.told import last_words

TORCH_OF_THE_CPU = "AssertionError: Torch not compiled with CUDA enabled"
TENSORFLOW_WITHOUT_CUDNN = (
    "2026-01-01 00:00:00.000000: W tensorflow/stream_executor/platform/default/dso_loader.cc:64] Could not "
    "load dynamic library 'libcudnn.so.8'; dlerror: libcudnn.so.8: cannot open shared object file: "
    "No such file or directory")
TORCH_HAS_CUDA = "RuntimeError: No CUDA GPUs are available"


def told(*lines: str) -> Told:
    """Return what the shipped rules tell of a text."""
    database = ruledb.load_shipped()
    return explain(texts.read_text("\n".join(lines) + "\n", database), database)


@pytest.mark.parametrize("lines", [
    (TORCH_OF_THE_CPU, TENSORFLOW_WITHOUT_CUDNN), (TENSORFLOW_WITHOUT_CUDNN, TORCH_OF_THE_CPU),
])
def test_a_build_for_the_cpu_beside_a_framework_that_lacks_a_library(lines: tuple[str, str]) -> None:
    """That TensorFlow looks for cuDNN does not give PyTorch CUDA."""
    causes = [finding.cause for finding in told(*lines).findings]
    assert {"cpu-only-build", "cudnn-missing"} <= set(causes)
    assert "cpu-only-build" not in [f.cause for f in told(TORCH_HAS_CUDA, TENSORFLOW_WITHOUT_CUDNN).findings]


def test_who_has_cuda_is_no_build_for_the_cpu() -> None:
    """Of the same framework it is a word against."""
    assert "cpu-only-build" in [f.cause for f in told(TORCH_OF_THE_CPU).findings]
    assert told(TORCH_OF_THE_CPU, TORCH_HAS_CUDA).findings[0].cause != "cpu-only-build"


def test_each_message_that_nothing_told_explains_gets_its_own_cause() -> None:
    """However many reasons the first message has, and however sure the first is."""
    lines = ("NVRM: API mismatch: the client has the version 535.54.03, but", TENSORFLOW_WITHOUT_CUDNN,
             TORCH_OF_THE_CPU)
    found = told("Failed to initialize NVML: Driver/library version mismatch", *lines).findings
    assert found[0].cause == "driver-kernel-userspace-mismatch"
    assert {"cpu-only-build", "cudnn-missing"} <= {finding.cause for finding in found}


def test_two_faults_that_no_line_shares_are_both_certain() -> None:
    """Regression: the second was "likely", and the last line named the first alone."""
    numpy = ("A module that was compiled using NumPy 1.x cannot be run in\n"
             "NumPy 2.0.1 as it may crash. To support both 1.x and 2.x\n"
             "versions of NumPy, modules must be compiled with NumPy 2.0.\n")
    nvml = "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 550.120\n"
    both = told(numpy + nvml).findings
    words = last_words(report(told(numpy + nvml), ruledb.load_shipped(), Policy()))
    assert words == "The causes are python-deps-abi and driver-kernel-userspace-mismatch"
    assert [(one.cause, one.certainty.value, one.asks) for one in both] == [
        ("python-deps-abi", "certain", ()), ("driver-kernel-userspace-mismatch", "certain", ())]
