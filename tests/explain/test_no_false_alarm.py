"""Texts in which nothing is wrong with a GPU, or another program has a trouble: no fault is told of them."""

from __future__ import annotations

import pytest

from gpudoctor.model import Certainty, Severity
from tests.explain.shipped import causes, findings, first, told

_WHEEL_WITH_CUDA = "PyTorch version: 2.3.1+cu121\nCUDA runtime version: 11.8.89\n"
_TWO_CUDAS = (
    "nvcc: NVIDIA (R) Cuda compiler driver\nCuda compilation tools, release 11.8, V11.8.89\n"
    "$ python -c 'import torch; print(torch.__version__, torch.cuda.is_available())'\n2.5.1+cu124 True")
_OUTSIDE = """
    Found GPU0 {card} which is of cuda capability {capability}.
    Minimum and Maximum cuda capability supported by this version of PyTorch is
    ({least}) - ({most})
"""


def faults(text: str) -> list[str]:
    """Return the causes of faults that are told."""
    return [one.cause for one in findings(text) if one.severity is not Severity.BENIGN]


@pytest.mark.parametrize("text", [
    "12.2.0-base: Pulling from nvidia/cuda\nStatus: Downloaded newer image for nvidia/cuda:12.2.0-base",
    "Status: Downloaded newer image for tensorflow/tensorflow:2.15.0-gpu",
    "npm WARN deprecated gpu.js@2.16.0: this package is no longer supported",
    "ssh: connect to host gpu-node-3 port 22: Connection refused", "scp: /data/gpu/run1: Permission denied",
    "OperationalError: could not connect: Connection refused. Is the server running on host \"gpu-db\"?",
    "wandb: WARNING Unable to read GPU stats, disabling GPU monitoring",
    "rsync: failed to open \"/home/u/cuda-12.1.run\": No such file or directory",
    "kubelet: Unable to attach or mount volumes: timed out waiting for the condition (pod gpu-train-0)",
    "error TS2339: Property 'gpu' does not exist on type 'Navigator'.",
], ids=lambda text: text[:24])
def test_progress_and_troubles_of_other_programs_are_none_of_a_gpu(text: str) -> None:
    """Regression: "newer image" was read as a card that is too old, a refused ssh as a denied device file."""
    assert faults(text) == []


@pytest.mark.parametrize("text", [
    "FileNotFoundError: [Errno 2] No such file or directory: '/data/gpu_results/out.csv'",
    "OSError: [Errno 2] No such file or directory: 'cuda_kernels/kernel.cu'",
    "AttributeError: 'Trainer' object has no attribute 'gpus'",
    "TypeError: Trainer.__init__() got an unexpected keyword argument 'gpus'",
    "Uncaught Error: WebGPU is not supported on this browser.",
])
def test_a_name_with_gpu_in_it_is_no_gpu_and_errno_no_error_of_cuda(text: str) -> None:
    """Regression: "[Errno 2]" of a file was said to be CUDA_ERROR_OUT_OF_MEMORY."""
    assert faults(text) == []


@pytest.mark.parametrize("text", [
    "INFO: No GPU was requested for this job; running preprocessing on CPU as configured.",
    "GPU available: True (cuda), used: True\nLOCAL_RANK: 0 - CUDA_VISIBLE_DEVICES: [0]",
    "env:\nCUDA_VISIBLE_DEVICES=0\nLD_LIBRARY_PATH=/usr/local/cuda-12.1/lib64\nPython 3.10",
    _WHEEL_WITH_CUDA + "Is CUDA available: True",
    _TWO_CUDAS,
    "Our tool runs on Linux, macOS and Windows. Build it with make.\nmake: *** [all] Error 2",
    "ERROR: student 42 is not enrolled in course 7", "usb 1-1: device fallen off the bus, resetting",
    "123 cpu job me PD 0:00 1 (ReqNodeNotAvail, UnavailableNodes:n1)",
    "Warning  FailedScheduling  2s  default-scheduler  0/3 nodes are available: 3 Insufficient cpu.",
], ids=lambda text: text[:24])
def test_what_is_well_or_of_something_else_is_no_fault(text: str) -> None:
    """Regression: a toolkit beside a wheel that brings its CUDA, a wish for no GPU, a row of systems."""
    assert faults(text) == []


@pytest.mark.parametrize(("card", "capability", "least", "most", "expected"), [
    ("NVIDIA GB10", "12.1", "8.0", "12.0", "benign-other"),
    ("NVIDIA GeForce RTX 5090", "12.0", "5.0", "9.0", "gpu-too-new-for-build"),
    ("Tesla K80", "3.7", "5.0", "12.0", "gpu-too-old-for-build"),
])
def test_a_card_outside_a_build_is_held_against_both_ends_of_it(
        card: str, capability: str, least: str, most: str, expected: str) -> None:
    """Regression: a card newer than the newest was told for certain that it is too old."""
    assert first(_OUTSIDE.format(card=card, capability=capability, least=least, most=most)) == expected


def test_a_card_of_the_generation_of_the_build_is_served_in_the_new_wording_too() -> None:
    """Regression: 12.1 runs code for 12.0, and was said to be too old or too new."""
    assert faults("UserWarning: Found GPU0 NVIDIA GB10 which is of compute capability (CC) 12.1.\n"
                  "Your installed torch==2.13.0+cu130 does not include kernels for this GPU.") == []


@pytest.mark.parametrize(("text", "absent"), [
    ("dmesg shows no 'GPU has fallen off the bus' message.\nCUDA error: device-side assert triggered",
     "gpu-fell-off-bus"),
    ("\"Failed to initialize NVML: Driver/library version mismatch\" is gone.\nCUDA out of memory",
     "driver-kernel-userspace-mismatch"),
    ("There is no CUDA out of memory error, but torch.cuda.is_available() is False. torch 2.1.0+cu118.",
     "out-of-memory-model"),
    ("    Fix CUDA error: an illegal memory access was encountered in kernel foo", "framework-bug"),
    ("    log.error('Failed to initialize NVML: Driver/library version mismatch')",
     "driver-kernel-userspace-mismatch"),
], ids=["no", "is gone", "there is no", "fix", "source"])
def test_what_a_line_denies_or_quotes_is_not_said(text: str, absent: str) -> None:
    """Regression: "no ... in dmesg" and "... is gone" made a certain cause of what they deny."""
    assert absent not in causes(text)


def test_the_same_words_said_are_a_cause() -> None:
    """A denial is of the line that it stands in."""
    assert first("kernel: NVRM: GPU 0000:01:00.0: GPU has fallen off the bus.") == "gpu-fell-off-bus"
    one = findings("Failed to initialize NVML: Driver/library version mismatch")[0]
    assert one.certainty is Certainty.CERTAIN


def test_a_finding_of_a_place_alone_shows_the_place() -> None:
    """Regression: on a Mac a fault was told without a line that says where it was seen."""
    found = told("TypeError: forward() got an unexpected keyword argument\n- Platform: macOS-14.5-arm64\n"
                 "- PyTorch version (GPU?): 2.4.0 (False)").findings
    assert all(finding.evidence for finding in found)
