"""Whether the tag of an image was ever published: told by lists, by the spelling of tags, else not known."""

from __future__ import annotations

import pytest

from gpudoctor.manifests import images, tags
from tests.unit.test_manifest_troubles import causes, database, docker, judged

AT_ITS_END = "image-at-its-end"


@pytest.mark.parametrize(("reference", "nearest"), [
    ("tensorflow/tensorflow:2.1.9-gpu", "2.1.4-gpu"),
    ("nvcr.io/nvidia/pytorch:25.13-py3", "25.12-py3"), ("nvcr.io/nvidia/jax:25.00-py3", "25.04-py3"),
    ("nvcr.io/nvidia/tensorflow:25.05-tf2-py3", "25.02-tf2-py3"),
    ("nvcr.io/nvidia/tensorflow:24.01-tf1-py3", "23.03-tf1-py3"),
    ("pytorch/pytorch:2.4.7-cuda12.4-cudnn9-runtime", "2.5.0-cuda12.4-cudnn9-runtime"),
    ("pytorch/pytorch:2.4.7-cuda12.4-cudnn8-runtime", "2.5.0-cuda12.4-cudnn9-runtime"),
    # regression: the cuDNN of a tag was not looked at
    ("pytorch/pytorch:2.4.0-cuda12.4-cudnn8-runtime", "2.4.0-cuda12.4-cudnn9-runtime"),
    ("pytorch/pytorch:2.3.1-cuda12.1-cudnn9-devel", "2.3.1-cuda12.1-cudnn8-devel"),
    ("nvidia/cuda:12.4-runtime-ubuntu22.04", "12.4.1-runtime-ubuntu22.04"),
    ("nvidia/cuda:latest", "13.0.0-runtime-ubuntu24.04"),  # the newest of which all flavours are known
    ("nvidia/cuda:13.0.0-runtime-ubuntu20.04", "13.0.0-runtime-ubuntu22.04"),  # no recipe ever had it
    ("nvidia/cuda:12.4.9-base-ubuntu22.04", "12.4.1-base-ubuntu22.04"),  # nor a patch of a minor long closed
    ("nvidia/cuda:12.6.4-cudnn-devel-ubuntu24.04", "12.6.3-cudnn-devel-ubuntu24.04"),
    ("tensorflow/tensorflow:2.17.9-gpu", "2.17.1-gpu"),
    ("python:3.12.99-slim", "3.12.14-slim"), ("python:3.9.26-alpine3.20", "3.9.25-alpine"),
    ("python:3.8.21", "3.8.20"), ("docker.io/library/python:2.7.19-slim-buster", "2.7.18-slim")])
def test_a_tag_that_cannot_be_is_found_with_one_of_the_same_spelling(reference: str, nearest: str) -> None:
    found = judged(docker(f"FROM {reference}"))
    assert [cause for cause in causes(found) if cause != AT_ITS_END] == ["image-not-published"]
    assert nearest in found.findings[0].finding.message
    assert str(found.findings[0].place) == "Dockerfile:1:6"
    for tag in tags.judged(images.base_of(reference, database().tables), database().tables).nearest:
        near = images.base_of(f"{reference.partition(':')[0]}:{tag}", database().tables)
        assert tags.judged(near, database().tables) == tags.Verdict()


def test_a_tag_that_cannot_be_is_not_called_at_its_end_as_well() -> None:
    assert causes(judged(docker("FROM nvcr.io/nvidia/tensorflow:25.05-tf2-py3"))) == ["image-not-published"]


