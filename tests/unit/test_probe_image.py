"""What is read of an image, an engine, and of what kept one from it."""

from __future__ import annotations

from typing import Any

import pytest

from gpudoctor.facts import promised
from gpudoctor.model import Absent, Fact, Known, Scope, Unknown
from gpudoctor.probes import image
from gpudoctor.probes.raw import NOT_COLLECTED, ended

ABOUT: dict[str, Any] = {
    "reference": "app:1", "running": False, "id": "sha256:0", "engine": "docker",
    "engine_version": "20.10.24+dfsg1", "request": "nvidia", "trouble": None,
    "variables": {"NVIDIA_REQUIRE_CUDA": "cuda>=12.4"}, "labels": {}}


def test_every_promised_fact_is_there() -> None:
    """Without an image all of them are absent."""
    facts = image.read(ended("ok", 0.0, data=ABOUT))
    assert set(facts) == set(promised("image", Scope.HOST))
    assert facts["image.reference"] == Known(value="app:1", source="the command line")
    assert facts["image.engine_version"] == Known(value="20.10.24", source="the engine (docker)")
    assert facts["image.requirements"] == Known(value=("cuda>=12.4",),
                                                source="NVIDIA_REQUIRE_CUDA of the image")
    assert isinstance(facts["image.trouble"], Absent)
    assert all(isinstance(fact, Absent) for fact in image.read(NOT_COLLECTED).values())


def test_what_was_not_recorded_is_unknown() -> None:
    assert isinstance(image.read(ended("ok", 0.0, data={}))["image.is_running"], Unknown)
    assert isinstance(image.read(ended("timeout", 0.0))["image.trouble"], Unknown)


def test_requests_that_were_dropped_are_counted_where_it_was_seen() -> None:
    """What could not be asked, and what older snapshots did not keep, is unknown."""
    def dropped(**more: object) -> object:
        return image.read(ended("ok", 0.0, data={**ABOUT, **more}))["image.gpu_dropped"]

    assert dropped(dropped="some") == Known(value="some", source="the engine (docker)")
    assert isinstance(dropped(), Unknown)
    assert isinstance(dropped(dropped="none", untold="nobody could look"), Unknown)


def test_trouble_is_told_with_the_engines_words() -> None:
    trouble = {"kind": "denied", "said": "[Errno 13] Permission denied"}
    facts = image.read(ended("ok", 0.0, data={**ABOUT, "engine": None, "trouble": trouble}))
    assert facts["image.trouble"] == Known(value="denied", source="the engine (not reached)")
    assert facts["image.trouble_said"] == Known(value=trouble["said"], source="the engine (not reached)")


@pytest.mark.parametrize(("variables", "expected"), [
    ({}, Absent(source="variables of the image")),
    ({"NVIDIA_REQUIRE_CUDA": "cuda>=12.4", "NVIDIA_DISABLE_REQUIRE": "1"},
     Absent(source="NVIDIA_DISABLE_REQUIRE of the image")),
    ({"CUDA_VERSION": "9.2.148"}, Known(value=("cuda>=9.2",), source="CUDA_VERSION of the image"))])
def test_where_what_an_image_asks_for_was_read(variables: dict[str, str], expected: Fact) -> None:
    answer = ended("ok", 0.0, data={**ABOUT, "variables": variables})
    assert image.read(answer)["image.requirements"] == expected


def test_labels_are_kept_and_one_of_them_asks() -> None:
    """An answer in which none were recorded is older than the question."""
    labels = {"com.nvidia.nccl.version": "2.19.4", "com.nvidia.cuda.version": "9.0"}
    facts = image.read(ended("ok", 0.0, data={**ABOUT, "variables": {}, "labels": labels}))
    assert facts["image.labels"] == Known(
        value=("com.nvidia.cuda.version=9.0", "com.nvidia.nccl.version=2.19.4"), source="labels of the image")
    assert facts["image.labelled_cuda"] == Known(value="9.0", source="labels of the image")
    older = image.read(ended("ok", 0.0, data={"reference": "app:1"}))
    assert all(isinstance(older[name], Unknown) for name in (
        "image.labels", "image.labelled_cuda", "image.requirements"))
