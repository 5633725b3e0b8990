"""What stands beside a message decides between its causes: a command, a place, another maker's card.

The texts are our own.
"""

from __future__ import annotations

import pytest

from gpudoctor import ruledb, texts
from gpudoctor.explanation import Told, explain

NO_DRIVER = "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver."


def told(text: str) -> Told:
    """Return what the shipped rules tell of a text."""
    database = ruledb.load_shipped("told")
    return explain(texts.read_text(text + "\n", database), database)


def first(text: str) -> str:
    """Return the first cause of a text, "" for none."""
    return next((finding.cause for finding in told(text).findings), "")


@pytest.mark.parametrize(("text", "cause"), [
    (f"$ docker run -it --rm trainer python3 fit.py\n{NO_DRIVER}", "docker-no-gpu-flag"),
    (f"podman run --rm trainer nvidia-smi\n{NO_DRIVER}", "docker-no-gpu-flag"),
    ("docker run --gpus all trainer\n>>> torch.cuda.is_available()\nFalse", "cpu-only-build"),
    ("mamba create -n fit pytorch\n>>> torch.cuda.is_available()\nFalse", "conda-resolved-cpu-build"),
])
def test_a_command_tells_what_was_asked_for(text: str, cause: str) -> None:
    """Who started a container without a GPU need not look for a driver; who did lacks another thing."""
    assert first(text) == cause


@pytest.mark.parametrize("end", ["returned false", "returns `False`", "still gives False", "shows False"])
def test_an_answer_may_stand_in_a_sentence(end: str) -> None:
    """People tell in their own words that PyTorch sees no card."""
    assert first(f"On my Jetson Orin I ran pip3 install torch, but torch.cuda.is_available() {end}.\n"
                 "platform: jetson") == "jetson-wrong-wheel"


@pytest.mark.parametrize("half", ["", "driver ", "runtime "])
@pytest.mark.parametrize(("words", "place", "cause"), [
    ("device not ready", "windows", "windows-tdr-timeout"),
    ("unknown error", "windows", "windows-tdr-timeout"),
    ("invalid resource handle", "linux", "framework-bug"),
])
def test_the_words_of_an_error_count_whichever_half_of_cuda_says_them(
        half: str, words: str, place: str, cause: str) -> None:
    """"CUDA driver error" is no reason to suspect the driver's version."""
    assert first(f"RuntimeError: CUDA {half}error: {words}\nplatform: {place}") == cause


@pytest.mark.parametrize("said", [
    "I use an integrated Intel GPU", "the laptop has intel graphics and nothing else",
    "my card is a Radeon RX 6700", "Mi tarjeta grafica es una intel",
])
def test_the_graphics_of_another_maker_runs_no_cuda(said: str) -> None:
    """An insufficient driver is none where no card of NVIDIA is."""
    assert first(f"CUDA driver version is insufficient for CUDA runtime version\n{said}") == "no-nvidia-gpu"


def test_a_stated_card_of_nvidia_outweighs_the_graphics_beside_it() -> None:
    """Laptops have both."""
    assert first("CUDA driver version is insufficient for CUDA runtime version\n"
                 "intel graphics beside it\ngpu: RTX 3060") == "driver-too-old"


@pytest.mark.parametrize(("text", "cause"), [
    ("the model was loaded, then: not enough VRAM", "out-of-memory-model"),
    ("detection on the board stops: memory is not enough\nplatform: jetson", "out-of-memory-model"),
    ("I asked with --gres=gpu:2 and the job was not given a GPU\nplatform: slurm", "slurm-no-gres"),
    ("同时import tensorflow和torch 报错找不到cudnn", "pip-nvidia-libs-mixed"),
    ("Segmentation fault (core dumped)\nimport jax\nthe plugin is newer than jaxlib\nframework: jax 0.4.30",
     "jax-plugin-version-mismatch"),
    ("package nvidia-open conflicts with nvidia-dkms provided by nvidia-dkms-550", "requirements-conflict"),
    ("package cudatoolkit-11.8.0 has constraint __cuda >=11.8 conflicting with __cuda-11.2-0",
     "conda-resolved-cpu-build"),
    ("cudnn: 9.12\ngpu: Tesla P100\nCUDNN_STATUS_EXECUTION_FAILED", "cudnn-dropped-gpu"),
    ("gpu: GRID V100-8Q\nCUDA runtime error: operation not supported", "vgpu-config"),
    ("failed to pin 4096 MiB of host memory: cudaErrorAlreadyMapped", "host-memory-limit"),
])
def test_what_people_and_programs_say_besides(text: str, cause: str) -> None:
    """Each line that tells the causes of a message apart."""
    assert first(text) == cause


@pytest.mark.parametrize("text", [
    "I have the latest driver and the newest driver on the other one too",
    "docker run --rm hello-world", "conda create -n docs sphinx", "the Java heap ran out of memory",
    "No NUMA support available on this system.", "Conflicts: nvidia-open", "it builds on aarch64 as well",
    "The service is up again after a reboot.", "I import torch and tensorflow in different files",
])
def test_what_is_said_besides_is_no_fault_by_itself(text: str) -> None:
    """Such lines only weigh what else is said."""
    assert not [one for one in told(text).findings if one.severity.value in ("error", "warning")]


def test_a_cudnn_of_another_major_version_is_told_by_the_message_alone() -> None:
    """What was loaded and what was compiled with stand in one line."""
    assert first("Loaded runtime CuDNN library: 6021 (compatibility version 6000) but source was compiled "
                 "with 7103 (compatibility version 7000).") == "cudnn-wrong-major"
    assert first("Loaded runtime CuDNN library: 8.0.5 but source was compiled with: 8.1.0.  CuDNN library"
                 ) == "cudnn-runtime-older-than-compiled"
