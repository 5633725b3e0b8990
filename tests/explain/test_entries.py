"""Entries of reports that only hold the place of a fault, and lines that do speak of one."""

from __future__ import annotations

import pytest

from gpudoctor.explanation.entries import is_listed, speaks_of_none


@pytest.mark.parametrize("line", [
    "Correctable Error : 0", "Remapping Failure Occurred : No", "ECC Errors", "[conda] Could not collect",
    "Clang version: Could not collect", "Vulnerability Tsx async abort: Mitigation; TSX disabled",
    "<remapped_row_failure>No</remapped_row_failure>", "| Unsupported features : N/A |",
    "<display_mode>Requested functionality has been deprecated</display_mode>",
    "CUDA Archs: Not Set; ROCm: Disabled; Neuron: Disabled",
    "0 CUDA errors", "no CUDA error occurred", "GPU 0: no errors found", "Zero faults so far.",
])
def test_an_entry_without_a_fault_speaks_of_none(line: str) -> None:
    """nvidia-smi -q, its XML, lscpu and collect_env name what could be wrong, and that it is not."""
    assert speaks_of_none(line)


@pytest.mark.parametrize("line", [
    "Correctable Error : 12", "Remapping Failure Occurred : Yes", "RuntimeError: CUDA error: unknown error",
    "ERROR: no such device", "<remapped_row_failure>Yes</remapped_row_failure>", "ECC Errors were found",
    "E0000 00:00:1795153136.899476     843 cuda_platform.cc:52] failed call to cuInit: 0", "fatal error",
    "no CUDA error handler", "no more errors",
    "CUDA Archs: Not Set; ROCm: failed to start", "10 CUDA errors", "no errors, but the GPU is not used",
])
def test_a_line_that_speaks_of_a_fault_stays(line: str) -> None:
    """Whatever looks like an entry and holds something else is kept."""
    assert not speaks_of_none(line)


@pytest.mark.parametrize("line", [
    "tensorflow-gpu (1.13.1)", "torch==2.3.0+cu121", "nvidia-cudnn-cu12 8.9.7.29",
    "pytorch 2.5.1 cuda126_py312hd28ad9f_306 conda-forge", "ii nvidia-driver-550 550.54.15 amd64 NVIDIA",
    "Kernel modules: nvidiafb, nouveau, nvidia", '"driver": "", "count": -1', '[{"Id": "9af"}]',
    "sudo apt install nvidia-driver-550 libnvidia-compute-550", "$ nvidia-smi",
])
def test_a_row_of_a_list_and_a_command_report_nothing(line: str) -> None:
    """What commands list, and what is to be typed, has the words of reports too."""
    assert is_listed(line)


@pytest.mark.parametrize("line", [
    "tensorflow 2.10 does not see the GPU", "RTX 3090 24 GB is idle", "Kernel driver in use: nouveau",
    "framework: pytorch 1.6", "sudo", "rc.local fails",
])
def test_what_somebody_tells_is_no_row(line: str) -> None:
    """Whoever names a release goes on with a word that no list has behind it."""
    assert not is_listed(line)
