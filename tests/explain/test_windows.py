"""What is said to somebody on Windows, and of a Windows that lends its GPU to WSL."""

from __future__ import annotations

import re
from functools import cache

import pytest

from gpudoctor import ruledb, texts
from gpudoctor.explanation import Told, explain
from gpudoctor.explanation.bound import as_asked_there
from gpudoctor.model import Ask, RuleDatabase

BLOCKED = "Failed to initialize NVML: GPU access blocked by the operating system\n"
OF_UNIX = re.compile(r"\b(?:grep|ldconfig|ls -|xargs|awk|unset|sudo|env -u)\b|/dev/null|LD_LIBRARY_PATH")


@cache
def database() -> RuleDatabase:
    """Return the shipped rules."""
    return ruledb.load_shipped("told")


def told(text: str) -> Told:
    """Return what is told of a text."""
    return explain(texts.read_text(text, database()), database())


@pytest.mark.parametrize(("system", "is_possible"), [
    ("Windows 11 WSL2", False), ("Microsoft Windows [Version 10.0.22631.3007], WSL2", False),
    ("Windows 11 24H2, OS Build 26100.1742, WSL2", False), ("Windows 10 21H1 19043, WSL2", True),
    ("WSL2", True),
])
def test_a_windows_that_lends_its_gpu_is_not_too_old(system: str, is_possible: bool) -> None:
    """Regression: it stood among the candidates whatever build was stated."""
    causes = [finding.cause for finding in told(f"{BLOCKED}{system}\n").findings]
    assert ("wsl-windows-too-old" in causes) is is_possible
    assert causes[0] == "wsl-gpu-access-blocked"


@pytest.mark.parametrize("message", [
    "ImportError: numpy.core.multiarray failed to import", "cuInit: CUDA_ERROR_NOT_PERMITTED",
    "RuntimeError: No CUDA GPUs are available", "Segmentation fault in tensorflow", "rocm: no device found",
    "CUBLAS_STATUS_NOT_SUPPORTED", "cupy and cupy-cuda12x: multiple CuPy packages are installed",
])
def test_nothing_of_a_unix_shell_is_asked_or_advised_on_windows(message: str) -> None:
    """Regression: `pip list | grep`, `unset`, `sudo reboot`."""
    for finding in told(f"{message}\n\nos: Windows 10\nplatform: windows\n").findings:
        for command in (*(ask.command for ask in finding.asks),
                        *(step for fix in finding.fixes for step in (*fix.commands, *fix.env))):
            assert not OF_UNIX.search(command), (finding.cause, command)


@pytest.mark.parametrize(("asked", "there"), [
    ("pip list | grep -i nvidia; pip check", 'pip list | findstr /i "nvidia"; pip check'),
    ("pip list | grep -iE 'nvidia-|cupy'", 'pip list | findstr /i "nvidia- cupy"'),
    ("nvidia-smi -q | grep -iE 'License Status|Product Name'",
     'nvidia-smi -q | findstr /i /c:"License Status" /c:"Product Name"'),
    ("conda list | grep -E '^(pytorch|cpuonly) '; conda info | grep __cuda",
     'conda list | findstr /i "pytorch cpuonly"; conda info | findstr /i "__cuda"'),
])
def test_a_filter_is_asked_as_the_place_has_it(asked: str, there: str) -> None:
    """And stays as it is where grep is."""
    ask = Ask(question="which", command=asked)
    assert as_asked_there(ask, ("grep",)).command == there
    assert as_asked_there(ask, ()).command == asked


def test_a_variable_is_set_as_powershell_sets_it() -> None:
    """And taken back so; in a text of Linux it is exported."""
    said = "failed to create cublas handle: CUBLAS_STATUS_ALLOC_FAILED\nframework: tensorflow 2.9\nos: "
    found = {system: told(f"{said}{system}\n").findings[0].fixes[0]
             for system in ("Windows 10", "Ubuntu 20.04")}
    assert found["Windows 10"].commands[0] == "$env:TF_FORCE_GPU_ALLOW_GROWTH = 'true'    # in PowerShell"
    assert (found["Windows 10"].env, (found["Windows 10"].undo or "")[:15]) == ({}, "Remove-Item Env")
    assert found["Ubuntu 20.04"].env["TF_FORCE_GPU_ALLOW_GROWTH"] == "true"
