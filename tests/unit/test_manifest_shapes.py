"""Files of the shapes that projects really have: nothing is wrong with them, and nothing is said."""

from __future__ import annotations

import time

import pytest

from gpudoctor.manifests import kinds
from gpudoctor.manifests.spans import Source
from tests.unit.test_manifest_troubles import causes, judged

SERVER = r"""# Shape of a serving image: builder with a toolkit, conda, final runtime
ARG PYTORCH_VERSION=2.5.1
ARG CUDA_VERSION=12.4.1
FROM nvidia/cuda:${CUDA_VERSION}-devel-ubuntu22.04 AS pytorch-install
ARG PYTHON_VERSION=3.11
ARG PYTORCH_VERSION
ENV PATH=/opt/conda/bin:$PATH
RUN --mount=type=cache,target=/var/cache/apt \
    apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
        build-essential curl git && \
        rm -rf /var/lib/apt/lists/*
RUN curl -fsSL -o ~/mamba.sh "https://example.org/installer-$(uname -m).sh" && \
    chmod +x ~/mamba.sh && ~/mamba.sh -b -p /opt/conda
RUN case "$(uname -m)" in \
         aarch64)  exit 1 ;; \
         *)        /opt/conda/bin/conda install -y -c pytorch pytorch=$PYTORCH_VERSION \
            "pytorch-cuda=12.4" ;; \
    esac
FROM pytorch-install AS kernels
RUN pip install ninja packaging && \
    TORCH_CUDA_ARCH_LIST="8.0;9.0" pip install flash-attn==2.6.1 --no-build-isolation
FROM nvidia/cuda:12.4.1-base-ubuntu22.04 AS base
ENV NVIDIA_VISIBLE_DEVICES=all LD_LIBRARY_PATH="$LD_LIBRARY_PATH:/usr/local/nvidia/lib:/opt/conda/lib"
COPY --from=pytorch-install /opt/conda /opt/conda
COPY --from=kernels /usr/src/build/lib.linux-x86_64-cpython-311 /opt/conda/lib/python3.11/site-packages
RUN cd server && pip install -r requirements_cuda.txt && pip install ".[bnb, accelerate]" --no-cache-dir
ENTRYPOINT ["./entrypoint.sh"]
"""
WITH_UV = r"""# syntax=docker/dockerfile:1.7
FROM ghcr.io/astral-sh/uv:0.5 AS uv
FROM nvidia/cuda:12.6.3-cudnn-runtime-ubuntu24.04
COPY --from=uv /uv /bin/uv
ENV UV_SYSTEM_PYTHON=1 UV_PYTHON=3.12 NVIDIA_DRIVER_CAPABILITIES=compute,utility
WORKDIR /app
RUN uv venv /opt/venv && . /opt/venv/bin/activate && \
    uv pip install "torch==2.9.0" --index-url https://download.pytorch.org/whl/cu126 && \
    uv pip install 'jax[cuda12]==0.5.3' "numpy<3,>=1.26" && python - <<'PY'
import torch; print(torch.__version__ >= "2")
PY
CMD ["python", "-c", "import torch"]
"""
NOTEBOOK = r"""ARG REGISTRY=quay.io
ARG BASE=$REGISTRY/jupyter/scipy-notebook
FROM $BASE
LABEL maintainer="x"
SHELL ["/bin/bash", "-o", "pipefail", "-c"]
RUN pip install --no-cache-dir \
    --extra-index-url=https://download.pytorch.org/whl/cu124 'torch==2.6.0' 'torchvision' && \
    pip install --no-cache-dir "tensorflow[and-cuda]==2.18.0" jupyter-server-proxy && \
    fix-permissions "${CONDA_DIR}"
"""
OF_ANOTHER_MAKER = r"""FROM rocm/pytorch:latest
RUN pip3 install --upgrade torch --index-url https://download.pytorch.org/whl/rocm6.2 2>&1 | \
    tee log && echo "a>=b" > /x
HEALTHCHECK --interval=5s CMD curl -f http://localhost/ || exit 1
ONBUILD RUN pip install x>=1
"""
DEPLOYMENT = r"""apiVersion: apps/v1
kind: Deployment
metadata: {name: a}
spec:
  template:
    spec:
      runtimeClassName: nvidia
      containers:
        - name: t
          image: nvcr.io/nvidia/pytorch:24.05-py3
          resources: {limits: {nvidia.com/gpu: "1"}}
---
apiVersion: v1
kind: Service
spec: {ports: []}
"""


@pytest.mark.parametrize(("name", "text"), [
    ("server.Dockerfile", SERVER), ("uv.Dockerfile", WITH_UV), ("notebook.Dockerfile", NOTEBOOK),
    ("rocm.Dockerfile", OF_ANOTHER_MAKER), ("deployment.yaml", DEPLOYMENT),
])
def test_what_projects_really_write_is_left_alone(name: str, text: str) -> None:
    """Builders with a toolkit, conda, uv, here-documents, images of others, another maker's cards."""
    found = judged({name: text}, "driver=595.45.04")
    assert (causes(found), found.undecided) == ([], ())


def test_a_thousand_times_as_many_stages_are_no_million_times_the_work() -> None:
    """Regression: each FROM was held against all stages before it; this took 30 seconds."""
    begun = time.process_time()
    [built] = kinds.environments(Source("Dockerfile", "FROM x AS a\nFROM A\n" * 15_000), lambda _: None)
    assert built.name == "stage 29999"
    assert time.process_time() - begun < 10
