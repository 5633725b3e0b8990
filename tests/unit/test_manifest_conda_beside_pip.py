"""CUDA that conda brings, beside wheels of pip: which pairs are found, and what is said of the loader."""

from __future__ import annotations

import pytest

from tests.unit.test_manifest_troubles import L4, causes, docker, judged

NEW = ("driver=580.95.05", "cc=8.9")
DIFFER, ABSENT = "cuda-versions-differ", "pip-nvidia-libs-not-installed"


def environment(conda: str, pip: str, head: str = "") -> dict[str, str]:
    """Return an environment.yml with these packages, which stand in lines of their own."""
    packages = "".join(f"- {one}\n" for one in conda.split())
    packages += "" if "python=" in conda else "- python=3.11\n"
    return {"environment.yml": f"{head}dependencies:\n{packages}- pip:\n"
                               + "".join(f"  - {one}\n" for one in pip.split())}


@pytest.mark.parametrize(("conda", "pip", "expected"), [
    ("cudatoolkit=11.2 cudnn=8.1", "torch==2.9.0", [DIFFER]),
    ("cudatoolkit=11", "torch==2.9.0", [DIFFER]),
    ("cudatoolkit=11.8.*", "tensorflow[and-cuda]==2.20.0", [DIFFER]),
    ("cuda-nvcc cuda-version=13.0", "torch==2.9.0", [DIFFER]),
    ("nvidia/label/cuda-11.8.0::cuda-toolkit", "torch==2.9.0", [DIFFER]),
    ("cudatoolkit=11.8", "cupy-cuda12x==13.3.0 torch==2.4.1", [DIFFER]),
    ("cudatoolkit=11.2", "tensorflow==2.20.0", [ABSENT, DIFFER]),
    ("cudatoolkit=11.2", "jax[cuda12]==0.5.3", [DIFFER]),
    ("cuda-toolkit=12.4", "torch==2.9.0", []),
    ("cuda-toolkit=12.4", "tensorflow[and-cuda]==2.20.0", []),
    ("cuda-version=11.8", "torch==2.9.0", []),  # which installs nothing
    ("cuda-python=11.8", "torch==2.9.0", []), ("cuda-core=0.3", "torch==2.9.0", []),
    ("cudatoolkit>=11", "torch==2.9.0", []),
    ("cudatoolkit=11.8 cudnn", "nvidia-cudnn-cu11==8.6.0.163 tensorflow==2.12.0", []),
    ("cudatoolkit=11.8", "six", []),
    ("cudatoolkit=11.8 pytorch=2.1=*cuda118*", "six", [])])
def test_condas_cuda_counts_beside_that_of_wheels(conda: str, pip: str, expected: list[str]) -> None:
    assert causes(judged(environment(conda, pip), *NEW)) == expected


@pytest.mark.parametrize(("conda", "pip", "expected"), [
    ("pytorch=1.12.1 cudatoolkit=11.3", "torch>=1.10", []),
    ("pytorch=1.12.1 cudatoolkit=11.3 python=3.10", "torch>=2.4", ["requirements-contradict", DIFFER]),
    ("tensorflow-gpu=2.6 cudatoolkit=11.2", "tensorflow", []),
    ("pytorch pytorch-cuda=11.8", "torch", [])])
def test_pip_leaves_what_conda_has_installed(conda: str, pip: str, expected: list[str]) -> None:
    """Regression: the newest release of pip was judged, and said to lack its CUDA libraries."""
    assert causes(judged(environment(conda, pip), *NEW)) == expected


MINICONDA = ("FROM continuumio/miniconda3:24.9.2-0", "# docker run --gpus all", "COPY environment.yml .")
CREATED = "RUN conda env create -f environment.yml"


@pytest.mark.parametrize(("lines", "expected"), [
    (("RUN conda run -n x pip install tensorflow==2.20.0",), [ABSENT]),
    (("RUN conda run -n x pip install 'tensorflow[and-cuda]==2.20.0'",), []),
    ((CREATED, "RUN pip install tensorflow==2.12.0"), [])])  # it may bring CUDA
