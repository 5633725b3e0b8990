"""A fix that comes to nothing, by what the text states of driver, card, build and place, is not told."""

from __future__ import annotations

from functools import cache

import pytest

from gpudoctor import ruledb, texts
from gpudoctor.explanation import explain
from gpudoctor.model import Finding, RuleDatabase

TOO_OLD = "UserWarning: The NVIDIA driver on your system is too old (found version {})."
ASKED = ">>> torch.cuda.is_available()\nFalse\n"


@cache
def database() -> RuleDatabase:
    """Return the shipped rules."""
    return ruledb.load_shipped("told")


def told(text: str) -> tuple[Finding, ...]:
    """Return what is told of a text."""
    return explain(texts.read_text(text, database()), database()).findings


def causes(text: str) -> list[str]:
    """Return the causes that are told, the most probable first."""
    return [finding.cause for finding in told(text)]


def titles(text: str) -> list[str]:
    """Return the fixes of the first finding."""
    return [fix.title for fix in told(text)[0].fixes]


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
    found = told(f"WSL2\n{TOO_OLD.format(11040)}\ntorch 2.0.1+cu118\n")
    fixes = [fix.title for finding in found if finding.cause == "driver-too-old" for fix in finding.fixes]
    assert "one for CUDA 11.8 or newer, then restart WSL" in fixes[0]


def test_a_stated_build_for_the_cpu_settles_it() -> None:
    """Regression: five candidates, among them "no NVIDIA card" beside a stated GTX 1650."""
    assert causes(f"Windows 10, Anaconda, GTX 1650. pip install torch gave me 2.3.1+cpu\n{ASKED}"
                  ">>> torch.__version__\n'2.3.1+cpu'\n") == ["cpu-only-build"]


def test_a_release_is_for_this_driver_only_where_one_is_stated() -> None:
    """Regression: "which this driver runs" was said of a driver that nobody had named."""
    for finding in told(f"Windows 10, GTX 1650, torch\n{ASKED}"):
        assert not [fix.title for fix in finding.fixes if "this driver" in fix.title], finding.cause


@pytest.mark.parametrize("build", ["torch 2.4.0+rocm6.1", "torch 2.4.0"])
def test_nothing_of_nvidia_is_installed_for_a_radeon(build: str) -> None:
    """Regression: Fedora's akmod-nvidia, and a build with CUDA, for an RX 7800 XT."""
    text = f"Fedora 40, Radeon RX 7800 XT, {build}\n{ASKED}"
    assert not {"driver-not-installed", "driver-too-old", "cpu-only-build"} & set(causes(text))
    commands = [command for finding in told(text) for fix in finding.fixes for command in fix.commands]
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
    for finding in told(f"{place}\nRuntimeError: No CUDA GPUs are available\n"):
        assert not [fix.title for fix in finding.fixes if "mps" in fix.title or (
            "in Windows" in fix.title and "Windows" not in place)]
