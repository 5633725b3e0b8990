"""What keeps a container from the driver's own libraries, as files say it: a search path, capabilities."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from gpudoctor.manifests import rewrites
from gpudoctor.manifests.judging import Verdicts
from tests.unit.test_manifest_troubles import Files, causes, docker, judged

CUDA_122 = "FROM nvidia/cuda:12.2.2-cudnn8-devel-ubuntu22.04"
TORCH = "RUN pip install torch==2.5.1"
COMPAT = "ENV LD_LIBRARY_PATH=/usr/local/cuda/compat:/usr/local/cuda/lib64"
STUBS = "ENV LD_LIBRARY_PATH=/usr/local/cuda/lib64/stubs"
LINK = "RUN ln -s /usr/local/cuda/lib64/stubs/libcuda.so /usr/local/cuda/lib64/stubs/libcuda.so.1"
R580, R525 = ("driver=580.95.05", "cc=8.9"), "driver=525.60.13"
COMPOSE = """services:
  a:
    image: pytorch/pytorch:2.6.0-cuda12.4-cudnn9-runtime
    deploy: {{resources: {{reservations: {{devices: [{{capabilities: {}}}]}}}}}}
"""
WINDOWS = """# a\r
services:\r
  a:\r
    image: tensorflow/tensorflow:2.17.0-gpu\r
    gpus:\r
    - capabilities:\r
      - gpu\r
      -  "utility"   # smi\r
      # end\r
"""
# name: the file, the host, and the cause with its place; none where it is sound
CASES: Mapping[str, tuple[Files, tuple[str, ...], list[tuple[str, str]]]] = {
    "compat of an older driver": (
        docker(CUDA_122, COMPAT, TORCH), R580, [("cuda-compat-shadows-libcuda", "Dockerfile:2:5")]),
    "by another path to it": (
        docker(CUDA_122, "ENV LD_LIBRARY_PATH /usr/local/cuda-12.2/compat/", TORCH), R580,
        [("cuda-compat-shadows-libcuda", "Dockerfile:2:5")]),
    "of a package": (
        docker("FROM ubuntu:22.04", "RUN apt-get install -y cuda-compat-12-2",
               "ENV LD_LIBRARY_PATH=/usr/local/cuda-12.2/compat", TORCH), R580,
        [("cuda-compat-shadows-libcuda", "Dockerfile:3:5")]),
    "of another package": (
        docker("FROM ubuntu:22.04", "RUN apt-get install -y cuda-compat-12-2",
               "ENV LD_LIBRARY_PATH=/usr/local/cuda-12.4/compat", TORCH), R580, []),
    "compat of a newer driver on a GeForce": (
        docker(CUDA_122, COMPAT, TORCH), (R525, "card=RTX 3090"),
        [("forward-compat-on-unsupported-gpu", "Dockerfile:2:5")]),
    "behind the driver's folder": (
        docker(CUDA_122, "ENV LD_LIBRARY_PATH=/usr/lib/x86_64-linux-gnu:/usr/local/cuda/compat", TORCH),
        R580, []),
    "in an image without it": (docker("FROM python:3.11-slim", COMPAT, TORCH), R580, []),
    "not searched": (docker(CUDA_122, TORCH), R580, []),
    "a link to the stub": (
        docker(CUDA_122, STUBS, LINK, TORCH), R580, [("libcuda-stub-loaded", "Dockerfile:2:5")]),
    "a link that is taken away": (
        docker(CUDA_122, STUBS, LINK, "RUN rm /usr/local/cuda/lib64/stubs/libcuda.so.1", TORCH), R580, []),
    "a link that is not searched": (docker(CUDA_122, LINK, TORCH), R580, []),
    "utility alone": (
        {"compose.yaml": COMPOSE.format("[gpu, utility]")}, R580,
        [("docker-driver-capabilities", "compose.yaml:4:72")]),
    "utility without a word of a GPU": (
        {"compose.yaml": COMPOSE.format("[utility]")}, R580,
        [("docker-driver-capabilities", "compose.yaml:4:67")]),
    "over the variable": (
        {"compose.yaml": COMPOSE.format("[utility]") + "    environment: [NVIDIA_DRIVER_CAPABILITIES=all]\n"},
        R580, [("docker-driver-capabilities", "compose.yaml:4:67")]),
    "the short form": (
        {"compose.yaml": "services:\n  a:\n    image: pytorch/pytorch:2.6.0-cuda12.4-cudnn9-runtime\n"
                         "    gpus:\n    - capabilities: [video]\n"}, R580,
        [("docker-driver-capabilities", "compose.yaml:5:22")]),
    "both": ({"compose.yaml": COMPOSE.format("[gpu, compute, utility]")}, R580, []),
    "a GPU, and no capability of the driver": ({"compose.yaml": COMPOSE.format("[gpu]")}, R580, []),
}


@pytest.mark.parametrize("name", CASES)
def test_what_hides_the_drivers_libraries_is_found_and_nothing_else(name: str) -> None:
    files, host, expected = CASES[name]
    found = judged(files, *host)
    assert [(one.finding.cause, str(one.place)) for one in found.findings] == expected


@pytest.mark.parametrize(("text", "changed"), [
    (COMPOSE.format("[gpu, utility]  # smi\n"), ("[gpu, utility]", "[gpu, compute, utility]")),
    (COMPOSE.format("[ gpu,'utility' ]"), ("'utility'", "'compute', 'utility'")),
    (COMPOSE.format("[graphics, gpu]"), ("[graphics", "[compute, utility, graphics")),
    (WINDOWS, ('      -  "utility"', '      -  "compute"\r\n      -  "utility"'))])
def test_a_list_of_capabilities_is_added_to_as_it_is_written(text: str, changed: tuple[str, str]) -> None:
    """Quotes, comments and line ends stay; nothing but the items is new."""
    def judge_again(texts: Mapping[str, str]) -> Verdicts:
        return judged(texts, *R580)

    files = {"compose.yaml": text}
    after = rewrites.applied(files, rewrites.proven(judge_again(files).findings, files, judge_again))
    assert after["compose.yaml"] == text.replace(*changed)
    assert causes(judge_again(after)) == []


@pytest.mark.parametrize(("lines", "host", "matters", "words"), [
    ((CUDA_122, COMPAT, TORCH), (R525, "card=L4"), True, "of the driver 535"),
    ((CUDA_122, COMPAT, TORCH), ("driver=535.104.05", "cc=8.9"), True, "whether the two fit"),
    ((CUDA_122, STUBS, TORCH), R580, False, "libcuda.so, without .1")])
def test_what_is_not_known_of_another_libcuda_is_said(
    lines: tuple[str, ...], host: tuple[str, ...], matters: bool, words: str,
) -> None:
    found = judged(docker(*lines), *host)
    assert causes(found) == []
    [note] = [one for one in found.notes if words in one.said]
    assert (str(note.place), note.matters) == ("Dockerfile:2:5", matters)
