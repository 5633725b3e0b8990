"""Families of messages: what must be told of each wording, and what must never be told of it."""

from __future__ import annotations

import pytest

from gpudoctor.ruledb import load_shipped
from gpudoctor.texts import told_causes


@pytest.mark.parametrize(("said", "cause"), [
    ("Unable to open /dev/kfd read-write: Permission denied\ngpu: AMD MI100", "device-permission"),
    ("docker run rocm/pytorch\nUnable to open /dev/kfd read-write: No such file or directory",
     "docker-no-gpu-flag"),
    ("Error! Could not locate dkms.conf file.", "driver-module-not-loaded"),
    ("modprobe: FATAL: Module nvidia not found.\nError: Could not load UVM kernel module",
     "driver-module-not-loaded"),
    ("Secure boot on\nERROR: Unable to load the kernel module 'nvidia.ko'.", "secure-boot-unsigned-module"),
    ("CUDA error: error code 34", "libcuda-stub-loaded"),
    ("Could not load library zlibwapi.dll. Error code 193.", "zlib-missing"),
    ("Error. nvrtc: no kernel image is available for execution on the device\ngpu: Tesla K40c",
     "gpu-too-old-for-build"),
    ("no kernel image is available for execution on the device\ngpu: NVIDIA GeForce RTX 5090",
     "gpu-too-new-for-build"),
    ("ImportError: libcusparseLt.so.0: cannot open shared object file\nplatform: jetson",
     "jetson-jetpack-mismatch"),
    ("docker run\n[h264_nvenc @ 0x55d0] Cannot load libnvidia-encode.so.1", "docker-driver-capabilities"),
])
def test_the_cause_of_a_family_is_told_first(said: str, cause: str) -> None:
    assert told_causes(said, load_shipped("told"))[0] == cause


@pytest.mark.parametrize("said", [
    "ImportError: libcudart.so.11.0: cannot open shared object file: No such file or directory",
    "OSError: libcublas.so.11: cannot open shared object file: No such file or directory",
    "./app: error while loading shared libraries: libcudart.so.10.0: cannot open shared object file",
])
def test_a_program_that_ended_for_want_of_a_library_is_never_harmless(said: str) -> None:
    causes = told_causes(said, load_shipped("told"))
    assert causes
    assert not causes[0].startswith("benign-")
