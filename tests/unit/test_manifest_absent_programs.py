"""pip in an image without a Python: found where nothing can have brought one, silent where something may."""

from __future__ import annotations

import pytest

from tests.unit.test_manifest_troubles import causes, docker, judged

CUDA, LACKS = "FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04", "python-not-in-image"
PIP = "RUN pip install six"


@pytest.mark.parametrize(("lines", "place"), [
    ((CUDA, PIP), "Dockerfile:2:5"),
    ((CUDA, "RUN apt-get update && apt-get install -y --no-install-recommends git curl", "COPY . /app", PIP),
     "Dockerfile:4:5"),
    ((CUDA, "ENV A=b", "RUN set -ex; mkdir /a; python3 -m pip install six"), "Dockerfile:3:24"),
    (("FROM ubuntu:24.04", "RUN bash -c 'apt-get update && pip3 install six'"), "Dockerfile:2:32"),
    (("FROM debian:12-slim AS base", "FROM base", "RUN PIP_NO_INPUT=1 pip install six"), "Dockerfile:3:20"),
    ((f"{CUDA} AS a", PIP, "FROM python:3.12-slim", "COPY --from=a /x /x", PIP), "Dockerfile:2:5"),
    ((CUDA, "RUN pip --version", PIP), "Dockerfile:3:5"),
    ((CUDA, PIP, "RUN apt-get install -y python3-pip", PIP), "Dockerfile:2:5")])
def test_pip_is_found_where_nothing_before_can_have_brought_one(lines: tuple[str, ...], place: str) -> None:
    """It said nothing, and the build ends with "pip: not found"."""
    found = judged(docker(*lines), whole=True).findings
    [one] = [one for one in found if one.finding.cause == LACKS]
    assert str(one.place) == place
    assert lines[0].split()[1] in one.finding.message


@pytest.mark.parametrize("lines", [
    (CUDA, "RUN apt-get update && apt-get install -y python3-pip && pip install six"),
    (CUDA, "RUN apt-get install -y python3 python3-venv && python3 -m venv /v", "ENV PATH=/v/bin:$PATH", PIP),
    (CUDA, "RUN apt-get install -y $PACKAGES", PIP), (CUDA, "RUN ./install.sh", PIP),
    (CUDA, "RUN curl -fsSL https://example.org/get-pip.py | python3", PIP),
    (CUDA, "RUN curl -O https://example.org/Miniconda3.sh && bash Miniconda3.sh -b -p /opt/conda", PIP),
    (CUDA, "RUN if [ -n \"$A\" ]; then apt-get install -y python3-pip; fi", PIP),
    (CUDA, "COPY --from=python:3.12 /usr/local /usr/local", PIP), (CUDA, "COPY tools /usr/local/bin/", PIP),
    (CUDA, "ADD python.tar.gz /", PIP), (CUDA, "RUN /opt/venv/bin/pip install six"),
    (CUDA, "RUN --mount=from=ghcr.io/astral-sh/uv,source=/uv,target=/bin/uv pip install six"),
    (CUDA, "RUN apt-get install -y ./all.deb", PIP), (CUDA, "RUN which pip && pip install six"),
    ("FROM python:3.12-slim", PIP), ("FROM nvcr.io/nvidia/pytorch:25.01-py3", PIP), ("FROM x/cuda:1", PIP),
    ("FROM pytorch/pytorch:2.6.0-cuda12.4-cudnn9-runtime", PIP), ("FROM ${BASE}", PIP),
    (CUDA, "CMD pip install six"), (CUDA, "RUN command -v pip || apt-get install -y python3-pip", PIP),
    (CUDA, "RUN pip --version || (apt-get update && apt-get install -y python3-pip)", PIP),
    (CUDA, "RUN if [ -n \"$A\" ]; then pip install six; fi"),
    (CUDA, "RUN if ! pip3 --version; then apt-get install -y python3-pip; fi", PIP),
    ("FROM nvidia/cuda:12.4.1-base-ubi9", PIP)])
def test_where_something_may_have_brought_one_nothing_is_said(lines: tuple[str, ...]) -> None:
    assert LACKS not in causes(judged(docker(*lines), whole=True))
