"""Variables that are there for the sake of a GPU, or keep it away: a Dockerfile and compose say the same."""

from __future__ import annotations

import pytest

from gpudoctor.manifests import kinds
from gpudoctor.manifests.spans import Source
from gpudoctor.manifests.statements import Environment

FILES = {
    "Dockerfile": "FROM python:3.12-slim\nENV {}={}\n",
    "compose.yaml": "services:\n  a:\n    image: python:3.12-slim\n    environment: {{{}: '{}'}}\n",
}


def with_variable(file: str, name: str, value: str) -> Environment:
    (found,) = kinds.environments(Source(file, FILES[file].format(name, value)), lambda _: None)
    return found


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize(("name", "value"), [
    ("NVIDIA_VISIBLE_DEVICES", "all"), ("NVIDIA_DRIVER_CAPABILITIES", "compute"),
    ("NVIDIA_REQUIRE_CUDA", "cuda>=12.4")])
def test_a_variable_of_the_driver_is_a_sign(file: str, name: str, value: str) -> None:
    """Compose was not read for NVIDIA_REQUIRE_CUDA."""
    found = with_variable(file, name, value)
    assert ([wish.why for wish in found.wishes], found.refuses_gpu) == ([f"{name} is set"], False)


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize(("name", "value"), [
    ("CUDA_VISIBLE_DEVICES", "-1"), ("CUDA_VISIBLE_DEVICES", ""), ("NVIDIA_VISIBLE_DEVICES", "void"),
    ("NVIDIA_VISIBLE_DEVICES", "none")])
def test_a_variable_keeps_the_gpu_away(file: str, name: str, value: str) -> None:
    assert with_variable(file, name, value).refuses_gpu
