"""What people say of other versions and of time, and what lists, libraries and wheels' names show."""

from __future__ import annotations

from functools import cache

import pytest

from gpudoctor import ruledb
from gpudoctor.explanation import sonames, wheels
from gpudoctor.explanation.changes import other_versions
from gpudoctor.explanation.listings import (
    NO_CARD, OTHER_CARDS, OTHER_PROCESSOR, TWO_DRIVERS, TWO_RELEASES, TWO_TENSORFLOWS, listed,
)
from gpudoctor.explanation.waiting import AT_START, ONLY_FIRST, slow_starts
from gpudoctor.model import Tables


@cache
def tables() -> Tables:
    """Return the shipped tables."""
    return ruledb.load_shipped().tables


@pytest.mark.parametrize(("line", "said"), [
    ("CUDA dies with driver 572.16, rolled back to 566.36 and it is stable again", "an older driver"),
    ("llama.cpp prints garbage with driver 580.65.06. With 575.64.05 it is correct.", "an older driver"),
    ("updating the nvidia driver to 536 fixed it", "a newer driver"),
    ("cuda hangs on kernel 6.5.0-25, the older kernel 6.5.0-21 is fine", "an older kernel"),
    ("ollama 0.5.7 uses the gpu, 0.5.8 runs on cpu only", "an older release"),
    ("torch 2.1.0 crashes, 2.1.1 works", "a newer release"),
    ("torch breaks, downgrading numpy to 1.26 fixes it", None),
    ("the GPU works with driver 535.129", None),
    ("updating the driver did not fix the GPU", None),
    ("my mail server 2.1 crashes, 2.0 works", None),
])
def test_another_version_is_said_to_work(line: str, said: str | None) -> None:
    """Whatever the words, and only of drivers, kernels and GPU frameworks."""
    found = [one.text for one in other_versions([line])]
    assert found == ([] if said is None else [f"{said} is said to work"])


@pytest.mark.parametrize(("line", "said"), [
    ("model.cuda() needs 8 minutes. Second time it's instantaneous", ONLY_FIRST),
    ("the first sess.run() takes around 15 min on the A100, afterwards it is quick", ONLY_FIRST),
    ("it takes EVERY time around 3! minutes until the CUDA window appears", AT_START),
    ("the first epoch takes 10 minutes on the GPU", None),
    ("the first download takes 10 minutes, then torch installs fast", None),
    ("training hangs forever on 2 GPUs", None),
])
def test_a_start_is_said_to_take_minutes(line: str, said: str | None) -> None:
    """Not what takes minutes anywhere."""
    assert [one.text for one in slow_starts([line])] == ([] if said is None else [said])


@pytest.mark.parametrize(("text", "said"), [
    ("00:02.0 VGA compatible controller: Intel Corporation UHD Graphics 620", [OTHER_CARDS]),
    ("00:02.0 VGA compatible controller: Intel\n01:00.0 3D controller: NVIDIA Corporation GP108M", []),
    ("$ lspci | grep -i nvidia\n$ python train.py", [NO_CARD]),
    ("$ lspci | grep -i nvidia\n01:00.0 VGA compatible controller: NVIDIA", []),
    ("tensorflow==2.4.1\ntensorflow-gpu==2.2.0", [TWO_RELEASES]),
    ("tensorflow   2.4.1\ntensorflow-gpu   2.4.0", [TWO_TENSORFLOWS]),
    ("tensorflow==2.4.1\ntensorflow-estimator==2.4.0", []),
    ("NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.129.03\nii  nvidia-utils-535  535.154.05-0ubuntu0",
     [TWO_DRIVERS]),
    ("NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.129.03\nii  nvidia-utils-535  535.129.03-0",
     []),
    ("$ uname -m\naarch64", [OTHER_PROCESSOR]),
    ("uname -a: Darwin mac 23.1.0 arm64", []),
])
def test_lists_show_as_wholes(text: str, said: list[str]) -> None:
    """One line alone says none of it."""
    assert [one.text for one in listed(text.splitlines())] == said


@pytest.mark.parametrize(("library", "cuda", "belongs"), [
    ("libcusolver.so.11", "11.0", False), ("libcusolver.so.11", "11.1", True),
    ("libcusolver.so.11", "12.4", True),
    ("libcusolver.so.11", "11", True), ("libcusolver.so.10", "11.0", True), ("libcufft.so.10", "12.2", False),
    ("libcusparse.so.11", "10.2", False), ("cusolver64_11.dll", "11.0", False),
    ("libcurand.so.10", "13.0", True),
    ("libcusolver.so.10.0", "10.1", False), ("libcudart.so.10.1", "10.1", True), ("libcudart", "10.1", None),
])
def test_a_librarys_name_belongs_to_toolkits(library: str, cuda: str, belongs: bool | None) -> None:
    """As the wheels have it."""
    assert sonames.is_of(library, cuda, tables()) is belongs


@pytest.mark.parametrize(("wheel", "python", "words", "places", "fit"), [
    ("h2o4gpu-0.3.2-cp36-cp36m-linux_x86_64.whl", "3.6", "", ["jetson", "linux"], wheels.PROCESSOR),
    ("tensorflow-2.4.0-cp38-cp38-manylinux2010_x86_64.whl", "3.8", "aarch64", ["linux"], wheels.PROCESSOR),
    ("torch-1.9.0+cu111-cp39-cp39-win_amd64.whl", "3.10", "", ["windows"], wheels.PYTHON),
    ("torch-1.9.0+cu111-cp39-cp39-win_amd64.whl", "3.9", "", ["linux"], wheels.SYSTEM),
    ("tool-1.0-cp37-abi3-linux_x86_64.whl", "3.10", "x86_64", ["linux"], wheels.FITS),
    ("torch-1.9.0-cp39-cp39-linux_x86_64.whl", None, "", ["linux"], None),
    ("torch", "3.9", "", ["linux"], None),
    ("tensorflow-0.8.0-py2-none-any.whl", "3.5", "", ["macos"], wheels.PYTHON),
    ("tool-1.0-py2.py3-none-any.whl", "3.5", "x86_64", ["linux"], wheels.FITS),
])
def test_a_wheels_name_is_held_against_the_machine(
        wheel: str, python: str | None, words: str, places: list[str], fit: str | None) -> None:
    """A wrong processor outweighs a wrong Python."""
    assert wheels.fit(wheel, python=python, words=words, places=places) == fit
