"""Programs that were read for what they say: each text was not answered before, or by its words alone."""

from __future__ import annotations

import pytest

from gpudoctor import ruledb, texts


@pytest.mark.parametrize(("text", "cause"), [
    ("  File \"fused_dense.py\", line 3\nModuleNotFoundError: No module named 'fused_dense_cuda'",
     "source-build-config"),
    ("    from ._ext import ms\nModuleNotFoundError: No module named 'mmcv._ext'", "source-build-config"),
    ("Setting up PyTorch plugin \"upfirdn2d_plugin\"... Failed!", "source-build-config"),
    ("ms_deform_attn.py:31: UserWarning: Failed to load custom C++ ops. Running on CPU mode Only!",
     "source-build-config"),
    ("FileNotFoundError: Cannot find DGL C++ sparse library at /x/dgl_sparse/libdgl_sparse_pytorch_2.4.0.so",
     "python-deps-abi"),
    (("[Open3D Error] MemoryManager.cpp:120: Unsupported device \"CUDA:0\". Set BUILD_CUDA_MODULE=ON to "
     "compile for CUDA support and BUILD_SYCL_MODULE=ON to compile for SYCL support."), "cpu-only-build"),
    ("AssertionError: Device compute capability 8.9 or higher required for FP8 execution.",
     "precision-not-on-card"),
    ("slurmstepd: debug:  common_gres_set_env: unable to set env vars, no device files configured",
     "slurm-no-gres"),
    (("(autoscaler +9m21s) Error: No available node types can fulfill resource request defaultdict("
     "<class 'float'>, {'CPU': 8.0, 'GPU': 8.0}).\nkubectl logs raycluster-head"), "k8s-device-plugin"),
    (("[TRT] [E] 2: [virtualMemoryBuffer.cpp::resizePhysical::160] Error Code 2: OutOfMemory (no further "
     "information)"), "out-of-memory-model"),
    ("[W] [TRT] CUDA initialization failure with error: 803. Please check your CUDA installation",
     "driver-kernel-userspace-mismatch"),
    (("W0907 17:13:12.624284 88 pinned_memory_manager.cc:236] Unable to allocate pinned system memory, "
     "pinned memory pool will not be available: no CUDA-capable device is detected"), "docker-no-gpu-flag"),
    (("Thread [0] had error: Failed to increase the shared memory pool size for key 'triton_python_backend_"
     "shm_region_2' to 671088640 bytes. Error: No space left on device"), "shm-too-small"),
    (("WARNING: Detected NVIDIA RTX PRO 6000 GPU, which may not yet be supported in this version of the "
     "container"), "gpu-too-new-for-build"),
    ("Error: Failed to start device \"gpu\": MIG mode is not enabled on GPU at \"0000:41:00.0\"",
     "mig-misconfigured"),
    ("/usr/src/nvidia-340.108/nvidia/nv-linux.c:12:3: error: storage size of 'tv' isn't known",
     "driver-module-not-loaded"),
    ("vfio-pci 0000:0a:00.0: BAR 3: can't reserve [mem 0xd0000000-0xd1ffffff 64bit pref]",
     "gpu-hardware-not-enumerated"),
    (("NVIDIA GeForce RTX 2060: This device is not working properly because Windows cannot load the drivers "
     "required for this device. (Code 31)"), "driver-not-installed"),
    ("INFO 05-01 10:00:00 [__init__.py:239] Automatically detected platform cpu.", "cpu-only-build"),
    ("/usr/bin/ld: cannot find -lcurand: No such file or directory\ncollect2: error: ld returned 1",
     "source-build-config"),
])
def test_a_program_that_was_read_is_understood(text: str, cause: str) -> None:
    """Its message is known in its general form: names, numbers and addresses in it are others each time."""
    assert texts.told_causes(text, ruledb.load_shipped("told"))[:1] == (cause,)


@pytest.mark.parametrize("line", [
    ("timing.py:42: UserWarning: Failed to launch Triton kernels, likely due to missing CUDA toolkit; "
    "falling back to a slower DTW implementation..."),
    ("devicearray.py:888: NumbaPerformanceWarning: Host array used in CUDA kernel will incur copy overhead "
    "to/from device."),
    "level=info msg=\"GPUDirect RDMA is disabled, skipping MOFED driver validation...\"",
    "Could not find permutation search CUDA kernels, falling back to CPU path",
    ("GPUMemoryArena: GPU 1 does not support virtual memory. Falling back to regular allocations, which will "
    "be larger and can cause occasional stutter."),
])
def test_a_notice_of_theirs_is_no_fault(line: str) -> None:
    """Each was a fault to those who read only its things and troubles."""
    causes = texts.told_causes(line, ruledb.load_shipped("told"))
    assert causes
    assert all(cause.startswith("benign-") for cause in causes)


@pytest.mark.parametrize(("line", "cause"), [
    ("cuda driver library failed to get device context 800time=2025-02-11T11:04:19.165-05:00 level=WARN",
     "docker-nvml-lost-after-reload"),
    ("cuda driver library failed to get device context 999time=2025-02-11T11:04:19.165-05:00 level=WARN",
     "nvidia-uvm-missing"),
    ("unable to get device count: 100", "cuda-visible-devices"),
    ("Detected CUDA Runtime version is 10.2. Please update your CUDA Runtime to 11.0 or above.",
     "cuda-version-mismatch"),
    ("UnknownError (see above for traceback): ncclCommInitRank failed: unhandled cuda error", "nccl-network"),
    ("cuda driver library failed to get device context 801", "vgpu-config"),
    ("Please update your Java Runtime to 11.0 or above.", None),
])
def test_the_code_in_what_ollama_and_rapids_say_tells_the_cause(line: str, cause: str | None) -> None:
    """Regression: each resembled "no driver" or nothing, whichever code stood in it."""
    told = texts.told_causes(line, ruledb.load_shipped("told"))
    assert (told[0] == cause) if cause else ("cuda-version-mismatch" not in told[:1])
