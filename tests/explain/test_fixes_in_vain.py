"""A fix that comes to nothing, by what the text states of driver, card, build and place, is not told."""

from __future__ import annotations

import pytest

from tests.explain.shipped import causes, findings

TOO_OLD = "UserWarning: The NVIDIA driver on your system is too old (found version {})."
ASKED = ">>> torch.cuda.is_available()\nFalse\n"


def titles(text: str) -> list[str]:
    """Return the fixes of the first finding."""
    return [fix.title for fix in findings(text)[0].fixes]


@pytest.mark.parametrize("text", [
    f"{TOO_OLD.format(12020)}\ntorch 2.15.0, GTX 1080 Ti\n",  # a build without code for the card
    f"{TOO_OLD.format(11040)}\ntorch 2.3.0, GPU: Tesla K80\n",  # a card whose last driver is too old
])
def test_no_driver_is_named_where_none_helps(text: str) -> None:
    """Regression: 470.256.02 was to cure a driver for CUDA 11.4, which it is."""
    assert len(titles(text)) == 1
    assert "which this driver (CUDA up to 1" in titles(text)[0]


def test_where_a_newer_driver_helps_it_is_told_first() -> None:
    """Nothing is taken away from a card that build and newer drivers serve."""
    first, *_ = titles(f"{TOO_OLD.format(12020)}\ntorch 2.15.0, RTX 4090\n")
    assert first.startswith("Update the NVIDIA driver to 580")


def test_on_windows_the_driver_of_windows_is_updated() -> None:
    """Regression: a path of Windows got the advice to start WSL anew, for a CUDA that the driver runs."""
    fixes = titles(f"C:\\Python310\\lib\\site-packages\\torch\\cuda\\__init__.py:107: "
                   f"{TOO_OLD.format(11040)}\ntorch 2.0.1+cu118\n")
    assert len(fixes) == 1
    assert "one for CUDA 11.8 or newer, with the installer" in fixes[0]


def test_in_wsl_a_driver_is_asked_for_that_is_newer_than_the_one_there() -> None:
    """Regression: a driver for CUDA 11.4 was to be updated to one for 11.0."""
    found = findings(f"WSL2\n{TOO_OLD.format(11040)}\ntorch 2.0.1+cu118\n")
    fixes = [fix.title for finding in found if finding.cause == "driver-too-old" for fix in finding.fixes]
    assert "one for CUDA 11.8 or newer, then restart WSL" in fixes[0]


def test_a_stated_build_for_the_cpu_settles_it() -> None:
    """Regression: five candidates, among them "no NVIDIA card" beside a stated GTX 1650."""
    assert causes(f"Windows 10, Anaconda, GTX 1650. pip install torch gave me 2.3.1+cpu\n{ASKED}"
                  ">>> torch.__version__\n'2.3.1+cpu'\n") == ["cpu-only-build"]


def test_a_release_is_for_this_driver_only_where_one_is_stated() -> None:
    """Regression: "which this driver runs" was said of a driver that nobody had named."""
    said = [fix.title for finding in findings(f"Windows 10, GTX 1650, torch\n{ASKED}")
            for fix in finding.fixes]
    assert said
    assert not [title for title in said if "this driver" in title]


@pytest.mark.parametrize("build", ["torch 2.4.0+rocm6.1", "torch 2.4.0"])
def test_nothing_of_nvidia_is_installed_for_a_radeon(build: str) -> None:
    """Regression: Fedora's akmod-nvidia, and a build with CUDA, for an RX 7800 XT."""
    text = f"Fedora 40, Radeon RX 7800 XT, {build}\n{ASKED}"
    assert causes(text)
    assert not {"driver-not-installed", "driver-too-old", "cpu-only-build"} & set(causes(text))
    commands = [command for finding in findings(text) for fix in finding.fixes for command in fix.commands]
    assert not commands


def test_a_radeon_beside_a_card_of_nvidia_speaks_against_nothing() -> None:
    """A laptop has both."""
    assert "driver-too-old" in causes(f"AMD Radeon graphics and an RTX 3060, torch 2.4.0\n{ASKED}")


