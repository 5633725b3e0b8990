"""The processor that a text is about, whoever names it and however."""

from __future__ import annotations

import pytest

from tests.sources.stating import stated, value


@pytest.mark.parametrize(("line", "processor"), [
    ("our aarch64 server finds no wheel", "aarch64"),
    ("$ uname -m\naarch64", "aarch64"),
    ("docker build --platform linux/arm64 .", "aarch64"),
    ("Downloading torch-2.4.0-cp312-cp312-manylinux2014_aarch64.whl (89 MB)", "aarch64"),
    ("it runs on a DGX Spark", "aarch64"),
    ("gpu: NVIDIA GH200 480GB", "aarch64"),
    ("an arm server with two A100", "aarch64"),
    ("the nodes are POWER9 with V100", "ppc64le"),
    ("no wheel for ppc64le, there is one for x86_64", "ppc64le"),
    ("/usr/lib/x86_64-linux-gnu/libcuda.so.1", "x86_64"),
    ("Linux node1 5.14.0 #1 SMP Mon Jan 1 00:00:00 UTC 2024 ppc64le GNU/Linux", "ppc64le"),
])
def test_a_processor_is_named_in_many_ways(line: str, processor: str) -> None:
    """By its architecture, in a file's name, or by the machine that has it."""
    assert value(stated(line).text, "text.processor") == processor


@pytest.mark.parametrize("line", [
    "the alarm server is down",
    "torch-2.4.0-cp312-cp312-manylinux2014_aarch64.whl and torch-2.4.0-cp312-cp312-manylinux_2_28_x86_64.whl",
    "nothing is said of it",
])
def test_where_none_or_every_one_is_named_nothing_is_said(line: str) -> None:
    """A list of wheels names all that there are."""
    assert value(stated(line).text, "text.processor") is None


def test_what_the_kernel_says_outranks_a_word() -> None:
    """Somebody on x86_64 may ask about another processor."""
    said = "Linux box 6.8.0 #1 SMP Mon Jan 1 00:00:00 UTC 2024 x86_64 GNU/Linux\nis it for aarch64?"
    assert value(stated(said).text, "text.processor") == "x86_64"


@pytest.mark.parametrize(("line", "version"), [
    ("pip 18.1 finds nothing", "18.1"), ("it came with pip-9.0.1", "9.0.1"),
    ("I have pip version 10.0.1 here", "10.0.1"), ("pip 19 passes it over", "19"),
    ("before pip 19.3 it failed", None), ("pip 3 install torch", None), ("pip install x==2.0", None),
])
def test_a_pip_is_heard_where_it_is_the_one_that_is_there(line: str, version: str | None) -> None:
    """The pip that is wanted is another one."""
    assert value(stated(line).host, "python.pip_version") == version


@pytest.mark.parametrize(("line", "is_there"), [
    ("my TensorFlow finds no card on windows", True), ("(Windows) it is slow", True),
    ("on Ubuntu it fails, on Windows it works", False), ("in WSL2, on Windows 11", False),
])
def test_windows_in_a_sentence_counts_where_nothing_of_linux_is_around(line: str, is_there: bool) -> None:
    """Who speaks of both compares."""
    places = value(stated(line).text, "text.places") or ()
    assert isinstance(places, tuple)
    assert ("windows" in places) is is_there
