"""Whether an image of nvidia/cuda starts on a driver that is older than its CUDA: it hangs on the card."""

from __future__ import annotations

import pytest

from gpudoctor.manifests import images
from tests.unit.test_manifest_troubles import causes, database, docker, judged

FOUND = ["docker-require-cuda-unsatisfied"]
IMAGE = "FROM nvidia/cuda:{}-runtime-ubuntu22.04"


@pytest.mark.parametrize(("cuda", "host", "expected", "open_"), [
    # 12.8 takes the branch 535 on cards of brands that are listed, and GeForce is none of them
    ("12.8.1", ("driver=535.104.05", "card=RTX 4090"), FOUND, False),
    ("12.8.1", ("driver=535.104.05", "card=TITAN V"), FOUND, False),
    ("12.8.1", ("driver=535.104.05", "card=L4"), [], False),
    ("12.8.1", ("driver=535.104.05", "cc=8.9"), [], True),
    ("12.8.1", ("driver=535.104.05",), [], True),
    ("12.8.1", ("driver=525.60.13", "cc=8.9"), FOUND, False),  # a branch that it takes on no card
    ("12.8.1", ("driver=570.86.15", "card=RTX 4090"), [], False),
    ("12.2.2", ("driver=535.104.05", "cc=8.9"), [], False),
    # a patch of which no table knows asks for what the patch before it does
    ("13.0.9", ("driver=535.104.05", "card=RTX 4090"), FOUND, False),
    # a driver for 13.0 runs machine code of 13.1, but the toolkit compares: a GeForce is refused
    ("13.1.1", ("driver=580.95.05", "card=RTX 4090"), FOUND, False),
    ("13.1.1", ("driver=580.95.05", "card=L4"), [], False),
    ("13.1.1", ("driver=590.48.01", "card=RTX 4090"), [], False),
    ("13.2.0", ("driver=550.54.14", "card=L4"), FOUND, False),  # which 13.1 still took
    ("13.3.1", ("driver=595.71.05", "card=L4"), [], False),
    ("13.3.1", ("driver=595.71.05", "card=RTX 4090"), FOUND, False),
    # of 13.4 nobody read which branches it takes; that no GeForce is excused all images have in common
    ("13.4.1", ("driver=580.95.05", "card=L4"), [], True),
    ("13.4.1", ("driver=580.95.05", "card=RTX 4090"), FOUND, False),
    ("13.6.0", ("driver=580.95.05", "card=RTX 4090"), [], True)])  # newer than the tables
def test_a_card_is_asked_for_what_the_driver_leaves_open(
    cuda: str, host: tuple[str, ...], expected: list[str], open_: bool,
) -> None:
    """Regression: a driver that some cards are excused with was taken for fine on all."""
    found = judged(docker(IMAGE.format(cuda)), *host)
    assert [cause for cause in causes(found) if cause in FOUND] == expected
    assert any("starts on the driver" in note.said and note.matters for note in found.notes) == open_


@pytest.mark.parametrize(("cuda", "words"), [
    ("12.8.1", "--assume card=NAME"), ("13.4.1", "docker image inspect"), ("13.6.0", "docker image inspect")])
def test_what_would_decide_is_said(cuda: str, words: str) -> None:
    found = judged(docker(IMAGE.format(cuda)), "driver=535.104.05")
    [note] = [one for one in found.notes if "starts on the driver" in one.said]
    assert words in note.said


def test_a_cudnn_of_which_no_version_is_known_is_not_taken_for_a_missing_one() -> None:
    def base(tag: str) -> images.Base:
        return images.base_of(f"nvidia/cuda:{tag}", database().tables)

    assert base("13.1.1-cudnn-runtime-ubuntu24.04").libraries is None
    known = base("13.0.0-cudnn-runtime-ubuntu24.04").libraries or ()
    assert "/usr/lib/x86_64-linux-gnu/libcudnn.so.9" in known
    assert base("13.1.1-runtime-ubuntu24.04").libraries


OLDER = "FROM nvidia/cuda:11.8.0-cudnn8-runtime-{}"


@pytest.mark.parametrize(("system", "line", "expected", "words"), [
    # the release that pip takes there, not the newest: 2.4.1 is the last torch for Python 3.8
    ("ubuntu20.04", "pip3 install torch", ["cuda-versions-differ"], "CUDA 12.1 (torch)"),
    ("ubuntu20.04", "pip3 install torch==1.13.1", [], ""),
    ("ubuntu20.04", "pip3 install torch==2.6.0", ["python-version-unsupported"], "for Python 3.8"),
    ("ubuntu20.04", "pip3 install tensorflow", [], ""),
    ("ubuntu20.04", "pip3 install tensorflow==2.16.1", ["python-version-unsupported"], "for Python 3.8"),
    ("ubuntu20.04", "pip3 install jax", [], "jax was not judged"),
    ("ubuntu20.04", "pip3 install 'jax[cuda12]'", [], "jax[cuda12] was not judged"),
    ("ubuntu18.04", "pip3 install torch", ["cuda-versions-differ"], "CUDA 10.2 (torch)"),
    ("ubuntu18.04", "pip3 install tensorflow==2.12.0", ["python-version-unsupported"], "for Python 3.6"),
    ("rockylinux8", "pip3 install torch==2.0.1", ["python-version-unsupported"], "for Python 3.6"),
    ("rockylinux8", "dnf install -y python39-pip && pip3 install torch==2.0.1", [], ""),
    ("ubi8", "dnf install -y python3.11-pip && pip3.11 install torch==2.0.1", [], "")])
def test_a_release_is_judged_that_there_is_for_the_python_of_the_distribution(
    system: str, line: str, expected: list[str], words: str,
) -> None:
    """Regression: a bare torch on Ubuntu 20.04 was taken for the newest, and the driver found too old."""
    found = judged(docker("# --gpus all", OLDER.format(system), f"RUN {line}"), "driver=535.104.05", "cc=7.5")
    assert [cause for cause in causes(found) if cause != "image-at-its-end"] == expected
    said = [*(one.finding.message for one in found.findings), *(note.said for note in found.notes)]
    assert not words or any(words in text for text in said)