@pytest.mark.parametrize(("reference", "words"), [
    ("tensorflow/tensorflow:2.10.0rc7-gpu", "a release of tensorflow that these rules do not know"),
    ("tensorflow/tensorflow:latest-gpu-py3", "VERSION-gpu"),
    ("nvcr.io/nvidia/pytorch", "MONTH-py3"), ("nvcr.io/nvidia/tensorflow:19.04-tf2-py3", "in no list"),
    ("nvidia/cuda:12.8.2-base-ubuntu24.04", "in no list"),
    ("python:3.12.15-slim", "newer than these rules"), ("python:3.99-slim", "newer than these rules"),
    ("pytorch/pytorch:1.12.1-cuda11.3-cudnn9-runtime", "builds of torch 1.12.1 for cuDNN 8 alone"),
    ("pytorch/pytorch:2.6.0-cuda12.4", "VERSION-cudaCUDA-cudnnCUDNN-runtime"),
    ("pytorch/pytorch:2.6.0-cuda12.3-cudnn9-devel", "no build of torch 2.6.0"),
    ("pytorch/pytorch:2.4.0-cuda12.6-cudnn9-runtime", "no build of torch 2.4.0"),
    ("nvidia/cuda:11.0-base", "in no list"),
    ("nvidia/cuda:13.1.1-cudnn-runtime-ubi9", "in no list"),  # of ubi9 `base` alone was seen
    ("nvidia/cuda:11.6.1-runtime-ubuntu18.04", "in no list")])  # 18.04 has left the recipes, not the registry
def test_a_tag_that_nobody_here_knows_is_said_and_is_no_fault(reference: str, words: str) -> None:
    found = judged(docker(f"FROM {reference}"))
    assert [cause for cause in causes(found) if cause != AT_ITS_END] == []
    [note] = [one for one in found.notes if "is not known to these rules" in one.said]
    assert words in note.said
    assert (str(note.place), note.matters) == ("Dockerfile:1:6", False)


@pytest.mark.parametrize("reference", [
    "tensorflow/tensorflow:2.99.0-gpu", "pytorch/pytorch:2.99.0-cuda13.0-cudnn9-runtime",
    "pytorch/pytorch:2.14.9-cuda13.0-cudnn9-runtime",
    "nvcr.io/nvidia/pytorch:30.05-py3", "nvidia/cuda:14.0.0-base-ubuntu24.04"])
def test_a_tag_that_is_newer_than_the_rules_is_not_judged(reference: str) -> None:
    """It ended with 0, though nobody knows what is in it; in a stage that none takes over it still does."""
    def notes(*lines: str) -> list[bool]:
        return [one.matters for one in judged(docker("# --gpus all", *lines)).notes
                if "newer than these rules" in one.said and "image" in one.said]

    assert notes(f"FROM {reference}") == [True]
    assert notes(f"FROM {reference} AS a", "FROM python:3.12-slim", "COPY --from=a /opt /opt") == [True]
    assert notes(f"FROM {reference} AS a", "FROM python:3.12-slim") == [False]


def test_no_patch_of_python_that_there_was_is_taken_for_none() -> None:
    for row in database().tables["python_releases"].rows:
        for patch in range(int(str(row["newest"]).rpartition(".")[2]) + 1):
            base = images.base_of(f"python:{row['minor']}.{patch}-slim-bookworm", database().tables)
            assert tags.judged(base, database().tables) == tags.Verdict()


@pytest.mark.parametrize("reference", [
    "python", "python:3", "python:3-slim", "python:3.12", "python:3.15.0a2-trixie",
    "python:slim", "python:3.13.9-windowsservercore-ltsc2022", "python:3.4.10-alpine3.9",
    "tensorflow/tensorflow", "tensorflow/tensorflow:latest-gpu", "tensorflow/tensorflow:2.15.0-gpu-jupyter",
    "nvcr.io/nvidia/tensorflow:24.12-tf2-py3", "nvcr.io/nvidia/tensorflow:22.12-tf1-py3",
    "nvcr.io/nvidia/pytorch:24.05-py3", "nvcr.io/nvidia/jax:25.04-py3", "pytorch/pytorch",
    "pytorch/pytorch:2.6.0-cuda12.4-cudnn9-devel", "nvidia/cuda:12.4.1-base-ubuntu22.04",
    "nvidia/cuda:13.1.1-cudnn-runtime-ubuntu24.04", "nvcr.io/nvidia/cuda:13.3.1-base-ubi9",
    "nvidia/cuda:11.3.1-cudnn8-devel-ubuntu18.04", "nvidia/cuda:12.0.0-cudnn8-devel-ubuntu18.04",
    f"nvidia/cuda@sha256:{'0' * 64}", "example.org/team/gpu:7", "ubuntu:22.04"])
