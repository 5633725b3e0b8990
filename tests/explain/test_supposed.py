"""The machine that a text lets one suppose: for the words of fixes, and only where a page finds its cause."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpudoctor import texts
from gpudoctor.explanation import explain
from gpudoctor.explanation.supposed import supposed
from gpudoctor.model import Known, Unknown
from tests.explain.shipped import database, findings, told

CPU_BUILD = "AssertionError: Torch not compiled with CUDA enabled\n"


def test_what_is_stated_stands_where_a_machine_has_it() -> None:
    """The framework under its package's name, the card, the driver and the Python."""
    text = "framework: pytorch 2.5.1\ngpu: RTX 3090\ndriver: 535.54.03\npython: 3.10\n"
    found = supposed(told(text).snapshot, database().tables)
    assert isinstance(found.frameworks, tuple)
    assert isinstance(found.gpus, tuple)
    seen = {**found.host, **found.frameworks[0], **found.gpus[0]}
    expected = {"framework.name": "torch", "framework.version": "2.5.1", "gpu.compute_capability": "8.6",
                "nvml.driver_version": "535.54.03", "python.version": "3.10", "system.architecture": "x86_64"}
    assert {name: getattr(seen[name], "value", None) for name in expected} == expected


@pytest.mark.parametrize("text", ["platform: jetson\n", "os: Ubuntu 22.04 aarch64\n",
                                  "os: Windows 11 on ARM\n"])
def test_no_ordinary_processor_is_supposed_where_another_is_stated(text: str) -> None:
    """A wheel for Linux on x86-64 is none there."""
    found = supposed(told(text).snapshot, database().tables).host.get("system.architecture")
    assert not isinstance(found, Known) or found.value != "x86_64"


def test_windows_is_supposed_to_be_that_of_a_pc() -> None:
    """A wheel for Linux is none there, and "Install a build with CUDA" had no command."""
    found = supposed(told("platform: windows\n").snapshot, database().tables).host
    values = [fact.value for name in ("system.os", "system.architecture")
              if isinstance(fact := found[name], Known)]
    assert values == ["Windows", "x86_64"]


@pytest.mark.parametrize(("text", "said"), [
    ("Windows 11\n" + CPU_BUILD, "--index-url https://download.pytorch.org/whl/cu132"),
    ("Windows 11, GTX 1080\n" + CPU_BUILD, "torch==2.14.1+cu126"),
    ("Windows 11, driver 531.41\n" + CPU_BUILD, "torch==2.14.1+cu126"),
    ("Ubuntu 22.04\n" + CPU_BUILD, "python -m pip install torch=="),
])
def test_a_build_with_cuda_is_named_where_no_card_is_and_on_windows(text: str, said: str) -> None:
    """PyTorch's wheels for Windows lie on its own index; which cards they are for stands in the title."""
    found = findings(text)[0]
    assert found.cause == "cpu-only-build"
    assert any(said in command for fix in found.fixes for command in fix.commands)
    assert ("for cards of compute capability" in found.fixes[0].title) is ("GTX" not in text)


def test_a_wsl_stated_is_supposed_so_that_no_linux_driver_is_advised() -> None:
    """The driver is Windows' there: "install the Linux driver" stood beside "never install one"."""
    text = ("WSL2, driver 451.67\ntorch 2.3.1+cu121\n"
            "The NVIDIA driver on your system is too old (found version 11000)\n")
    found = findings(text)
    titles = [fix.title for finding in found if finding.cause == "driver-too-old" for fix in finding.fixes]
    assert any("in Windows" in title for title in titles)
    assert not any("driver-installation-guide" in title for title in titles)


def test_what_is_not_stated_stays_unknown() -> None:
    """No card and no framework is made up."""
    found = supposed(told("python: 3.10\n").snapshot, database().tables)
    assert (type(found.gpus), type(found.frameworks)) == (Unknown, Unknown)


def test_the_told_snapshot_supposes_nothing() -> None:
    """What is supposed is not reported as seen."""
    assert "system.architecture" not in told(CPU_BUILD + "framework: pytorch 2.5.1\n").snapshot.host


def test_of_a_release_what_was_published_is_supposed_too() -> None:
    """Its CUDA and its requirements: a fix names the packages that belong to it."""
    found = supposed(told("framework: tensorflow 2.16.1\n").snapshot, database().tables)
    assert isinstance(found.frameworks, tuple)
    requirement = found.frameworks[0]["framework.extra_requires_nvidia"]
    assert isinstance(requirement, Known)
    assert "nvidia-cudnn-cu12==8.9.7.29" in str(requirement.value)
    assert isinstance(found.host["python.version"], Known)


