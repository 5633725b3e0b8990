"""What one environment has twice: modules of two distributions, two CUDA, a driver beside the host's."""

from __future__ import annotations

import pytest

from tests.unit.test_manifest_troubles import SLIM, Files, causes, docker, judged

BASE = "FROM nvidia/cuda:12.4.1-base-ubuntu22.04"
CUPY = "cupy-cuda{}x==13.3.0\ntensorflow[and-cuda]==2.20.0\n"


def listed(*lines: str) -> Files:
    return {"requirements.txt": "".join(f"{line}\n" for line in lines)}


@pytest.mark.parametrize(("lines", "cause"), [
    (("onnxruntime==1.20.0", "onnxruntime-gpu==1.20.0"), "wheel-file-collision"),
    (("opencv-python", "six", "opencv-contrib-python-headless>=4"), "wheel-file-collision"),
    (("tensorflow==2.20.0", "tensorflow-gpu==2.11.0"), "wheel-file-collision"),
    (("torch==2.9.0", "nvidia-cublas-cu11==11.11.3.6"), "cuda-versions-differ"),
    (("tensorflow[and-cuda]==2.20.0", "cupy-cuda11x==13.3.0"), "cuda-versions-differ")])
def test_two_of_one_kind_are_found_at_the_last(lines: tuple[str, ...], cause: str) -> None:
    found = judged(listed(*lines), gpu=True)
    assert causes(found) == [cause]
    assert found.findings[0].place.line == len(lines)


@pytest.mark.parametrize("lines", [
    ("onnxruntime-gpu==1.20.0", "opencv-python"), ("opencv-python-headless", "six"),
    ("torch==2.9.0", "nvidia-nccl-cu12"), ("tensorflow[and-cuda]==2.20.0", "cupy-cuda12x==13.3.0"),
    ("cupy-cuda11x==13.3.0", "six")])
def test_one_of_each_kind_is_left_alone(lines: tuple[str, ...]) -> None:
    assert causes(judged(listed(*lines), gpu=True)) == []


def test_a_toolkit_of_apt_for_another_cuda_than_the_image_is_found() -> None:
    other = judged(docker(BASE, "RUN apt-get install -y cuda-toolkit-11-8"))
    assert causes(other) == ["cuda-versions-differ"]
    assert str(other.findings[0].place) == "Dockerfile:2:24"
    assert causes(judged(docker(BASE, "RUN apt-get install -y cuda-toolkit-12-6"))) == []


@pytest.mark.parametrize(("package", "is_driver"), [
    ("nvidia-driver-550", True), ("libnvidia-compute-550=550.54.15", True), ("cuda-drivers", True),
    ("libcuda1", True), ("nvidia-container-toolkit", False), ("libcudnn9-cuda-12", False), ("wget", False)])
def test_a_driver_in_an_image_is_said(package: str, is_driver: bool) -> None:
    found = judged(docker(SLIM, f"RUN apt-get update && apt-get install -y {package}"), gpu=True)
    notes = [str(one.place) for one in found.notes if "lays a driver into the image" in one.said]
    assert notes == (["Dockerfile:2:42"] if is_driver else [])
