r"""Versions are of ASCII digits: `\d` takes those of every script, and no version is read of them."""

from __future__ import annotations

import pytest

from gpudoctor.manifests.spans import ManifestError
from tests.unit.test_manifest_troubles import SLIM_11, Files, causes, docker, judged

TWO, THREE, EIGHT = "\u0662", "\u0663", "\u0668"  # Arabic-Indic


def conda(*packages: str) -> Files:
    return {"environment.yml": "\n- ".join(("dependencies:", *packages)) + "\n"}


@pytest.mark.parametrize("files", [
    {"r.txt": f"--index-url https://download.pytorch.org/whl/cu1{THREE}0\ntorch==2.8.0\n"},
    *(docker(SLIM_11, f"RUN {command}") for command in (
        f"uv pip install --system torch --torch-backend=cu1{THREE}0",
        f"apt-get install -y cuda-toolkit-1{TWO}-4",
        f"conda install -c nvidia/label/cuda-1{TWO}.1 cuda pytorch=2.{EIGHT}",
        f"python3.1{TWO} -m pip install torch==2.8.0")),
    *(conda("pytorch", package) for package in (
        f"cudatoolkit=1{TWO}.8", f"pytorch-cuda=1{TWO}.8", f"python=3.1{TWO}")),
    conda(f"pytorch=2.5=py3.12_cuda1{TWO}.1_cudnn9"),
], ids=str)
def test_digits_of_another_script_are_no_version(files: Files) -> None:
    """Regression: lint ended with exit code 5 on each."""
    assert causes(judged(files, "driver=580.95.05", "cc=8.9", gpu=True)) == []


def test_a_bound_on_python_of_another_script_is_none() -> None:
    text = f'[project]\nrequires-python = "==3.1{TWO}.*"\ndependencies = ["torch==2.8.0"]\n'
    with pytest.raises(ManifestError, match="is no bound on a version of Python"):
        judged({"pyproject.toml": text}, "driver=580.95.05", "cc=8.9")
