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
    (("Error: Could not load UVM kernel module. Is nvidia-modprobe installed?\n"
     "modprobe: FATAL: Module nvidia_uvm not found in directory /lib/modules/4.4.0-83-generic"),
     "driver-module-not-loaded"),
    ("modprobe: FATAL: Module nvidia_uvm not found in directory /lib/modules/4.4.0-83-generic",
     "driver-module-not-loaded"),
    ("modprobe: ERROR: could not insert 'nvidia_uvm': Operation not permitted", "nvidia-uvm-missing"),
    (("Filling the queue before starting to train. This will take a few minutes.\n"
     "tensorflow: Device mapping: no known devices."), "cpu-only-build"),
    ("AttributeError: module 'torch' has no attribute '__version__'", "module-shadowed-by-local-file"),
    ("ImportError: cannot import name 'nn' from 'torch' (unknown location)", "module-shadowed-by-local-file"),
    ("AttributeError: module 'torch' has no attribute 'compile'", "api-misuse"),
    ("framework: tensorflow 1.x\ngpu: RTX 3090\nfailed to run cuBLAS routine: CUBLAS_STATUS_EXECUTION_FAILED",
     "gpu-too-new-for-build"),
    ("  File \"third_party/gpus/find_cuda_config.py\", line 227, in _find_versioned_file",
     "source-build-config"),
    (("The GPU architecture in your current machine is Pascal, which is not compatible with Paddle "
      "installation with arch: 70 75 80 86 , it is recommended"), "gpu-too-old-for-build"),
    (("The GPU architecture in your current machine is Ampere, which is not compatible with Paddle "
      "installation with arch: 50 60 70 75 , it is recommended"), "gpu-too-new-for-build"),
    ("ImportError\n  File \"/usr/lib/python3/tensorflow/core/framework/graph_pb2.py\", line 16, in <module>",
     "python-deps-abi"),
    (("W cpu_feature_guard.cc:45] The TensorFlow library wasn't compiled to use SSE2 instructions, but these "
     "are available on your"), "benign-onednn-cpu-feature"),
    ("invalid device function\nGPU: GeForce GTX 765M\n-gencode;arch=compute_50,code=sm_50",
     "gpu-too-old-for-build"),
    ("no kernel image is available\nRTX 5090\n>>> torch.cuda.get_arch_list()\n['sm_50', 'sm_80', 'sm_90']",
     "gpu-too-new-for-build"),
    ("no kernel image is available\nGTX 1080\n>>> torch.cuda.get_arch_list()\n['sm_75', 'sm_80', 'sm_90']",
     "gpu-too-old-for-build"),
    ("tensorflow 1.14\nGPU: RTX 30 series\nfailed to run cuBLAS routine: CUBLAS_STATUS_EXECUTION_FAILED",
     "gpu-too-new-for-build"),
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


def test_what_nvcc_builds_is_not_the_framework() -> None:
    """A kernel of the user's own for sm_70 made torch 2.4.0 too old for its card, and certainly so."""
    said = ("nvcc -gencode arch=compute_70,code=sm_70 -o x x.cu\ntorch 2.4.0, RTX 3090\n"
            "RuntimeError: CUDA error: no kernel image is available for execution on the device")
    assert told_causes(said, load_shipped("told"))[0] == "source-build-config"


@pytest.mark.parametrize("said", [
    "ImportError: libcudart.so.11.0: cannot open shared object file: No such file or directory",
    "OSError: libcublas.so.11: cannot open shared object file: No such file or directory",
    "./app: error while loading shared libraries: libcudart.so.10.0: cannot open shared object file",
])
def test_a_program_that_ended_for_want_of_a_library_is_never_harmless(said: str) -> None:
    causes = told_causes(said, load_shipped("told"))
    assert causes
    assert not causes[0].startswith("benign-")


@pytest.mark.parametrize("said", [
    "INFO selector.py:217] Cannot use FlashAttention-2 backend for Volta and Turing GPUs.",
    "Custom allreduce is disabled because your platform lacks GPU P2P capability or P2P test failed.",
    "INFO:    Setting --writable-tmpfs (required by nvidia-container-cli)",
    ("Specified provider 'TensorrtExecutionProvider' is not in available provider names."
     "Available providers: 'CUDAExecutionProvider, CPUExecutionProvider'"),
    "Compute capability below sm80. Use float16 due to lack of bfloat16 support.",
])
def test_a_note_of_a_program_is_never_called_a_fault(said: str) -> None:
    """Each was answered with a fault of the driver, the card or pacman, by the words alone."""
    causes = told_causes(said, load_shipped("told"))
    assert causes
    assert all(cause.startswith("benign-") for cause in causes)


@pytest.mark.parametrize(("said", "cause"), [
    ("Error Code 9: API Usage Error (Target GPU SM 61 is not supported by this TensorRT release.)",
     "gpu-too-old-for-build"),
    ("Error Code 9: API Usage Error (Target GPU SM 120 is not supported by this TensorRT release.)",
     "gpu-too-new-for-build"),
    ("out of resource: shared memory, Required: 180224, Hardware limit: 101376.", "framework-bug"),
    ("Unknown encoder 'h264_nvenc'", "cpu-only-build"),
    ("AttributeError: module 'onnxruntime' has no attribute 'InferenceSession'", "wheel-file-collision"),
])
def test_a_number_or_a_name_in_the_message_decides_between_its_causes(said: str, cause: str) -> None:
    assert told_causes(said, load_shipped("told"))[0] == cause
