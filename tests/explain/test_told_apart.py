"""Messages that several causes have, and what beside them in a text tells which one it is."""

from __future__ import annotations

import pytest

from gpudoctor import texts
from gpudoctor.model import Known
from tests.explain.shipped import database, first

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

NO_KERNEL = "RuntimeError: CUDA error: no kernel image is available for execution on the device\n"
OF_PADDLE = ("W0225 device_context.cc:237] Please NOTE: device: 0, CUDA Capability: {capability}, "
             "Driver API Version: 9.0, Runtime API Version: 9.0\n"
             "W0225 device_context.cc:245] device: 0, cuDNN Version: 7.6.\nframework: paddle\n")
NO_PADDLE_CUDNN = ("W0529 dynamic_loader.cc:179] Failed to find dynamic library: libcudnn.so ( libcudnn.so: "
                   "cannot open shared object file: No such file or directory )\n")
NO_CUDART = ("W dso_loader.cc:64] Could not load dynamic library 'libcudart.so.11.0'; dlerror: "
             "libcudart.so.11.0: cannot open shared object file: No such file or directory\n")
LISTED = ("W gpu_resources.cc:96] The GPU architecture in your current machine is {name}, which is not "
          "compatible with Paddle installation with arch: 70 75 80 86 ,\nframework: paddle\n")
OF_COLLECT_ENV = ("PyTorch version: 1.3.0\nCUDA used to build PyTorch: 10.1.243\nIs CUDA available: No\n"
                  "CUDA runtime version: 10.0.130\nGPU models and configuration: GPU 0: Tesla T4\n"
                  "Nvidia driver version: {driver}\n")
OF_ONEDNN = ("oneDNN custom operations are on.\n You may see slightly different numerical results due to "
             "floating-point round-off errors from\ndifferent computation orders.\n"
             "framework: tensorflow 2.16.1\ngpu: GTX 1650\nos: Windows 11\n")
NO_EXTRA = ("WARNING: jax 0.4.6 does not provide the extra 'cuda12_pip'\n"
            "No GPU/TPU found, falling back to CPU\n")
NOT_RUNNING = ("E cuda_driver.cc:318] failed call to cuInit: UNKNOWN ERROR (303)\n"
               "I cuda_diagnostics.cc:156] kernel driver does not appear to be running on this host (a88f): "
               "/proc/driver/nvidia/version does not exist\n")
DIRECTML = ("I tensorflow/c/logging.cc:34] DirectML: creating device on adapter 0 (AMD Radeon RX 6700 XT)\n"
            "{more}framework: tensorflow-directml-plugin\nplatform: windows\n")
OF_DML = ("Created TensorFlow device (/job:localhost/replica:0/task:0/device:GPU:0 with 40841 MB memory) -> "
          "physical PluggableDevice (device: 0, name: DML, pci bus id: <undefined>)\n")
FROM_PTX = ("W gpu_device.cc:27] TensorFlow was not built with CUDA kernel binaries compatible with compute "
            "capability {}. CUDA kernels will be jit-compiled from PTX, which could take 30 minutes.\n")
NO_CUDA_BUILD = ("PackagesNotFoundError: The following packages are not available from current channels:\n"
                 "  - pytorch==1.5.0\n  - https://conda.anaconda.org/pytorch/{channel}\n{more}")
