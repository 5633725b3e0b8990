"""What a file could ask for instead where the driver is too old for it, and what of it is written."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from gpudoctor.manifests import rewrites
from gpudoctor.manifests.judging import Verdicts
from tests.unit.test_manifest_troubles import causes, docker, judged

OLD, OLDER = ("driver=535.104.05", "cc=8.0"), ("driver=470.82.01", "cc=8.0")
SLIM = "FROM python:3.12-slim"
INDEX = "--index-url https://download.pytorch.org/whl/"


def first_fix(files: Mapping[str, str], *host: str) -> str:
    """Return the first fix of the first finding."""
    return judged(files, *host, gpu=True).findings[0].finding.fixes[0].title


@pytest.mark.parametrize(("line", "host", "instead"), [
    ("torch==2.9.1+cu130", OLD, "torch==2.9.1: the same release"),
    (f"{INDEX}cu130\ntorch==2.9.1", OLD, "torch==2.9.1+cu126: the same release"),
    ("torch", OLD, "torch==2.14.1+cu126: the newest release that fits"),
    ("torch>=2.10", OLDER, "torch==2.6.0+cu118: the newest release that fits"),
    ("torch<2.2", OLDER, "torch==2.1.2+cu118: the same release"),
    ("torch==2.4.1\ntorchvision==0.19.1", OLDER, "torch==2.4.1+cu118: the same release"),
    ("torch==2.7.1\ntorchvision==0.22.1", OLDER, "torch==2.6.0+cu118, and for torchvision of the same time"),
    ("jax[cuda13]==0.12.0", OLD, "jax[cuda12]==0.12.0: the same release"),
    ("jax\njax-cuda13-plugin[with-cuda]", OLD, "jax[cuda12]==0.12.0.1 in place of jax-cuda13-plugin"),
    ("tensorflow[and-cuda]==2.20.0", OLDER, "tensorflow==2.13.1: the newest release that fits"),
])
def test_a_list_for_a_newer_driver_is_told_what_this_one_runs(line: str, host: tuple[str, ...], instead: str
                                                              ) -> None:
    """Regression: where no Python was named, a newer driver was the only way out."""
    assert first_fix({"requirements.txt": f"six\n{line}\n"}, *host).startswith(f"Ask for {instead}")


@pytest.mark.parametrize(("image", "instead"), [
    ("nvidia/cuda:12.8.1-cudnn-devel-ubuntu22.04", "nvidia/cuda:12.2.2-cudnn8-devel-ubuntu22.04"),
    ("nvidia/cuda:13.0.0-runtime-ubuntu24.04", "nvidia/cuda:12.2.2-runtime-ubuntu22.04"),
    ("nvidia/cuda:12.8.1-base-rockylinux9", "nvidia/cuda:12.2.2-base-rockylinux9"),
    ("nvidia/cuda:13.0.0-runtime-rockylinux10", "nvidia/cuda:12.2.2-runtime-rockylinux9"),
    ("pytorch/pytorch:2.9.1-cuda13.0-cudnn9-runtime", "pytorch/pytorch:2.9.1-cuda12.8-cudnn9-runtime"),
    ("nvcr.io/nvidia/pytorch:25.10-py3", "nvcr.io/nvidia/pytorch:23.10-py3"),
])
def test_an_image_for_a_newer_driver_is_told_another(image: str, instead: str) -> None:
    """Regression: "take an image for a CUDA that this driver runs", and none was named."""
    files = docker(f"FROM {image}")
    assert first_fix(files, "driver=535.104.05", "card=GeForce RTX 3090").startswith(f"Take {instead}, ")
    assert not judged(docker(f"FROM {instead}"), "driver=535.104.05", "card=GeForce RTX 3090").findings


def test_the_newest_image_of_an_older_cuda_is_found_behind_many() -> None:
    files = docker("FROM pytorch/pytorch:2.3.0-cuda12.1-cudnn8-runtime")
    assert first_fix(files, *OLDER).startswith("Take pytorch/pytorch:2.3.0-cuda11.8-cudnn8-runtime, ")


@pytest.mark.parametrize("host", [(), ("python=3.12",)])
def test_two_packages_of_one_framework_become_one_of_the_same_release(host: tuple[str, ...]) -> None:
    """Regression: tensorflow==2.13.1 was "the newest that fits", and the other package was to stay."""
    found = first_fix({"requirements.txt": "tensorflow==2.17.0\ntensorflow-cpu==2.17.0\n"}, *host)
    assert found.startswith("Leave out tensorflow-cpu. Ask for tensorflow[and-cuda]==2.17.0: the same ")


@pytest.mark.parametrize(("image", "instead"), [
    ("2.17.0", "2.17.0-gpu"), ("2.17.0-jupyter", "2.17.0-gpu-jupyter")])
def test_an_image_for_the_cpu_is_told_that_of_the_same_release_with_cuda(image: str, instead: str) -> None:
    files = docker(f"FROM tensorflow/tensorflow:{image}")
    assert first_fix(files) == f"Take tensorflow/tensorflow:{instead}, the same release with CUDA"
    assert "in this machine" not in judged(files, gpu=True).findings[0].finding.message


@pytest.mark.parametrize(("asked", "causes_of_it", "titles"), [
    ("tensorflow", "pip-nvidia-libs-not-installed", ["Ask for tensorflow[and-cuda]==2.20.0"]),
    ("'tensorflow[and-cuda]>=2.19'", "pip-nvidia-libs-not-found", [
        "Ask for tensorflow[and-cuda]==2.20.0", "Name the folders"]),
    ("'tensorflow[and-cuda]==2.21.0'", "pip-nvidia-libs-not-found", ["Name the folders"])])
def test_a_release_that_needs_no_variable_is_named_where_it_is_asked_for_as_well(
        asked: str, causes_of_it: str, titles: list[str]) -> None:
    found = judged(docker(SLIM, f"RUN pip install {asked}"), gpu=True)
    assert causes(found) == [causes_of_it]
    fixes = found.findings[0].finding.fixes
    assert len(fixes) == len(titles)
    assert all(fix.title.startswith(title) for fix, title in zip(fixes, titles, strict=True))


def test_what_is_offered_is_sound_where_it_is_asked_for() -> None:
    """Of torch in an image of another CUDA, both are told, and fit one another."""
    host = ("driver=535.104.05", "card=GeForce RTX 3090")
    files = docker("FROM nvidia/cuda:13.0.0-runtime-ubuntu24.04", f"RUN pip install torch {INDEX}cu130")
    image, torch = (one.finding.fixes[0] for one in judged(files, *host).findings)
    said = torch.commands[0].removeprefix("pip install ")
    assert causes(judged(docker(f"FROM {image.image}", f"RUN pip install {said}"), *host)) == []


def rewritten(files: Mapping[str, str], *host: str) -> str:
    """Return the first file with what `--fix` would change; a second time nothing changes."""
    def judge_again(texts: Mapping[str, str]) -> Verdicts:
        return judged(texts, *host, gpu=True)

    name = next(iter(files))
    after = rewrites.applied(files, rewrites.proven(judge_again(files).findings, files, judge_again))
    assert rewrites.proven(judge_again(after).findings, after, judge_again) == ()
    return after[name]


@pytest.mark.parametrize(("before", "after"), [
    ("jax[cuda13]", "jax[cuda12]"), ("jax[cuda13,k8s]>=0.10  # here", "jax[cuda12,k8s]>=0.10  # here"),
    (f"{INDEX}cu130\ntorch==2.9.1\n", f"{INDEX}cu126\ntorch==2.9.1\n")])
def test_another_build_of_the_same_release_is_written(before: str, after: str) -> None:
    assert rewritten({"requirements.txt": f"six\n{before}\n"}, *OLD) == f"six\n{after}\n"


@pytest.mark.parametrize(("before", "after"), [
    ("tensorflow", "tensorflow[and-cuda]!=2.21.0"), ("tensorflow[and-cuda]", "tensorflow[and-cuda]!=2.21.0"),
    ("tensorflow>=2.16,<3", "tensorflow[and-cuda]>=2.16,<3,!=2.21.0"),
    ('tensorflow ; os_name == "posix"', 'tensorflow[and-cuda]!=2.21.0 ; os_name == "posix"'),
    ("tensorflow==2.*", "tensorflow[and-cuda]==2.*,!=2.21.0"),
    ("tensorflow<2.21", "tensorflow[and-cuda]<2.21")])
def test_a_release_that_is_left_to_pip_is_left_out_where_it_forgets_its_libraries(
        before: str, after: str) -> None:
    """Regression: nothing was written, for with its extra alone it does not find them."""
    assert rewritten({"requirements.txt": f"six\n{before}\n"}, "python=3.12") == f"six\n{after}\n"


@pytest.mark.parametrize("line", [
    "tensorflow==2.21.0", "tensorflow>=2.21", "-c c.txt\ntensorflow", "tensorflow[and-cuda]==2.21.0"])
def test_a_release_that_the_file_needs_stays(line: str) -> None:
    files = {"requirements.txt": f"{line}\n", "c.txt": "tensorflow>=2.21\n"}
    assert rewritten(files, "python=3.12") == f"{line}\n"


@pytest.mark.parametrize("line", [
    "torch", "torch==2.14.1", "torch==2.9.1+cu130", f"{INDEX}cu130\ntorch==2.9.1+cu130",
    f"{INDEX}cu130\ntorch==2.9.1\ntorchvision==0.24.1+cu130", "jax[cuda13]\ncupy-cuda13x"])
def test_another_release_is_never_written(line: str) -> None:
    """Nor what stands beside something else that is for the CUDA of now."""
    assert rewritten({"requirements.txt": f"six\n{line}\n"}, *OLD) == f"six\n{line}\n"


@pytest.mark.parametrize(("lines", "host", "offered"), [
    (("torch==2.15.0", "jax[cuda13]"), ("driver=525.60.13",),
     ("torch==2.14.1+cu126", "jax[cuda12]==0.12.0.1")),
    (("torch==2.9.0", "tensorflow[and-cuda]==2.20.0"), ("driver=470.223.02",),
     ("torch==2.6.0+cu118", "tensorflow==2.13.1"))])
def test_each_framework_that_is_too_new_is_a_finding_of_its_own(
        lines: tuple[str, ...], host: tuple[str, ...], offered: tuple[str, ...]) -> None:
    """Regression: one was told, with a newer driver as its only fix, and the other folded under it.

    What is offered fits beside what is offered for the other.
    """
    found = judged({"requirements.txt": "\n".join(lines)}, *host, gpu=True).findings
    assert [(one.place.line, one.finding.cause) for one in found] == [
        (1, "driver-too-old"), (2, "driver-too-old")]
    for one, text in zip(found, offered, strict=True):
        title = one.finding.fixes[0].title
        assert title.startswith(f"Ask for {text}:")
        assert "leaves a warning" not in title


def test_what_is_written_for_one_framework_may_wait_for_what_is_done_by_hand_for_another() -> None:
    """Regression: beside a torch for CUDA 13, jax[cuda12] was no change that is safe."""
    files = {"requirements.txt": "torch==2.15.0\njax[cuda13]\n"}
    assert rewritten(files, "driver=525.60.13") == "torch==2.15.0\njax[cuda12]\n"


def test_lists_that_differ_in_their_constraints_alone_have_offers_of_their_own() -> None:
    """Regression: the second was told of the first one's release, which its own constraint forbids."""
    files = {"a/requirements.txt": "-c c.txt\ntorch\n", "b/requirements.txt": "-c c.txt\ntorch\n",
             "a/c.txt": "torch<2.15,>=2.13\n", "b/c.txt": "torch<2.14,>=2.13\n"}
    found = judged(files, "driver=525.60.13", "cc=8.0", gpu=True, first=2).findings
    assert [one.finding.fixes[0].commands[0].split()[2] for one in found] == [
        "torch==2.14.1+cu126", "torch==2.13.0+cu126"]


def test_alike_environments_are_tried_once() -> None:
    """Forty services of one image have one answer, and a long list is not tried without end."""
    services = "".join(f"  s{n}:\n    image: pytorch/pytorch:2.9.1-cuda13.0-cudnn9-runtime\n    gpus: all\n"
                       for n in range(40))
    found = judged({"compose.yaml": f"services:\n{services}"}, *OLD).findings
    assert len({id(one.offer) for one in found}) == 1
    assert len(found) == 40
    many = "".join(f"package{n}==1.{n}\n" for n in range(13_000))
    assert judged({"requirements.txt": f"{many}torch\n"}, *OLD, gpu=True).findings[0].offer is None
