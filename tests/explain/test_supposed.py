"""The machine that a text lets one suppose: for the words of fixes, and only where a page finds its cause."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

from gpudoctor import ruledb, texts
from gpudoctor.explanation import explain
from gpudoctor.explanation.supposed import supposed
from gpudoctor.model import Known, RuleDatabase, Snapshot, Unknown

CPU_BUILD = "AssertionError: Torch not compiled with CUDA enabled\n"


@cache
def database() -> RuleDatabase:
    """Return the shipped rules, with those that only a text shows."""
    return ruledb.load_shipped("told")


def told(text: str) -> Snapshot:
    """Return what a text says, as a snapshot."""
    return explain(texts.read_text(text, database()), database()).snapshot


def test_what_is_stated_stands_where_a_machine_has_it() -> None:
    """The framework under its package's name, the card, the driver and the Python."""
    found = supposed(told("framework: pytorch 2.5.1\ngpu: RTX 3090\ndriver: 535.54.03\npython: 3.10\n"),
                     database().tables)
    assert isinstance(found.frameworks, tuple)
    assert isinstance(found.gpus, tuple)
    seen = {**found.host, **found.frameworks[0], **found.gpus[0]}
    expected = {"framework.name": "torch", "framework.version": "2.5.1", "gpu.compute_capability": "8.6",
                "nvml.driver_version": "535.54.03", "python.version": "3.10", "system.architecture": "x86_64"}
    assert {name: getattr(seen[name], "value", None) for name in expected} == expected


@pytest.mark.parametrize("text", ["platform: windows\n", "platform: jetson\n", "os: Ubuntu 22.04 aarch64\n"])
def test_no_ordinary_processor_is_supposed_where_another_is_stated(text: str) -> None:
    """A wheel for Linux on x86-64 is none there."""
    found = supposed(told(text), database().tables).host.get("system.architecture")
    assert not isinstance(found, Known) or found.value != "x86_64"


def test_what_is_not_stated_stays_unknown() -> None:
    """No card and no framework is made up."""
    found = supposed(told("python: 3.10\n"), database().tables)
    assert (type(found.gpus), type(found.frameworks)) == (Unknown, Unknown)


def test_the_told_snapshot_supposes_nothing() -> None:
    """What is supposed is not reported as seen."""
    assert "system.architecture" not in told(CPU_BUILD + "framework: pytorch 2.5.1\n").host


def test_of_a_release_what_was_published_is_supposed_too() -> None:
    """Its CUDA and its requirements: a fix names the packages that belong to it."""
    found = supposed(told("framework: tensorflow 2.16.1\n"), database().tables)
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
    found = supposed(replace(told("python: 3.10\n"), frameworks=()), database().tables)
    assert found.frameworks == ()


def test_the_fix_for_another_framework_is_no_fix() -> None:
    """PyTorch's CPU build on Windows was to be replaced by PaddlePaddle, whose fix asks for little."""
    text = CPU_BUILD + "framework: pytorch 2.6.0+cpu\nplatform: windows\ndriver: 560.94\npython: 3.11\n"
    found = explain(texts.read_text(text, database()), database()).findings
    titles = [fix.title for finding in found for fix in finding.fixes]
    assert found[0].cause == "cpu-only-build"
    assert titles
    assert not [title for title in titles if "paddle" in title]
