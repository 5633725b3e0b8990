"""Extras that no index can serve, and names that the index only reserves: what the wheels themselves say."""

from __future__ import annotations

import pytest

from tests.unit.test_manifest_troubles import causes, docker, judged

SLIM_310, SLIM_311 = "FROM python:3.10-slim", "FROM python:3.11-slim"
REFUSED = "extra-not-installable"
NVIDIAS = "--extra-index-url https://pypi.nvidia.com"


@pytest.mark.parametrize(("files", "instead"), [
    ({"requirements.txt": "six\ntensorflow[and-cuda]==2.15.0\n"}, "2.15.0.post1"),
    (docker(SLIM_311, "RUN pip install 'tensorflow[and-cuda]==2.14.1'"), "2.15.0.post1"),
    (docker(SLIM_311, "RUN pip install 'tensorflow[and-cuda]>=2.14,<2.15'"), "2.15.0.post1"),
])
def test_a_refused_extra_has_a_release_that_can_be_installed(files: dict[str, str], instead: str) -> None:
    """Regression: `tensorflow[and-cuda]==2.15.0` was called sound, and pip ends with an error."""
    found = judged(files)
    assert causes(found) == [REFUSED]
    assert instead in found.findings[0].finding.fixes[0].title


@pytest.mark.parametrize("files", [
    {"requirements.txt": "tensorflow[and-cuda]==2.15.1\n"},
    {"requirements.txt": "tensorflow[and-cuda]~=2.15.0\n"},  # pip takes 2.15.1
    {"requirements.txt": "tensorflow[and-cuda]==2.14.1\n"},  # the Python is not known: 3.10 would do
    {"requirements.txt": f"{NVIDIAS}\ntensorflow[and-cuda]==2.15.0\n"},
    {"requirements.txt": "tensorflow==2.15.0\n"},
    docker(SLIM_310, "RUN pip install 'tensorflow[and-cuda]==2.14.1'"),
])
def test_what_pip_can_install_is_not_refused(files: dict[str, str]) -> None:
    assert REFUSED not in causes(judged(files))


@pytest.mark.parametrize(("name", "nearest"), [
    ("tensorflow-cuda13", "tensorflow[and-cuda]"),
    ("nvidia-cublas-cu13", "nvidia-cublas"),
    ("nvidia-cuda-runtime-cu13", "nvidia-cuda-runtime"),
])
def test_a_name_that_is_only_reserved_is_told(name: str, nearest: str) -> None:
    """Regression: tensorflow-cuda13 0.0.1rc1 was called a build for CUDA 13; it holds one line of code."""
    found = judged({"requirements.txt": f"{name}\n"})
    assert causes(found) == ["distribution-misnamed"]
    assert found.findings[0].finding.fixes[0].title.endswith(nearest)


def test_no_fix_names_an_extra_that_pip_refuses() -> None:
    """Regression: who has 2.15.0 was told to install `tensorflow[and-cuda]==2.15.0`."""
    found = judged(docker("FROM nvidia/cuda:12.2.0-base-ubuntu22.04", "RUN pip3 install tensorflow==2.15.0"))
    (trouble,) = [one.finding for one in found.findings
                  if one.finding.cause == "pip-nvidia-libs-not-installed"]
    said = " ".join(command for fix in trouble.fixes for command in fix.commands)
    assert "nvidia-cudnn-cu12==8.9.4.25" in said
    assert "[and-cuda]==2.15.0" not in said
    assert "tensorrt" not in said
