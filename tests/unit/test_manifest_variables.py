"""What pip and uv are told by variables, and what uv installs in place of what is asked for."""

from __future__ import annotations

import pytest

from tests.unit.test_manifest_pins import FITTING, PASCAL, TENSORFLOW
from tests.unit.test_manifest_troubles import SLIM_11, Files, causes, docker, judged

CU118 = "https://download.pytorch.org/whl/cu118"
PINNED = {"c.txt": f"{FITTING}\n", "o.txt": "nvidia-cudnn-cu12==8.9.7.29\n",
          "r.txt": "tensorflow-cpu==2.18.0\n", "l.txt": "torch==2.6.0+cpu\n"}
OLDER = ["cudnn-runtime-older-than-compiled"]
OLD_CUDNN = "torch==2.6.0 nvidia-cudnn-cu12==8.9.7.29"


def built(*lines: str) -> Files:
    return {**docker(SLIM_11, "COPY . /x/", *lines), **PINNED}


@pytest.mark.parametrize(("lines", "expected"), [
    ((f"RUN pip install {TENSORFLOW}",), ["cudnn-dropped-gpu"]),
    (("ENV PIP_CONSTRAINT=/x/c.txt", f"RUN pip install {TENSORFLOW}"), []),
    (("ARG PIP_CONSTRAINT=/x/c.txt", f"RUN pip install {TENSORFLOW}"), []),
    ((f"RUN PIP_CONSTRAINT=/x/c.txt pip install {TENSORFLOW}",), []),
    ((f"RUN env PIP_CONSTRAINT=/x/c.txt pip install {TENSORFLOW}",), []),
    ((f"RUN export PIP_CONSTRAINT=/x/c.txt && pip install {TENSORFLOW}",), []),
    (("RUN export PIP_CONSTRAINT=/x/c.txt", f"RUN pip install {TENSORFLOW}"), ["cudnn-dropped-gpu"]),
    (("ENV PIP_CONSTRAINT=/x/c.txt", f"RUN uv pip install --system {TENSORFLOW}"), ["cudnn-dropped-gpu"]),
    (("ENV UV_CONSTRAINT=/x/c.txt", f"RUN uv pip install --system {TENSORFLOW}"), []),
    (("ENV PIP_REQUIREMENT=/x/r.txt", "RUN pip install wheel"), ["cpu-only-build"]),
    (("ENV PIP_INDEX_URL=https://download.pytorch.org/whl/cpu", "RUN pip install torch"),
     ["cpu-only-build"]),
    (("RUN PIP_INDEX_URL=https://download.pytorch.org/whl/cpu pip install torch",), ["cpu-only-build"]),
    (("ENV UV_TORCH_BACKEND=cpu", "RUN uv pip install --system torch"), ["cpu-only-build"]),
    (("ENV UV_TORCH_BACKEND=cpu", "RUN uv pip install --system --torch-backend cu126 torch"), [])])
def test_variables_tell_pip_and_uv_what_options_do(lines: tuple[str, ...], expected: list[str]) -> None:
    """Regression: constraints that a variable names were not heeded, and uv was held to read those of pip."""
    assert causes(judged(built(*lines), *PASCAL, gpu=True)) == expected


@pytest.mark.parametrize(("lines", "expected"), [
    ((f"RUN uv pip install --system {OLD_CUDNN}",), ["requirements-contradict"]),
    ((f"RUN uv pip install --system --override /x/o.txt {OLD_CUDNN}",), OLDER),
    (("ENV UV_OVERRIDE=/x/o.txt", f"RUN uv pip install --system {OLD_CUDNN}"), OLDER),
    (("ENV UV_OVERRIDE=/x/o.txt", f"RUN pip install {OLD_CUDNN}"), ["requirements-contradict"]),
    (("RUN echo torch==2.6.0+cpu > /o && true", "COPY l.txt /o.txt",
      "RUN uv pip install --system --override=/o.txt torch==2.6.0"), ["cpu-only-build"])])
def test_an_override_of_uv_counts_in_place_of_what_is_asked_for(
        lines: tuple[str, ...], expected: list[str]) -> None:
    """Regression: what an override allows was called a contradiction. It may still be too old for torch."""
    assert causes(judged(built(*lines), gpu=True)) == expected


PROJECT = """[project]
name = "x"
version = "1"
requires-python = "==3.11.*"
dependencies = ["torch==2.6.0", "nvidia-cudnn-cu12==9.10.2.21"]
[tool.uv]
{}
"""


@pytest.mark.parametrize(("more", "expected"), [
    ("", ["requirements-contradict"]),
    ('override-dependencies = ["nvidia_cudnn_cu12==9.10.2.21"]', []),
    ('override-dependencies = ["nvidia-cudnn-cu12==9.5.0.50"]', []),  # also in place of the project's own
    ('override-dependencies = ["nvidia-cudnn-cu12==9.10.2.21", "torch==2.6.0+cpu"]', ["cpu-only-build"])])
def test_a_project_has_overrides_of_its_own(more: str, expected: list[str]) -> None:
    assert causes(judged({"pyproject.toml": PROJECT.format(more)}, gpu=True)) == expected


def test_a_project_has_constraints_of_its_own() -> None:
    text = PROJECT.format('constraint-dependencies = ["torch<2.6", "numpy<2"]')
    found = judged({"pyproject.toml": text.replace(', "nvidia-cudnn-cu12==9.10.2.21"', "")}, gpu=True)
    assert [(one.finding.cause, str(one.place)) for one in found.findings] == [
        ("requirements-contradict", "pyproject.toml:5:18")]


def test_the_platform_of_a_build_is_the_one_that_is_judged() -> None:
    """Regression: what `ARG TARGETARCH` decides was not judged, though builders give it its value."""
    branch = "pip install jax==0.5.3; else pip install 'jax[cuda12]==0.5.3'; fi"
    for test, expected in ((f'if [ "$TARGETARCH" = "amd64" ]; then {branch}', ["jax-cuda-plugin-missing"]),
                           (f"if [ ${{TARGETPLATFORM}} = linux/arm64 ]; then {branch}", [])):
        lines = ("FROM --platform=$BUILDPLATFORM python:3.12-slim", "ARG TARGETARCH TARGETPLATFORM")
        found = judged(docker(*lines, f"RUN {test}"), gpu=True)
        assert (causes(found), [note.said for note in found.notes if note.matters]) == (expected, [])
    line = f'RUN if [ "$TARGETARCH" = "amd64" ]; then {branch}'
    found = judged(docker("FROM python:3.12-slim", line), gpu=True)
    assert causes(found) == []  # without ARG it has none


@pytest.mark.parametrize(("lines", "said"), [
    (("ARG V", "RUN pip install torch==$V"), "--build-arg NAME=VALUE gives it one"),
    (("RUN V=$(cat v) && pip install torch==${V}",), "the shell works it out"),
    (("RUN pip install torch==$(cat v)",), "the shell works it out")])
def test_how_a_variable_gets_a_value_is_told(lines: tuple[str, ...], said: str) -> None:
    """Regression: an option of the build was named for what a command works out."""
    found = judged(docker(SLIM_11, *lines), gpu=True)
    assert [said in note.said for note in found.notes if note.matters] == [True]


def test_the_default_of_a_variable_without_value_counts() -> None:
    found = judged(docker("ARG TAG", "FROM nvidia/cuda:${TAG:-12.4.1-cudnn9-runtime-ubuntu22.04}"))
    assert causes(found) == ["image-not-published"]