def test_a_fix_says_more_than_where_to_read() -> None:
    """Of a stated release the packages of its cuDNN; of none, what is to be done in the words of the page."""
    missing = "Could not load library libcudnn_cnn_infer.so.8. Error: libcudnn_cnn_infer.so.8: cannot open\n"
    stated = explain(texts.read_text(missing + "framework: tensorflow 2.16.1\n", database()), database())
    commands = [command for finding in stated.findings for fix in finding.fixes for command in fix.commands]
    assert any("nvidia-cudnn-cu12==8.9.7.29" in command for command in commands)


def test_nothing_is_supposed_of_no_framework() -> None:
    """A machine that was looked at and has none."""
    found = supposed(replace(told("python: 3.10\n").snapshot, frameworks=()), database().tables)
    assert found.frameworks == ()


def test_the_fix_for_another_framework_is_no_fix() -> None:
    """PyTorch's CPU build on Windows was to be replaced by PaddlePaddle, whose fix asks for little."""
    text = CPU_BUILD + "framework: pytorch 2.6.0+cpu\nplatform: windows\ndriver: 560.94\npython: 3.11\n"
    found = findings(text)
    titles = [fix.title for finding in found for fix in finding.fixes]
    assert found[0].cause == "cpu-only-build"
    assert titles
    assert not [title for title in titles if "paddle" in title]


def fixes(text: str, cause: str) -> str:
    """Return the titles of the fixes that are told for a cause."""
    found = findings(text)
    return "\n".join(fix.title for finding in found if finding.cause == cause for fix in finding.fixes)


def test_the_fix_names_the_last_branch_for_the_stated_card() -> None:
    """Regression: "the driver branch that still serves the card" was all; the table knows which."""
    told = fixes("GPU: GTX 1050\nDriver: 595.71.05\nNo devices were found\n", "driver-dropped-gpu")
    assert "branch 580" in told
    assert "host's driver" not in told  # nothing is said of a container


def test_no_branch_is_named_for_a_card_that_the_table_does_not_tell() -> None:
    """A GT 710 is of one of two generations; the branch for later cards would be the wrong one."""
    told = fixes("GPU: GT 710\nDriver: 535.104.05\nNo devices were found\nDebian 12\n", "driver-dropped-gpu")
    assert told == "Go back to the driver branch that still serves the card"


def test_no_windows_is_supposed_where_the_text_knows_of_none() -> None:
    """Regression: whoever had a driver that is too old was first told to update it in Windows."""
    told = fixes("driver 470.82.01, tensorflow 2.16 does not see the GPU\n", "driver-too-old")
    assert told
    assert "Windows" not in told


def test_a_fix_with_an_open_condition_lends_no_words() -> None:
    """Regression: of a card whose capability is not stated, to hide it was said to be the fix."""
    told = fixes("Blackwell GPU, torch 2.4: nothing runs\n", "gpu-too-new-for-build")
    assert told == "Install a build that knows this card"


TOO_OLD = ("Found GPU0 {card} which is of cuda capability {capability}.\n"
           "PyTorch no longer supports this GPU because it is too old.\n")
NO_IMAGE = "RuntimeError: CUDA error: no kernel image is available for execution on the device\n"


@pytest.mark.parametrize("text", [
    TOO_OLD.format(card="GeForce GT 710", capability="3.5"), "gpu: GeForce GT 730\ntorch 2.4.1\n" + NO_IMAGE,
    "My card is a GeForce GT 710 with driver 470.223.02, torch 2.4.1\n" + NO_IMAGE,
    "gpu: GeForce GT 710, GeForce RTX 3090\ntorch 2.15.0\n" + NO_IMAGE,
])
def test_no_release_is_named_that_does_not_serve_all_that_a_card_may_be(text: str) -> None:
    """A GT 710 has 2.1 or 3.5, and was sent to the newest torch."""
    found = findings(text)
    commands = [step for one in found if one.cause == "gpu-too-old-for-build"
                for fix in one.fixes for step in fix.commands]
    assert found
    assert not [command for command in commands if "torch==" in command]


def test_a_release_is_named_that_serves_all_that_a_card_may_be() -> None:
    """A Titan X is of Maxwell or of Pascal: one release with code for both is the answer."""
    text = "gpu: Titan X\ntorch 2.15.0\n" + NO_IMAGE
    found = findings(text)
    assert "torch==2.14.1+cu126" in " ".join(fix.title for one in found for fix in one.fixes)