NO_LIBCUDA = "ImportError: libcuda.so.1: cannot open shared object file: No such file or directory\n"
OLDER_CUDA = "Found CUDA version 12010, but JAX was built against version 12020, which is newer.\n"
SILENT = "Unable to determine the device handle for GPU0: 0000:C1:00.0: Unknown Error\n"
OTHER_PART = ("Could not load library libcudnn_cnn_train.so.8. Error: "
              "/usr/local/cuda/lib64/libcudnn_cnn_train.so.8: symbol _Z9isA, version "
              "libcudnn_cnn_infer.so.8 not defined in file libcudnn_cnn_infer.so.8 with link time ref\n")


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
    (NO_KERNEL + "framework: pytorch\ngpu: GeForce GT 710\n", "gpu-too-old-for-build"),
    (NO_KERNEL + "framework: pytorch\ngpu: RTX 5090\n", "gpu-too-new-for-build"),
    ("DNN library initialization failed\nframework: jax 0.4\ngpu: Kepler\n", "gpu-too-old-for-build"),
    (LISTED.format(name="Pascal"), "gpu-too-old-for-build"),
    (LISTED.format(name="Blackwell"), "gpu-too-new-for-build"),
    (OF_COLLECT_ENV.format(driver="410.104"), "driver-too-old"),
    (OF_ONEDNN, "benign-onednn-cpu-feature"),
    ("Failed to parse provider option \"device_id\"\nplatform: kubernetes\n", "k8s-device-plugin"),
    (NO_CUDART + "framework: tensorflow 2.8.4\nplatform: colab\n", "colab-runtime"),
    (OF_PADDLE.format(capability="21"), "gpu-too-old-for-build"),
    (OF_PADDLE.format(capability="86"), "benign-other"),
    (NO_PADDLE_CUDNN + "framework: paddlepaddle-gpu 1.8.1\ncudnn: 7.6.5\n", "ld-library-path-not-set"),
    (NO_PADDLE_CUDNN + "framework: paddlepaddle-gpu 1.8.1\n", "cudnn-missing"),
    ("YOLOv8.0.138 Python-3.8.0 torch-2.0.1 CPU (ARMv8 Processor)\ngpu: Jetson Nano\n", "jetson-wrong-wheel"),
    ("ValueError: Tensorflow 1 is unsupported in Colab.\n", "colab-runtime"),
    (NO_CUDART + "framework: @tensorflow/tfjs-node-gpu (TF 2.17.0 also installed)\n",
     "third-party-lib-bundles-old-cuda"),
    (NO_EXTRA + "os: Windows\n", "cpu-only-build"),
    (NO_EXTRA, "jax-cuda-plugin-missing"),
    (NOT_RUNNING + "framework: tensorflow 1.15\nos: image for Google Cloud Run (no GPU)\n",
     "benign-no-gpu-machine"),
    (NOT_RUNNING + "framework: tensorflow 1.15\ngpu: AMD Radeon RX 580\n", "no-nvidia-gpu"),
    (DIRECTML.format(more=""), "windows-native-tf-dropped"),
    (DIRECTML.format(more=OF_DML), "benign-other"),
    (FROM_PTX.format("7.0"), "ptx-jit-slow-start"),
    (FROM_PTX.format("12.0"), "gpu-too-new-for-build"),
    (SILENT + "platform: linux\n", "gpu-fell-off-bus"),
    (SILENT + "platform: wsl2\n", "wsl-windows-driver"),
    (OTHER_PART + "framework: pytorch\n", "cudnn-sublibrary-mismatch"),
    (NO_CUDA_BUILD.format(channel="linux-aarch64", more="gpu: Jetson Xavier NX\n"), "jetson-wrong-wheel"),
    (NO_CUDA_BUILD.format(channel="linux-aarch64", more=""), "wheel-arch-linux-aarch64"),
    (NO_CUDA_BUILD.format(channel="linux-64", more=""), "python-version-unsupported"),
    ("AttributeError: /opt/cuda/lib64/stubs/libcuda.so: undefined symbol: _undef\n", "libcuda-stub-loaded"),
    (NO_LIBCUDA + "platform: kubernetes\n", "k8s-device-plugin"),
    (NO_LIBCUDA + "platform: linux\n", "driver-not-installed"),
    (OLDER_CUDA + "framework: jax\n", "ld-library-path-shadows"),
    (OLDER_CUDA + "framework: jax, torch 2.1 (cu121)\n", "pip-nvidia-libs-mixed"),
    ("CUDA error: named symbol not found\nframework: bitsandbytes\nplatform: jetson\n", "jetson-wrong-wheel"),
    ("Pod Allocate failed due to device plugin\nerror creating nvml.Device 0: nvml: Unknown Error\n",
     "gpu-fell-off-bus"),
])
def test_what_stands_beside_a_message_tells_its_cause(text: str, cause: str | None) -> None:
    assert first(text) == cause


def test_a_build_of_nvidia_is_not_the_release_of_its_number() -> None:
    """Its own CUDA is newer than that of TensorFlow 1.15, which says nothing of the cards that it serves."""
    found = texts.read_text(INSUFFICIENT.format(framework="nvidia-tensorflow"), database()).text
    assert isinstance(version := found["text.framework_version"], Known)
    assert version.value == "1.15.5+nv"


def test_the_version_of_another_program_in_parentheses_is_not_the_frameworks() -> None:
    """Regression: TensorFlow was of release 1.3.2, which nobody had."""
    text = NO_CUDART + "framework: tensorflow ({}, conda)\n"
    unsaid = texts.read_text(text.format("sleap 1.3.2"), database()).text.get("text.framework_version")
    assert not isinstance(unsaid, Known)
    stated = texts.read_text(text.format("version 2.3.2"), database()).text["text.framework_version"]
    assert isinstance(stated, Known)
    assert stated.value == "2.3.2"


def test_a_year_is_no_release() -> None:
    """Regression: TensorFlow was of release 2022, newer than all."""
    text = NO_CUDART + "framework: tensorflow (Kaggle image of May 2022)\n"
    assert not isinstance(texts.read_text(text, database()).text.get("text.framework_version"), Known)


def test_the_cuda_that_a_framework_is_built_for_is_not_its_release() -> None:
    """Regression: JAX was of release 12.2."""
    found = texts.read_text(OLDER_CUDA + "framework: jax built for CUDA 12.2\n", database()).text
    assert not isinstance(found.get("text.framework_version"), Known)
    stated = texts.read_text("framework: jax[cuda12] 0.4.30\n", database()).text["text.framework_version"]
    assert isinstance(stated, Known)
    assert stated.value == "0.4.30"


def test_a_message_of_an_existing_card_is_no_machine_without_one() -> None:
    """TensorFlow reads the NUMA node of a card that it was given."""
    numa = "I cuda_gpu_executor.cc:939] successful NUMA node read from SysFS had negative value (-1)\n"
    assert first(NO_CUDART) == "benign-no-gpu-machine"
    assert first(NO_CUDART + numa) != "benign-no-gpu-machine"
