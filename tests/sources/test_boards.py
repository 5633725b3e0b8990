"""Which L4T release a Jetson runs, in each spelling; and NVIDIA's images by their names."""

from __future__ import annotations

import pytest

from tests.sources.stating import stated, value


@pytest.mark.parametrize(("text", "release"), [
    ("# R35 (release), REVISION: 4.1, GCID: 33958178, BOARD: t186ref, EABI: aarch64", "35.4.1"),
    ("Model: NVIDIA Jetson AGX Orin Developer Kit - Jetpack 6.0 [L4T 36.3.0]", "36.3.0"),
    ("JetPack 5.1.2, Orin NX", "35.4.1"),
    ("I have a Jetson Nano with jetpack 4.6.1 on it", "32.7.1"),
    ("JetPack 6.0 DP on an Orin", "36.2.0"),
    ("ii  nvidia-jetpack   5.1.2-b104   arm64   NVIDIA Jetpack Meta Package", "35.4.1"),
    ("nvidia-jetpack 6.0-b52", "36.3.0"),
    ("Package: nvidia-jetpack\nVersion: 5.1.2-b104\nArchitecture: arm64", "35.4.1"),
    ("ii  nvidia-l4t-core  35.4.1-20230801124926  arm64  NVIDIA Core Package", "35.4.1"),
    ("L4T: R32.7.1, Jetpack: 4.6.1", "32.7.1"),
    ("Board: Jetson Orin Nano, R36.4.3", "36.4.3"),
])
def test_the_release_of_a_board_in_every_spelling(text: str, release: str) -> None:
    """Regression: but for two of them they said no more than that it is a Jetson."""
    found = stated(text + "\n")
    assert value(found.host, "system.jetson") == release
    assert "jetson" in str(value(found.text, "text.places"))


@pytest.mark.parametrize("text", [
    "docker run nvcr.io/nvidia/l4t-pytorch:r35.2.1-pth2.0-py3",  # the image's
    "It works with JetPack 4.6 and not with JetPack 5.1.2",
    "the Jetson has R35.4.1 and the other R32.7.1",
    "JetPack 5.1.2.3.4 and jetpack99", "resistor R35.4 of a board",
])
def test_what_is_no_release_of_the_board_states_none(text: str) -> None:
    """An image's, several that contradict one another, and what only looks like one."""
    assert value(stated(text + "\n").host, "system.jetson") is None


def test_what_a_package_list_says_outweighs_a_sentence() -> None:
    """People name the JetPack that they had in mind."""
    found = stated("I flashed JetPack 6.0\nii  nvidia-jetpack  5.1.2-b104  arm64\n")
    assert value(found.host, "system.jetson") == "35.4.1"


@pytest.mark.parametrize(("image", "framework", "facts"), [
    ("nvcr.io/nvidia/pytorch:24.01-py3", "pytorch", {"framework.name": "torch", "framework.cuda": "12.3.2"}),
    ("nvcr.io/nvidia/tensorflow:22.06-tf2-py3", "tensorflow", {
        "framework.name": "tensorflow", "framework.version": "2.9.1", "framework.cuda": "11.7",
        "framework.cudnn": "8.4.1"}),
    ("tensorflow/tensorflow:2.15.0-gpu", "tensorflow", None),
    ("pytorch/pytorch:2.1.0-cuda12.1-cudnn8-runtime", "pytorch", {
        "framework.name": "torch", "framework.cuda": "12.1"}),
    ("nvcr.io/nvidia/jax:99.99-py3", "jax", None),
])
def test_an_image_names_its_framework_and_the_container(image: str, framework: str, facts: object) -> None:
    """Regression: of NVIDIA's nothing was read, nor that a container was meant where nothing else says so."""
    found = stated(f"image: {image}\n")
    assert value(found.text, "text.framework") == framework
    assert "docker" in str(value(found.text, "text.places"))
    listed = None if found.frameworks is None else {
        name: value(found.frameworks[0], name) for name in found.frameworks[0]}
    assert listed == facts


@pytest.mark.parametrize("image", ["nvcr.io/nvidia/cuda:12.0.0-base", "nvcr.io/nvidia/pytorch:$TAG",
                                   "nvcr.io/nvidia/tritonserver:24.01-py3"])
def test_other_images_of_nvidia_state_no_framework(image: str) -> None:
    """Nor does a name with a blank in it."""
    assert value(stated(f"image: {image}\n").text, "text.framework") is None
