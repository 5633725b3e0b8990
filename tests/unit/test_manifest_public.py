"""Verdicts that were wrong on files as people publish them."""

from __future__ import annotations

import pytest

from tests.unit.test_manifest_troubles import SLIM_11, Files, causes, docker, judged

CU128 = "--index-url https://download.pytorch.org/whl/cu128"
CU118 = CU128.replace("128", "118")
BLACKWELL, ADA = ("driver=580.95.05", "cc=12.0"), ("driver=580.95.05", "cc=8.9")


def pytorch(tag: str) -> str:
    return f"FROM pytorch/pytorch:{tag}-runtime"


@pytest.mark.parametrize(("files", "host", "place"), [
    (docker(SLIM_11, f"RUN pip install torch==2.7.0 {CU118}"), ADA, "Dockerfile:2:17"),
    ({"r.txt": f"{CU128.replace('128', '111')}\ntorch==1.10.2+cu111\n"}, ADA, "r.txt:2:1"),
    (docker(pytorch("2.7.0-cuda11.8-cudnn9")), ADA, "Dockerfile:1:6"),
    (docker(pytorch("1.8.1-cuda11.1-cudnn8")), ADA, "Dockerfile:1:6")])
def test_the_device_code_of_another_build_is_not_taken_for_its_own(
        files: Files, host: tuple[str, ...], place: str) -> None:
    """Regression: torch 2.7.0 for CUDA 12.8 was held to have the code of the one for CUDA 12.6.

    Those builds are in the tables now, others are not.
    """
    for tag in ("2.7.0-cuda12.8-cudnn9", "2.8.0-cuda12.9-cudnn9"):
        known = judged(docker(pytorch(tag)), *BLACKWELL)
        assert (causes(known), [note for note in known.notes if "has code" in note.said]) == ([], [])
    found = judged(files, *host)
    assert causes(found) == []
    assert [str(note.place) for note in found.notes if "has code for the card" in note.said] == [place]
    assert causes(judged(docker(pytorch("2.7.0-cuda12.6-cudnn9")), *BLACKWELL)) == ["gpu-too-new-for-build"]
    assert [note.said for note in judged(docker(pytorch("2.8.0-cuda12.9-cudnn9"))).notes
            if "has code" in note.said] == []  # for whatever card


def test_a_file_for_python_2_is_judged() -> None:
    """Regression: it ended the command, for no environment of Python 2 can be made by it."""
    found = judged(docker("FROM python:2.7", "RUN pip install torch==1.4.0"), gpu=True)
    assert causes(found) == ["image-at-its-end"]
    assert [note.matters for note in found.notes] == [True]


JAX_NAMED = ("jax==0.5.0", "jaxlib==0.5.0", "jax-cuda12-pjrt==0.5.0", "jax-cuda12-plugin==0.5.0")
JAX_RELEASES = "-f https://storage.googleapis.com/jax-releases/jax_cuda_releases.html"


@pytest.mark.parametrize(("lines", "expected"), [
    ((*JAX_NAMED, "nvidia-cudnn-cu12==9.7.0.66"), []),
    ((*JAX_NAMED[:3], "jax-cuda12-plugin[with-cuda]==0.5.0"), []),
    (JAX_NAMED, []),  # with the CUDA of the machine
    (("jax[cuda12-local]==0.10.2",), []),
    ((JAX_RELEASES, "jax==0.4.26", "jaxlib==0.4.26+cuda12.cudnn89"), []),
    (("jax==0.5.0", "jaxlib==0.5.0", "nvidia-cudnn-cu12==9.7.0.66"), ["jax-cuda-plugin-missing"]),
    (("jax==0.5.0", "jax-cuda12-plugin==0.5.0; sys_platform == 'win32'"), ["jax-cuda-plugin-missing"])])
def test_jax_has_its_cuda_by_parts_that_stand_beside_it(lines: tuple[str, ...], expected: list[str]) -> None:
    """Regression: what pip-compile and `uv export` write of jax[cuda12] was called jax without its plugin."""
    found = judged({"r.txt": "".join(f"{line}\n" for line in lines)}, gpu=True)
    assert causes(found) == expected
    assert not any(note.matters for note in found.notes)


def test_jax_by_parts_is_judged_as_by_its_extra() -> None:
    files = {"r.txt": "jax==0.10.2\njax-cuda13-plugin[with-cuda]==0.10.2\n"}
    assert causes(judged(files, "driver=580.95.05", "cc=6.1")) == ["gpu-too-old-for-build"]
    assert causes(judged({"r.txt": "jax[cuda13]==0.10.2\n"}, "driver=580.95.05", "cc=6.1")) == [
        "gpu-too-old-for-build"]


def test_an_index_that_only_the_build_knows_is_none_that_is_known() -> None:
    """Regression: .../whl/cu$V was taken for the index cu, and for the CUDA of the default one."""
    lines = ("FROM nvidia/cuda:12.9.1-runtime-ubuntu24.04", "ARG V",
             "RUN pip install torch==2.11.0 --index-url https://download.pytorch.org/whl/cu${V}",
             "RUN pip install nvidia-nccl-cu12")
    found = judged(docker(*lines), gpu=True)
    assert causes(found) == []
    assert ["whl/cu${V}, of which nothing is known" in note.said for note in found.notes] == [True]


