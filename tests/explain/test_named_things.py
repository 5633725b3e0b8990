"""What lines of programs name: a graph, a tensor and what is deprecated are no card that fails."""

from __future__ import annotations

import pytest

from tests.explain.test_unfamiliar import faults, read_as


@pytest.mark.parametrize("line", [
    "`get_cuda_runtime_version` is deprecated and will be removed. Use `torch.version.cuda` instead.",
    "NumbaDeprecationWarning: Importing from numba.cuda.cudadrv.drvapi is deprecated.",
    "FutureWarning: The pynvml package is deprecated. Unknown GPU fields will no longer be supported.",
])
def test_what_is_deprecated_is_no_fault(line: str) -> None:
    """It works as yet; a card, or a library, was told to be unsupported or lost."""
    assert faults(line) == []


@pytest.mark.parametrize("line", [
    "CUDA graph is not supported on BitsAndBytes 8bit yet, fallback to the eager mode.",
    "ValueError: Capture size larger than 992 is not supported for full cuda graph.",
])
def test_a_graph_or_a_stream_of_cuda_is_no_card(line: str) -> None:
    """A card was told to be too new for what captures no graph."""
    assert faults(line) == []


def test_a_number_behind_an_exceptions_name_is_of_what_it_says() -> None:
    """Seven cards were taken for CUDA's error 7."""
    assert "cuda-wrong-use" not in read_as("ValueError: When 7 GPUs are specified, it cannot be `off`.")
    assert read_as("CUDA error 7") == ["cuda-wrong-use"]


@pytest.mark.parametrize(("line", "first"), [
    ("ValueError: the backend requires an SM100/SM103 (Blackwell) GPU.", "gpu-too-old-for-build"),
    ("ValueError: CuteDSL MLA is only supported on Blackwell GPUs (SM100).", "gpu-too-old-for-build"),
    ("ValueError: the kernel needs CUDA tensors, and got some of the CPU", "api-misuse"),
    ("RuntimeError: Bitsandbytes is only supported on CUDA GPUs.", "cpu-only-build"),
    ("ValueError: HIGGS is only supported on GPU. Please use another.", "cpu-only-build"),
    ("FP8 is only supported on GPUs with compute capability >= 9.0 (e.g H100)", "precision-not-on-card"),
    ("ValueError: Invalid value for argument `device_name`: 'gpu:x'", "cuda-visible-devices"),
])
def test_who_serves_cards_alone_calls_none_unsupported(line: str, first: str) -> None:
    """What only they are good for was taken for what they cannot do; so was a device's wrong name."""
    assert faults(line)[0] == first