def test_an_image_of_conda_has_no_cuda_of_its_own(lines: tuple[str, ...], expected: list[str]) -> None:
    found = judged(docker(*MINICONDA, *lines), *NEW)
    assert causes(found) == expected
    assert any(note.matters for note in found.notes) == (CREATED in lines)


def test_a_list_of_conda_that_is_not_there_may_bring_cuda() -> None:
    """Regression: TensorFlow was said to lack its libraries, which that list may name."""
    lines = ("FROM debian:12", *MINICONDA[1:], CREATED, "RUN pip install tensorflow==2.20.0")
    assert causes(judged(docker(*lines), *NEW)) == []
    assert causes(judged(docker(*lines[:3], lines[4]), *NEW)) == [ABSENT]


def test_the_pythons_of_wheels_bind_no_package_of_conda() -> None:
    """Which Pythons a channel builds for is in no table: "no wheel" was said of conda's packages."""
    assert causes(judged(environment("tensorflow=2.11=cuda112*", "six"), *NEW)) == []
    assert causes(judged(environment("six", "tensorflow[and-cuda]==2.11.0"), *NEW)) == [
        "python-version-unsupported"]


def test_pip_leaves_it_in_a_dockerfile_too() -> None:
    lines = ("FROM condaforge/miniforge3", "RUN conda install -y pytorch=1.12.1 cudatoolkit=11.3")
    assert causes(judged(docker(*lines, "RUN pip install 'torch>=1.10'"), *NEW)) == []
    assert causes(judged(docker(*lines, "RUN pip install --force-reinstall 'torch>=1.10'"), *NEW)) == [DIFFER]


def test_the_channel_says_which_cuda_it_is() -> None:
    files = environment("cuda-toolkit", "torch==2.9.0", "channels: [nvidia/label/cuda-11.8.0]\n")
    assert causes(judged(files, *NEW)) == [DIFFER]


def test_it_is_found_in_a_dockerfile_too() -> None:
    lines = ("FROM python:3.11-slim", "RUN conda install -y cudatoolkit=11.2", "RUN pip install torch==2.1.0")
    found = judged(docker(*lines), *L4)
    assert [(str(one.place), one.finding.cause) for one in found.findings] == [("Dockerfile:3:17", DIFFER)]
    assert causes(judged(docker(lines[0], lines[1].replace("11.2", "12.1"), lines[2]), *L4)) == []


@pytest.mark.parametrize(("conda", "said"), [
    ("cudatoolkit=11.8", "only where LD_LIBRARY_PATH names it"),
    ("cudatoolkit=10.1", "tensorflow==2.12.0 is built for CUDA 11.8")])
def test_what_only_the_machine_knows_is_left_open(conda: str, said: str) -> None:
    """TensorFlow's wheels have RUNPATH: conda's own folder is not searched for them by itself."""
    [note] = judged(environment(conda, "tensorflow==2.12.0"), *NEW).notes
    assert note.matters
    assert said in note.said


@pytest.mark.parametrize(("value", "expected"), [("'-1'", []), ("'0'", ["cpu-only-build"])])
def test_variables_of_an_environment_count(value: str, expected: list[str]) -> None:
    files = environment("cuda-version=12.4", "tensorflow-cpu==2.20.0",
                        f"variables: {{CUDA_VISIBLE_DEVICES: {value}}}\n")
    assert causes(judged(files, *NEW)) == expected


@pytest.mark.parametrize("python", ["", "- python=3.11\n"])
def test_a_variant_for_the_cpu_is_one_finding(python: str) -> None:
    """Without a Python no cure was proven, and what it would have cured was told beside it."""
    files = {"environment.yml": f"dependencies:\n- pytorch=2.5=*cpu*\n- cuda-version=12.4\n{python}"}
    assert causes(judged(files, *NEW)) == ["conda-resolved-cpu-build"]