BIONIC = "FROM nvidia/cuda:11.8.0-cudnn8-runtime-ubuntu18.04"


@pytest.mark.parametrize(("files", "expected"), [
    ({"r.txt": "tensorflow[and-cuda]>=2.16.1\nprotobuf==4.25.8\n"}, []),
    (docker("FROM python:3.13-slim", "RUN pip install 'tensorflow[and-cuda]==2.20.0' protobuf==4.21.0"),
     ["requirements-contradict"]),
    # with Python 3.11 it needs another numpy than with 3.12
    ({"r.txt": "tensorflow[and-cuda]==2.16.1\nnumpy==1.24.3\n"}, ["pip-nvidia-libs-not-found"]),
    (docker(SLIM_11, "RUN pip install 'tensorflow[and-cuda]==2.16.1' numpy==1.24.3"),
     ["pip-nvidia-libs-not-found"]),
    ({"r.txt": "tensorflow[and-cuda]==2.15.1\nnumpy==2.1.0\n"}, ["requirements-contradict"]),
    ({"r.txt": "tensorflow[and-cuda]\nnumpy<1.26\n"}, []),
    (docker(BIONIC, "RUN apt-get install -y python3.8 && python3.8 -m pip install torch"),
     ["image-at-its-end", "cuda-versions-differ"]),
    (docker(BIONIC, "RUN apt-get install -y python3.12 && python3.12 -m pip install torch==2.9.0"),
     ["image-at-its-end", "glibc-too-old", "cuda-versions-differ"])])
def test_pip_goes_back_to_a_release_that_fits_what_else_is_there(files: Files, expected: list[str]) -> None:
    """Regression: of a bound the newest release was judged, also beside a pin that excludes it."""
    assert causes(judged(files, gpu=True)) == expected


CPU_INDEX = "--index-url https://download.pytorch.org/whl/cpu"


@pytest.mark.parametrize(("lines", "expected", "told"), [
    (("RUN pip install 'jax[cuda12]==0.5.3' tensorflow-cpu==2.18.0",), [], True),
    (("RUN pip install 'jax[cuda12]==0.5.3'", f"RUN pip install torch==2.6.0 {CPU_INDEX}"), [], True),
    (("RUN pip install torch==2.6.0 tensorflow-cpu==2.18.0",), [], True),
    (("RUN pip install tensorflow-cpu==2.18.0",), ["cpu-only-build"], False),
    ((f"RUN pip install tensorflow-cpu==2.18.0 && pip install torch==2.6.0 {CPU_INDEX}",),
     ["cpu-only-build", "cpu-only-build"], False),
    (("RUN pip install torch==2.6.0 jax==0.5.3",), ["jax-cuda-plugin-missing"], False),
    (("RUN pip install torch==2.6.0 'tensorflow[and-cuda]==2.18.0' tensorflow-cpu==2.18.0",),
     ["requirements-contradict", "mixed-tf-packages"], False)])
def test_what_is_for_the_cpu_by_name_may_be_so_beside_another_framework(
        lines: tuple[str, ...], expected: list[str], *, told: bool) -> None:
    """Regression: AlphaFold, openpi and others read their data with tensorflow-cpu, and compute with jax."""
    found = judged(docker(SLIM_11, *lines), gpu=True)
    assert causes(found) == expected
    assert any("taken to be meant so" in note.said for note in found.notes) is told
    assert not any(note.matters for note in found.notes)


LOCK = """version = 1
requires-python = "==3.11.*"
[[package]]
name = "own"
version = "1"
source = { editable = "." }
dependencies = [{ name = "torch" }, { name = "mediapipe" }]
[[package]]
name = "mediapipe"
version = "0.10.14"
source = { registry = "https://mirror.example/simple" }
dependencies = [{ name = "jax" }]
[[package]]
name = "jax"
version = "0.5.3"
source = { registry = "https://mirror.example/simple" }
[[package]]
name = "torch"
version = "2.6.0"
source = { registry = "https://mirror.example/simple" }
"""
OWN = '[project]\nname = "own"\nversion = "1"\ndependencies = [{}]\n'


@pytest.mark.parametrize(("own", "lock", "expected"), [
    ('"torch", "mediapipe"', LOCK, []),
    ('"torch", "jax"', LOCK.replace('"mediapipe" }]', '"jax" }]'), ["jax-cuda-plugin-missing"])])
def test_jax_that_another_package_brings_may_compute_on_the_cpu(
        own: str, lock: str, expected: list[str]) -> None:
    """Regression: InvokeAI, which computes with torch, was told that the jax of mediapipe has no plugin."""
    assert causes(judged({"uv.lock": lock}, gpu=True)) == expected
    files = {**docker(SLIM_11, "COPY . .", "RUN uv sync --frozen"), "uv.lock": lock,
             "pyproject.toml": OWN.format(own)}
    assert causes(judged(files, gpu=True)) == expected
