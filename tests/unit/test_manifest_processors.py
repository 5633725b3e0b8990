"""Images for another processor: judged with the wheels that there are for it, as far as tables have them."""

from __future__ import annotations

import pytest

from tests.unit.test_manifest_troubles import causes, docker, judged

HOST = ("driver=580.95.05", "cc=9.0")


def notes(platform: str, image: str, asked: str, *more: str) -> list[str]:
    """Return what matters and is not judged of a Dockerfile for a GPU."""
    lines = ("# --gpus all", f"FROM --platform={platform} {image}", f"RUN pip install {asked}")
    found = judged(docker(*lines), *HOST, *more)
    assert causes(found) == []
    return [one.said for one in found.notes if one.matters]


@pytest.mark.parametrize("asked", ["torch==2.15.0", "'jax[cuda13]==0.12.0'"])
def test_what_has_wheels_for_arm_is_judged_with_them(asked: str) -> None:
    """It was judged with those for x86-64, and called not judged."""
    assert notes("linux/arm64", "python:3.12-slim", asked) == []
    assert notes("linux/arm64", "python:3.12-slim", asked, "system.architecture=aarch64") == []
    assert notes("linux/amd64", "python:3.12-slim", asked) == []


@pytest.mark.parametrize(("platform", "image", "asked", "words"), [
    ("linux/arm64", "python:3.12-slim", "torch==2.4.1", "no release that pip would take"),  # none with CUDA
    ("linux/arm64", "python:3.12-slim", "'tensorflow[and-cuda]==2.20.0'", "no release that pip would take"),
    ("linux/arm64", "python:3.12-slim", "'torch ; platform_machine == \"aarch64\"'", "images and markers"),
    ("linux/arm64", "pytorch/pytorch:2.6.0-cuda12.4-cudnn9-runtime", "six", "the images and markers"),
    ("linux/arm/v7", "python:3.12-slim", "torch==2.15.0", "the wheels, images and markers")])
def test_what_no_table_has_for_it_is_not_judged(platform: str, image: str, asked: str, words: str) -> None:
    assert any(words in one for one in notes(platform, image, asked))