def test_of_a_tag_that_there_is_and_of_images_of_others_nothing_is_said(reference: str) -> None:
    assert tags.judged(images.base_of(reference, database().tables), database().tables) == tags.Verdict()


@pytest.mark.parametrize("reference", [
    "tensorflow/tensorflow", "tensorflow/tensorflow:latest", "docker.io/tensorflow/tensorflow:latest-jupyter",
    "tensorflow/tensorflow:nightly", "tensorflow/tensorflow:2.99.0"])
def test_an_image_of_tensorflow_without_gpu_in_its_tag_is_for_the_cpu_in_any_release(reference: str) -> None:
    """`latest` was passed over in silence, in each kind of file; so was a release newer than the rules."""
    pod = ("kind: Pod\nspec:\n  containers:\n  - image: {}\n"
           "    resources: {{limits: {{nvidia.com/gpu: 1}}}}\n")
    for files in (docker("# --gpus all", f"FROM {reference}"), {"pod.yaml": pod.format(reference)},
                  {"compose.yaml": f"services:\n  a:\n    image: {reference}\n    gpus: all\n"}):
        found = judged(files)
        assert causes(found) == ["cpu-only-build"]
        said = found.findings[0].finding.message
        assert said.startswith("tensorflow 2.99.0 is" if "2.99" in reference else "tensorflow is a build")
        assert causes(judged({name: text.replace("gpus: all", "tty: true").replace("--gpus all", "").replace(
            "nvidia.com/gpu", "memory") for name, text in files.items()})) == []


def test_a_release_that_is_installed_over_it_counts_alone() -> None:
    assert causes(judged(docker("# --gpus all", "FROM tensorflow/tensorflow",
                                "RUN pip install 'tensorflow[and-cuda]==2.20.0'"))) == []


@pytest.mark.parametrize(("reference", "is_noted"), [
    ("pytorch/pytorch:latest", True), ("pytorch/pytorch", True), ("tensorflow/tensorflow:latest-gpu", True),
    ("tensorflow/tensorflow:nightly-gpu-jupyter", True),
    ("pytorch/pytorch:2.6.0-cuda12.4-cudnn9-devel", False),
    ("tensorflow/tensorflow:latest", False), ("ubuntu:latest", False)])
def test_a_tag_that_moves_is_noted_where_a_gpu_is_meant(reference: str, *, is_noted: bool) -> None:
    """It said nothing of an image of which nobody knows whether the driver runs it."""
    def notes(gpu: bool) -> list[tuple[str, bool]]:
        found = judged(docker("FROM scratch AS other", f"FROM {reference}"), gpu=gpu)
        return [(str(one.place), one.matters) for one in found.notes if "when it is pulled" in one.said]

    assert notes(gpu=True) == [("Dockerfile:2:6", False)] * is_noted
    if not reference.endswith(("-gpu", "-gpu-jupyter")):  # which says by itself that it is for a GPU
        assert notes(gpu=False) == []


@pytest.mark.parametrize(("tag", "month"), [
    ("23.03-tf1-py3", "2023-03"), ("22.04-tf1-py3", "2023-03"), ("25.02-tf2-py3", "2025-02")])
def test_a_series_that_has_ended_is_found_with_its_last_month(tag: str, month: str) -> None:
    found = judged(docker(f"FROM nvcr.io/nvidia/tensorflow:{tag}"))
    said = [one.finding.message for one in found.findings if one.finding.cause == "image-at-its-end"]
    assert any(message.startswith("NVIDIA's build of TensorFlow") and month in message for message in said)


def test_a_series_that_goes_on_is_left_alone() -> None:
    assert "image-at-its-end" not in causes(judged(docker("FROM nvcr.io/nvidia/pytorch:26.03-py3")))
