"""What a text states against a cause that its messages suspect: the cause stands behind the others."""

from __future__ import annotations

import pytest

from tests.explain.shipped import causes, findings, first

_FALSE = "torch.cuda.is_available() returns False"
_NO_CUDNN = ("W tensorflow/stream_executor/platform/default/dso_loader.cc:59] Could not load dynamic "
             "library 'libcudnn.so.8'; dlerror: libcudnn.so.8: cannot open shared object "
             "file: No such file or directory")


@pytest.mark.parametrize(("release", "cause"), [
    ("2.3.0", "cudnn-wrong-major"),  # built for cuDNN 7
    ("2.12.0", "cudnn-missing"),  # built for cuDNN 8
])
@pytest.mark.parametrize("line", [_NO_CUDNN, "libcudnn.so.8 not found"])
def test_a_missing_cudnn_is_another_major_than_the_release_asks_for_or_absent(
        release: str, cause: str, line: str) -> None:
    """Regression: a missing one was called absent whatever the release was built for."""
    assert first(f"tensorflow=={release}\n{line}\n") == cause


def test_a_build_whose_version_names_its_cuda_is_not_for_the_cpu_alone() -> None:
    """Regression: the first three candidates were all refuted by the text's own header."""
    header = "torch 2.1.0+cu118\nGeForce RTX 3090\ndriver 535.54\n"
    refuted = {"cpu-only-build", "driver-not-installed", "driver-too-old"}
    assert refuted.isdisjoint(causes(header + _FALSE))
    assert first(f"torch 2.1.0\n{_FALSE}") == "cpu-only-build"  # nothing is stated against it


def test_what_is_told_all_the_same_says_what_speaks_against_it() -> None:
    """A card of AMD's: a build with CUDA would not use it, and the fix would install one."""
    told = findings("I have a Radeon RX 6700 XT on Windows 10 with torch 2.3.0+cpu, "
                    "torch.cuda.is_available() is False")
    assert [finding.cause for finding in told] == ["no-nvidia-gpu", "cpu-only-build"]
    assert "Against it: the stated card is not NVIDIA's" in told[1].message
    assert "text.nvidia_card" in [evidence.fact for evidence in told[1].evidence]


def test_a_kernel_of_wsl_2_is_not_wsl_1() -> None:
    """The candidate stays where nobody shows the kernel."""
    said = ("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that "
            "the latest NVIDIA driver is installed and running.\n")
    kernel = "Linux DESKTOP-AB 5.10.16.3-microsoft-standard-WSL2 #1 SMP Fri Apr 2 22:23:49 UTC 2021 x86_64\n"
    assert "wsl1-not-wsl2" not in causes(said + kernel)
    assert "wsl1-not-wsl2" in causes(f"{said}I am in WSL\n")


def test_a_mac_lacks_no_driver_of_nvidias() -> None:
    """Regression: "This machine has an NVIDIA GPU, but no driver" was said of an Apple M2."""
    said = "zsh: command not found: nvidia-smi\n"
    assert causes(f"{said}macOS 14.5 Apple M2\n") == ["no-nvidia-gpu"]
    assert "driver-not-installed" in causes(said)


def test_nouveau_that_is_blacklisted_does_not_hold_the_card() -> None:
    """Who says so has looked at the first candidate already."""
    said = "modprobe: ERROR: could not insert 'nvidia': No such device\n"
    assert first(said) == "nouveau-conflict"
    assert "nouveau-conflict" not in causes(f"nouveau is blacklisted.\n{said}")