def test_a_mac_gets_no_build_with_cuda_but_mps() -> None:
    """Regression: the second candidate was to install a build that is nowhere."""
    text = "MacBook Pro M2\nAssertionError: Torch not compiled with CUDA enabled\n"
    assert causes(text) == ["no-nvidia-gpu"]
    assert "mps" in titles(text)[0]


@pytest.mark.parametrize("place", ["Ubuntu 22.04", "Windows 11", "Jetson Orin", "Windows 11 on ARM", ""])
def test_elsewhere_nobody_hears_of_the_gpu_of_a_mac(place: str) -> None:
    """What is open of a system is not Apple's."""
    said = [fix.title for finding in findings(f"{place}\nRuntimeError: No CUDA GPUs are available\n")
            for fix in finding.fixes]
    assert said
    assert not [title for title in said
                if "mps" in title or ("in Windows" in title and "Windows" not in place)]


def test_what_a_shell_of_unix_runs_is_no_fix_on_windows() -> None:
    """Regression: grep and xargs, and a folder bin of an environment, for a DLL that was not loaded."""
    text = ('Windows 11\nOSError: [WinError 126] The specified module could not be found. Error loading '
            '"C:\\miniconda3\\lib\\site-packages\\torch\\lib\\fbgemm.dll" or one of its dependencies.\n')
    said = " ".join(f"{fix.title} {fix.commands}" for finding in findings(text) for fix in finding.fixes)
    assert "winget" in said
    assert not [word for word in ("LD_LIBRARY_PATH", "xargs", "gpu-env/bin") if word in said]


def test_a_linux_driver_that_is_said_to_be_installed_in_wsl_comes_first() -> None:
    """Regression: it was the second candidate, and a Windows that is too old the last, beside Windows 11."""
    text = ("WSL2 Ubuntu 22.04 on Windows 11. I ran sudo apt install nvidia-driver-535 inside WSL and now:\n"
            "Failed to initialize NVML: GPU access blocked by the operating system\n")
    assert causes(text)[0] == "wsl-linux-driver-inside"
    assert "wsl-windows-too-old" not in causes(text)


def test_on_a_jetson_tensorrt_is_of_the_jetpack() -> None:
    """Regression: NVIDIA's container for TensorFlow, which nobody had named."""
    found = findings("docker run --runtime nvidia nvcr.io/nvidia/pytorch:24.01-py3 on Jetson Xavier NX\n"
                 "ImportError: libnvinfer.so.8: cannot open shared object file: No such file or directory\n")
    assert found[0].cause == "jetson-jetpack-mismatch"
    assert not [fix.title for finding in found for fix in finding.fixes if "TensorFlow" in fix.title]


def test_a_wheel_for_a_jetson_has_an_address() -> None:
    """Regression: neither link nor command, where the text does not state the release of L4T."""
    fixes = titles("Jetson AGX Orin, JetPack 6.0, pip install torch\n" + ASKED)
    assert "docs.nvidia.com/deeplearning/frameworks" in fixes[0]


@pytest.mark.parametrize(("jetpack", "is_harmless"), [("5.1", True), ("6.1", False)])
def test_only_an_older_jetpack_has_no_nvidia_smi(jetpack: str, is_harmless: bool) -> None:
    """Regression: "no nvidia-smi before JetPack 6" was said of 6.1; and it silenced TensorFlow."""
    found = findings(f"Jetson Orin Nano JetPack {jetpack}: nvidia-smi: command not found\n")
    assert ("benign-other" in [finding.cause for finding in found]) is is_harmless
    assert not [fix.env for finding in found for fix in finding.fixes if fix.env]


def test_a_listed_card_is_nothing_to_be_silenced() -> None:
    """Regression: "Num GPUs Available: 1" got TF_CPP_MIN_LOG_LEVEL=2."""
    (found,) = findings("Jetson Orin Nano\nNum GPUs Available: 1\n")
    assert (found.cause, found.fixes) == ("benign-other", ())
