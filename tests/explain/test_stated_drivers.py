"""A driver that a text names with its version: it is there, and may not serve the card."""

from __future__ import annotations

import pytest

from gpudoctor import texts
from gpudoctor.model import Known
from tests.explain.shipped import database, findings


@pytest.mark.parametrize("text", [
    "RTX 3090 with driver version 535, torch 2.1: cuda is not available",
    "RTX 3090, driver 535, PyTorch does not see the GPU",
])
def test_a_driver_that_is_named_with_its_version_is_not_what_is_missing(text: str) -> None:
    """Regression: "driver" and "not available" were taken together."""
    first = findings(text)[0]
    assert first.cause == "cpu-only-build"
    assert "driver-not-installed" not in [finding.cause for finding in findings(text)[:4]]


def test_a_driver_that_is_said_to_be_missing_is() -> None:
    """Right behind its version, or without one."""
    for text in ("nvidia driver 535 not found", "my nvidia driver is not found, RTX 3090"):
        assert {"driver-not-installed", "driver-module-not-loaded"} & {one.cause for one in findings(text)}


@pytest.mark.parametrize(("text", "cause", "offers"), [
    ("RTX 5090, driver 535, torch 2.9: CUDA is not available", "driver-too-old", "which serves this card"),
    ("RTX 5090, driver 535.183, torch.cuda.is_available() False", "driver-too-old", "which serves this card"),
    ("GTX 680, driver 535: no devices found", "driver-dropped-gpu", "of branch 470"),
    ("WSL2, RTX 5090, driver 537.58, torch 2.9: CUDA is not available", "driver-too-old", "in Windows"),
    ("WSL2, GTX 1080, driver 591.44: no devices found", "driver-dropped-gpu", "in Windows"),
])
def test_a_driver_that_does_not_serve_the_card_is_told_by_the_page_of_cards(
        text: str, cause: str, offers: str) -> None:
    """Regression: an older release of torch was offered, which no driver of that branch helps either."""
    first = findings(text)[0]
    assert first.cause == cause
    assert offers in first.fixes[0].title
    assert "generation" in first.message
    assert not any("torch" in fix.title for fix in first.fixes)


@pytest.mark.parametrize("place", ["Windows 11", "WSL2"])
def test_a_driver_of_windows_is_held_against_the_card_by_its_branch(place: str) -> None:
    """Regression: 581 was said to be newer than 580, the last branch for the card; it is of 580."""
    said = findings(f"{place}, GTX 1080, driver 581.29, torch 2.6: CUDA is not available")
    assert "driver-dropped-gpu" not in [finding.cause for finding in said]


def test_a_fix_for_a_stated_generation_names_a_release() -> None:
    """Regression: it had the title of the page alone."""
    (first, *_) = findings("Maxwell card, torch 2.9.0+cu130: no kernel image is available for execution")
    assert first.cause == "gpu-too-old-for-build"
    assert "torch==" in first.fixes[0].title


def test_what_could_be_installed_is_no_driver_that_is_there() -> None:
    """Regression: rows of `ubuntu-drivers devices` stated one."""
    text = "driver   : nvidia-driver-535 - distro non-free recommended\nmodel    : GA106 [GeForce RTX 3060]\n"
    assert not isinstance(texts.read_text(text, database()).text.get("text.driver"), Known)


_SMI = "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver."


@pytest.mark.parametrize(("built_for", "cause"), [
    ("6.5.0-35-generic", "driver-module-not-loaded"), ("6.8.0-40-generic", "secure-boot-unsigned-module")])
def test_secure_boot_refuses_no_module_that_was_built_for_another_kernel(built_for: str, cause: str) -> None:
    """Regression: what `uname -r` and `dkms status` say counted nothing beside "SecureBoot enabled"."""
    first = findings(f"$ nvidia-smi\n{_SMI}\n$ uname -r\n6.8.0-40-generic\n$ dkms status\n"
                     f"nvidia/535.183.01, {built_for}, x86_64: installed\n"
                     "$ mokutil --sb-state\nSecureBoot enabled\n")[0]
    assert first.cause == cause
    assert ("another kernel" in first.message) is (cause == "driver-module-not-loaded")
