"""What one environment has twice: modules of two distributions, two CUDA, a driver beside the host's."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from gpudoctor.manifests import rewrites
from gpudoctor.manifests.judging import Verdicts
from tests.unit.test_manifest_troubles import SLIM, Files, causes, docker, judged

BASE = "FROM nvidia/cuda:12.4.1-base-ubuntu22.04"
CUPY = "cupy-cuda{}x==13.3.0\ntensorflow[and-cuda]==2.20.0\n"


def listed(*lines: str) -> Files:
    return {"requirements.txt": "".join(f"{line}\n" for line in lines)}


@pytest.mark.parametrize(("lines", "cause"), [
    (("onnxruntime==1.20.0", "onnxruntime-gpu==1.20.0"), "wheel-file-collision"),
    (("opencv-python", "six", "opencv-contrib-python-headless>=4"), "wheel-file-collision"),
    (("tensorflow==2.20.0", "tensorflow-gpu==2.11.0"), "wheel-file-collision"),
    (("torch==2.9.0", "nvidia-cublas-cu11==11.11.3.6"), "cuda-versions-differ"),
    (("tensorflow[and-cuda]==2.20.0", "cupy-cuda11x==13.3.0"), "cuda-versions-differ")])
def test_two_of_one_kind_are_found_at_the_last(lines: tuple[str, ...], cause: str) -> None:
    found = judged(listed(*lines), gpu=True)
    assert causes(found) == [cause]
    assert found.findings[0].place.line == len(lines)


@pytest.mark.parametrize("lines", [
    ("onnxruntime-gpu==1.20.0", "opencv-python"), ("opencv-python-headless", "six"),
    ("torch==2.9.0", "nvidia-nccl-cu12"), ("tensorflow[and-cuda]==2.20.0", "cupy-cuda12x==13.3.0"),
    ("cupy-cuda11x==13.3.0", "six")])
def test_one_of_each_kind_is_left_alone(lines: tuple[str, ...]) -> None:
    assert causes(judged(listed(*lines), gpu=True)) == []


def test_a_toolkit_of_apt_for_another_cuda_than_the_image_is_found() -> None:
    other = judged(docker(BASE, "RUN apt-get install -y cuda-toolkit-11-8"))
    assert causes(other) == ["cuda-versions-differ"]
    assert str(other.findings[0].place) == "Dockerfile:2:24"
    assert causes(judged(docker(BASE, "RUN apt-get install -y cuda-toolkit-12-6"))) == []


APT = "RUN apt-get update && apt-get install -y {}"
RUN_FILE = "RUN wget https://x/NVIDIA-Linux-x86_64-{0}.run && sh ./NVIDIA-Linux-x86_64-{0}.run --silent"
OLDER, NEWER = ["driver-in-image"], ["driver-in-image-newer"]  # than the host's 545.23.08, as far as is known


@pytest.mark.parametrize(("line", "expected"), [
    (APT.format("nvidia-driver-535-server-open"), OLDER), (APT.format("nvidia-driver-550"), NEWER),
    (APT.format("libnvidia-compute-545=545.23.06-0ubuntu1"), OLDER),
    (APT.format("libnvidia-compute-545=545.29.02-0ubuntu1"), NEWER),
    (APT.format("nvidia-utils-550:amd64"), NEWER), (APT.format("cuda-drivers-550"), NEWER),
    (APT.format("cuda-drivers"), OLDER), (APT.format("libcuda1"), OLDER), (APT.format("cuda"), OLDER),
    (APT.format("cuda-12-3"), OLDER), (APT.format("cuda-12-4"), NEWER),
    (APT.format("cuda-runtime-12-4"), NEWER),
    (APT.format("nvidia-driver-535 libnvidia-compute-550"), [*OLDER, *NEWER]),
    (APT.format("cuda cuda-drivers"), OLDER * 2), (APT.format("cuda-12-4 cuda-12-6"), NEWER * 2),
    ("RUN dnf module install -y nvidia-driver:latest-dkms", OLDER),
    ("RUN dnf install -y nvidia-driver-cuda-560.35.03", NEWER),
    (RUN_FILE.format("535.104.05"), OLDER), (RUN_FILE.format("550.54.14"), NEWER),
    ("RUN ./NVIDIA-Linux-x86_64-$V.run --no-kernel-module", OLDER)])
def test_a_driver_in_an_image_is_found_and_held_against_the_hosts(line: str, expected: list[str]) -> None:
    found = judged(docker(SLIM, line), "driver=545.23.08", "cc=8.9")
    assert causes(found) == expected
    assert found.findings[0].place.line == 2


def rewritten(files: dict[str, str]) -> str:
    """Return the Dockerfile with what `--fix` would change."""
    def judge_again(texts: Mapping[str, str]) -> Verdicts:
        return judged(texts, "driver=545.23.08", "cc=8.9")

    changes = rewrites.proven(judge_again(files).findings, files, judge_again)
    return rewrites.applied(files, changes)["Dockerfile"]


@pytest.mark.parametrize(("package", "instead"), [
    ("cuda-12-4", "cuda-toolkit-12-4"), ("cuda-12-3=12.3.2-1", "cuda-toolkit-12-3=12.3.2-1"),
    ("'cuda-12-4'", "'cuda-toolkit-12-4'"), ("cuda-runtime-12-4", "cuda-libraries-12-4"),
    ("cuda=12.4.*", "cuda-toolkit-12-4=12.4.*"), ("cuda-12-4:amd64", "cuda-toolkit-12-4:amd64"),
    ("cuda-12-4-12.4.1-1.x86_64", "cuda-toolkit-12-4-12.4.1-1.x86_64")])
def test_a_toolkit_takes_the_place_of_a_package_with_a_driver(package: str, instead: str) -> None:
    """Of the same release, as its name or its pin says it; the rest of the line stays."""
    files = docker(SLIM, APT.format(f"wget {package} && ldconfig"))
    assert rewritten(files) == files["Dockerfile"].replace(package, instead)


@pytest.mark.parametrize(("packages", "instead"), [
    ("cuda-12-4 cuda-drivers", "cuda-toolkit-12-4 cuda-drivers"),
    ("nvidia-driver-550 wget cuda-12-4", "nvidia-driver-550 wget cuda-toolkit-12-4"),
    ("cuda-12-4 cuda-12-6", "cuda-toolkit-12-4 cuda-toolkit-12-6")])
def test_of_several_packages_with_a_driver_each_is_changed_that_can_be(packages: str, instead: str) -> None:
    """One finding spoke of the newest alone, and no change of one package made it go."""
    files = docker(SLIM, APT.format(packages))
    assert rewritten(files) == files["Dockerfile"].replace(packages, instead)
    left = judged({"Dockerfile": rewritten(files)}, "driver=545.23.08", "cc=8.9", gpu=True).findings
    assert all("Leave" in fix.title for one in left for fix in one.finding.fixes
               if one.finding.cause in (*OLDER, *NEWER))


@pytest.mark.parametrize("line", [
    APT.format("cuda"), APT.format("nvidia-driver-550"), APT.format("cuda-drivers-550"),  # of no release
    APT.format("cuda cuda-drivers"),
    f"ENV V=12-4\n{APT.format('cuda-$V')}", "RUN for p in cuda-12-4; do apt-get install -y $p; done"])
def test_a_driver_that_no_name_can_take_out_stays(line: str) -> None:
    files = docker(SLIM, line)
    assert rewritten(files) == files["Dockerfile"]


@pytest.mark.parametrize("line", [
    APT.format("cuda-toolkit-12-4"), APT.format("nvidia-container-toolkit"), APT.format("libcudnn9-cuda-12"),
    APT.format("wget"), "RUN wget https://x/NVIDIA-Linux-x86_64-550.54.14.run && ls",
    "RUN sh NVIDIA-Linux-x86_64-550.54.14.run --extract-only", "RUN apt-get purge -y nvidia-driver-550",
    "RUN if [ $X ]; then apt-get install -y nvidia-driver-550; fi"])
def test_what_lays_no_driver_into_an_image_is_left_alone(line: str) -> None:
    assert causes(judged(docker(SLIM, line), "driver=545.23.08", "cc=8.9", gpu=True)) == []


def test_the_driver_of_a_stage_that_is_not_built_on_does_not_count() -> None:
    files = docker("FROM ubuntu:22.04 AS b", APT.format("nvidia-driver-550"), SLIM)
    assert causes(judged(files, gpu=True)) == []


@pytest.mark.parametrize("line", [APT.format("nvidia-driver-$V"),
                                  "RUN if [ $X ]; then apt-get install -y nvidia-driver-550; fi"])
def test_a_driver_that_only_the_build_knows_of_is_a_note(line: str) -> None:
    found = judged(docker(SLIM, line), gpu=True)
    assert [one.matters for one in found.notes if "lays a driver into the image" in one.said] == [False]
