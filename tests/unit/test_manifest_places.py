"""Where a finding stands that the file as a whole causes as well as one of its lines, and once."""

from __future__ import annotations

import pytest

from tests.unit.test_manifest_troubles import causes, docker, judged

OLD = ("driver=515.43.04", "cc=8.0")


@pytest.mark.parametrize("text", [
    "torch", "jax[cuda13]", "tensorflow[and-cuda]==2.20.0", "torch==2.9.1+cu130"])
def test_a_driver_that_is_too_old_is_told_at_what_asks_for_more(text: str) -> None:
    """Regression: the list begins where its first requirement does, and that one was named."""
    found = judged({"requirements.txt": f"numpy\npandas\n{text}\n"}, *OLD, gpu=True)
    assert [str(one.place) for one in found.findings if one.finding.cause == "driver-too-old"] == [
        "requirements.txt:3:1"]


def test_a_package_that_has_ended_overwrites_nothing() -> None:
    """Regression: beside tensorflow it was told twice, once as the owner of the same files."""
    whole = "'tensorflow[and-cuda]==2.20.0'"
    found = judged(docker("FROM python:3.12-slim", f"RUN pip install {whole} tensorflow-gpu"))
    assert causes(found) == ["tensorflow-gpu-package-removed"]
    both = judged(docker("FROM python:3.9-slim", "RUN pip install tensorflow==2.10.0 tensorflow-gpu==2.10.0"))
    assert "wheel-file-collision" in causes(both) or "mixed-tf-packages" in causes(both)


def test_a_release_that_there_is_not_is_told_where_it_is_pinned() -> None:
    """Regression: what a constraint pins was told at the requirement, and once more as not judged."""
    found = judged({"requirements.txt": "-c constraints.txt\ntensorflow[and-cuda]\n",
                    "constraints.txt": "six\ntensorflow==2.14.9\n"})
    assert [(str(one.place), one.finding.cause) for one in found.findings] == [
        ("constraints.txt:2:1", "release-not-published")]
    assert not any(note.matters for note in found.notes)


def test_capabilities_are_told_beside_a_driver_that_is_too_old() -> None:
    """Regression: as a newer driver would be mounted, that was taken for the cause of both."""
    found = judged(docker("FROM pytorch/pytorch:2.9.1-cuda13.0-cudnn9-runtime",
                          "ENV NVIDIA_DRIVER_CAPABILITIES=graphics"), *OLD)
    assert [(one.place.line, one.finding.cause) for one in found.findings] == [
        (1, "driver-too-old"), (2, "docker-driver-capabilities")]
    assert found.findings[1].finding.fixes


WHOLE, OF_13 = "tensorflow[and-cuda]==2.20.0", "torch==2.11.0"  # of CUDA 12 and of CUDA 13


@pytest.mark.parametrize(("files", "place"), [
    (docker("FROM python:3.12-slim", f"RUN pip install six '{WHOLE}' {OF_13}"), "Dockerfile:2:52"),
    (docker("FROM python:3.12-slim", f"RUN pip install {OF_13}", "RUN pip install six",
            f"RUN pip install '{WHOLE}'"), "Dockerfile:4:17"),
    ({"requirements.txt": f"six\n{WHOLE}\nnumpy\njax[cuda13]\n"}, "requirements.txt:4:1"),
    ({"requirements.txt": f"six\n{OF_13}\nnvidia-cudnn-cu12\nnumpy\n"}, "requirements.txt:3:1")])
def test_wheels_that_own_the_same_files_are_told_at_what_brings_the_last_of_them(
        files: dict[str, str], place: str) -> None:
    """Regression: where extras or what a release needs brings them, the image or line 1 was named."""
    def places(texts: dict[str, str]) -> list[str]:
        found = judged(texts, "driver=580.95.05", "cc=8.9", gpu=True).findings
        return [str(one.place) for one in found if one.finding.cause == "wheel-file-collision"]

    assert places(files) == [place]
    assert places({name: text.replace(WHOLE, "six").replace("nvidia-cudnn-cu12", "six")
                   for name, text in files.items()}) == []
