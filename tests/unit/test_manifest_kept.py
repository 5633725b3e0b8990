"""A framework that the image has: pip leaves it where it meets what is asked for, and so it is judged."""

from __future__ import annotations

import pytest

from tests.unit.test_manifest_troubles import causes, docker, judged

TORCH_26 = "FROM pytorch/pytorch:2.6.0-cuda12.4-cudnn9-runtime"
HOST = ("driver=570.86.15", "cc=8.9")  # on which the newest torch, for CUDA 13, does not run


@pytest.mark.parametrize("lines", [
    (TORCH_26, "RUN pip install torch torchvision"),
    (TORCH_26, "RUN pip3 install --no-cache-dir 'torch>=2.0' transformers"),
    (TORCH_26, "RUN python -m pip install torch==2.6.0"),
    (TORCH_26, "RUN uv pip install --system torch"),
    ("FROM nvcr.io/nvidia/pytorch:24.01-py3", "RUN pip install torch"),
    ("FROM tensorflow/tensorflow:2.17.0-gpu", "RUN pip install tensorflow keras")])
def test_what_is_there_is_left_there(lines: tuple[str, ...]) -> None:
    """Regression: the newest release was judged in its place, and found too new for the driver."""
    assert causes(judged(docker(*lines), *HOST)) == []


def test_a_list_leaves_it_as_well() -> None:
    files = {**docker(TORCH_26, "COPY requirements.txt /", "RUN pip install -r /requirements.txt"),
             "requirements.txt": "torch\nnumpy\n"}
    assert [one.finding.cause for one in judged(files, *HOST).findings
            if one.place.file == "Dockerfile"] == []


@pytest.mark.parametrize("line", [
    "RUN pip install -U torch", "RUN pip install --upgrade torch", "RUN pip install 'torch>=2.7'",
    "RUN pip install --force-reinstall torch", "RUN pip uninstall -y torch && pip install torch",
    "RUN python -m venv /v && . /v/bin/activate && pip install torch", "RUN /v/bin/pip install torch",
    "RUN uv pip install --python /v torch"])
def test_what_pip_replaces_or_installs_elsewhere_is_judged(line: str) -> None:
    assert "driver-too-old" in causes(judged(docker(TORCH_26, line), *HOST))


def test_jax_that_is_asked_for_by_its_extra_for_the_cpu_is_meant_so() -> None:
    """Regression: beside another framework for the GPU it was found to lack its plugin."""
    files = {"requirements.txt": "torch==2.6.0\njax[cpu]\n"}
    found = judged(files, *HOST, gpu=True)
    assert causes(found) == []
    assert ["jax[cpu] is a build for the CPU" in note.said for note in found.notes] == [True]


CU118 = ("FROM nvidia/cuda:11.8.0-cudnn8-runtime-ubuntu22.04", "COPY r.txt pyproject.toml ./",
         "RUN pip install torch==2.3.1 --index-url https://download.pytorch.org/whl/cu118")
PROJECT = "[project]\nname = 'a'\nversion = '0'\ndependencies = ['torch>=2.1']\n"


@pytest.mark.parametrize("line", [
    "RUN pip install -r r.txt", "RUN pip install .", "RUN pip install 'torch>=2,<3' numpy",
    "RUN python3 -m pip install -e .", "RUN pip install accelerate && pip install torch"])
def test_what_a_command_installed_is_left_there_by_the_next(line: str) -> None:
    """Regression: a list with torch behind a torch for CUDA 11.8 was said to bring CUDA 13 beside it."""
    files = {**docker(*CU118, line), "r.txt": "numpy\ntorch\n", "pyproject.toml": PROJECT}
    assert causes(judged(files)) == []


@pytest.mark.parametrize("line", [
    "RUN pip install -U -r r.txt", "RUN pip install 'torch>=2.4'", "RUN /v/bin/pip install torch",
    "RUN pip uninstall -y torch && pip install torch", "RUN python3 -m venv /v && pip install torch"])
def test_what_the_next_command_replaces_is_judged(line: str) -> None:
    files = {**docker(*CU118, line), "r.txt": "numpy\ntorch\n", "pyproject.toml": PROJECT}
    assert causes(judged(files)) == ["cuda-versions-differ"]


@pytest.mark.parametrize("words", ["tensorflow==2.17.0", "'tensorflow>=2.17,<2.18' keras", "tensorflow<2.18"])
def test_no_build_without_libraries_is_mended_by_asking_again(words: str) -> None:
    """Regression: what an image for CPUs holds was called unknown, and nothing was found for a GPU."""
    image, host = "FROM tensorflow/tensorflow:2.17.0", ("driver=580.95.05", "cc=8.9")
    found = judged(docker(image, f"RUN pip install {words}"), *host, gpu=True)
    assert "pip-nvidia-libs-not-installed" in causes(found)
    whole = docker(image, "RUN pip install 'tensorflow[and-cuda]==2.17.0'")
    assert causes(judged(whole, *host, gpu=True)) == []


CU124 = "https://download.pytorch.org/whl/cu124"


@pytest.mark.parametrize(("index", "is_found"), [
    ("--index-url https://download.pytorch.org/whl/cu118", True),
    ("--extra-index-url https://download.pytorch.org/whl/cu118/", True), ("", True),
    (f"--index-url {CU124}", False), (f"--extra-index-url {CU124}/", False),
    (f"--index-url https://download.pytorch.org/whl/cu118 --extra-index-url {CU124}", False),
    ("--index-url https://download.pytorch.org/whl", False),
    ("--index-url https://mirror.example.org/simple", False),
    ("--index-url https://download.pytorch.org/whl/nightly/cu124", False)])
def test_a_label_is_looked_for_on_the_indexes_that_are_asked(index: str, is_found: bool) -> None:
    """pip finds no torch==2.5.1+cu124 on the index for CUDA 11.8; another's index may have it."""
    found = judged(docker("FROM python:3.11-slim", f"RUN pip install torch==2.5.1+cu124 {index}"))
    assert ("release-not-published" in causes(found)) is is_found
