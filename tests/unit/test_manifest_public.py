"""Verdicts that were wrong on files as people publish them."""

from __future__ import annotations

import pytest

from tests.unit.test_manifest_troubles import SLIM_11, Files, causes, docker, judged

CU128 = "--index-url https://download.pytorch.org/whl/cu128"
BLACKWELL, ADA = ("driver=580.95.05", "cc=12.0"), ("driver=580.95.05", "cc=8.9")


def pytorch(tag: str) -> str:
    return f"FROM pytorch/pytorch:{tag}-runtime"


@pytest.mark.parametrize(("files", "host", "place"), [
    (docker(SLIM_11, f"RUN pip install torch==2.7.0 {CU128}"), BLACKWELL, "Dockerfile:2:17"),
    ({"r.txt": f"{CU128.replace('128', '113')}\ntorch==1.11.0+cu113\n"}, ADA, "r.txt:2:1"),
    (docker(pytorch("2.7.0-cuda12.8-cudnn9")), BLACKWELL, "Dockerfile:1:6"),
    (docker(pytorch("1.8.1-cuda11.1-cudnn8")), ADA, "Dockerfile:1:6")])
def test_the_device_code_of_another_build_is_not_taken_for_its_own(
        files: Files, host: tuple[str, ...], place: str) -> None:
    """Regression: torch 2.7.0 for CUDA 12.8 was held to have the code of the one for CUDA 12.6."""
    found = judged(files, *host)
    assert causes(found) == []
    assert [str(note.place) for note in found.notes if "has code for the card" in note.said] == [place]
    assert causes(judged(docker(pytorch("2.7.0-cuda12.6-cudnn9")), *BLACKWELL)) == ["gpu-too-new-for-build"]
    assert [note.said for note in judged(docker(pytorch("2.7.0-cuda12.8-cudnn9"))).notes
            if "has code" in note.said] == []  # for whatever card


def test_a_file_for_python_2_is_judged() -> None:
    """Regression: it ended the command, for no environment of Python 2 can be made by it."""
    found = judged(docker("FROM python:2.7", "RUN pip install torch==1.4.0"), gpu=True)
    assert causes(found) == ["image-at-its-end"]
    assert [note.matters for note in found.notes] == [True]
