"""Messages that several causes have, and what beside them in a text tells which one it is."""

from __future__ import annotations

from functools import cache

import pytest

from gpudoctor import ruledb, texts
from gpudoctor.explanation import explain
from gpudoctor.model import Known, RuleDatabase

SHORT_OF_ROOM = "OSError: [Errno 28] No space left on device\n"
IN_A_CONTAINER = "$ docker run -it --gpus all nvcr.io/nvidia/pytorch:23.09-py3\n"
OFFERED = ("ERROR: Could not find a version that satisfies the requirement tensorflow-gpu==2.11 "
           "(from versions: 2.8.0, 2.9.3, 2.10.0{more})\n")
NO_CUDNN = "ImportError: libcudnn.so.9: cannot open shared object file: No such file or directory\n"
IN_TORCH = '  File "/home/ana/venv/lib/python3.11/site-packages/torch/__init__.py", line 427, in <module>\n'
INSUFFICIENT = ("cudaGetDevice() failed: CUDA driver version is insufficient for CUDA runtime version\n"
                "framework: {framework} 1.15.5\ngpu: RTX 3060\n")
NOT_STARTED = ("NVRM: GPU 0000:01:00.0: RmInitAdapter failed! (0x62:0x1a:2631)\n"
               "driver: 580.173.02 ({flavour} modules)\ngpu: {card}\n")


WITH_VEGA = ("Created device /device:GPU:0 with 15089 MB memory:  -> device: 0, name: Vega 20, "
             "pci bus id: 0000:26:00.0\n"
             "failed call to cuInit: CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected\n")
OF_BAZEL = ("ERROR: An error occurred during the fetch of repository 'local_config_cuda':\n"
            "No library found under: /usr/lib64/stubs/libcuda.so\n")
OF_PTXAS = ("Invoking ptxas with version 12.1.66, which corresponds to a CUDA version <=12.6.2.\n"
            "Please upgrade to CUDA 12.6.3 or newer.\n")
NODE_OF_AMD = "$ ls -la /dev | grep kfd\ncrw-------   1 root    root    234,   0 May 21 05:13 kfd\n"


@cache
def database() -> RuleDatabase:
    """Return the shipped rules."""
    return ruledb.load_shipped("told")


def first(text: str) -> str | None:
    """Return the cause that is told first of a text, None where none is."""
    findings = explain(texts.read_text(text, database()), database()).findings
    return findings[0].cause if findings else None


@pytest.mark.parametrize(("text", "cause"), [
    (SHORT_OF_ROOM + IN_A_CONTAINER, "shm-too-small"),
    (SHORT_OF_ROOM, None),
    ("ERROR: Could not install packages due to an " + SHORT_OF_ROOM + IN_A_CONTAINER, "installer-blocked"),
    (OFFERED.format(more=", 2.10.1"), "windows-native-tf-dropped"),
    (OFFERED.format(more=""), "python-version-unsupported"),
    (OFFERED.format(more="") + "os: Windows 10\n", "windows-native-tf-dropped"),
    (IN_TORCH + NO_CUDNN, "pip-nvidia-libs-not-installed"),
    (NO_CUDNN, "cudnn-missing"),
    (INSUFFICIENT.format(framework="nvidia-tensorflow"), "driver-too-old"),
    (NOT_STARTED.format(flavour="proprietary", card="RTX 5090"), "open-kernel-module-required"),
    (NOT_STARTED.format(flavour="open", card="GTX 1080"), "open-kernel-module-unsupported"),
    (NOT_STARTED.format(flavour="open", card="RTX 5090"), "gpu-hardware-not-enumerated"),
    (NODE_OF_AMD, "device-permission"),
    (WITH_VEGA, "no-nvidia-gpu"),
    (OF_BAZEL, "source-build-config"),
    (OF_PTXAS, "ptxas-missing-or-old"),
])
def test_what_stands_beside_a_message_tells_its_cause(text: str, cause: str | None) -> None:
    assert first(text) == cause


def test_a_build_of_nvidia_is_not_the_release_of_its_number() -> None:
    """Its own CUDA is newer than that of TensorFlow 1.15, which says nothing of the cards that it serves."""
    found = texts.read_text(INSUFFICIENT.format(framework="nvidia-tensorflow"), database()).text
    assert isinstance(version := found["text.framework_version"], Known)
    assert version.value == "1.15.5+nv"
