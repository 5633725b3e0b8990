"""What is read of an image, an engine, and of what kept one from it."""

from __future__ import annotations

from typing import Any

import pytest

from gpudoctor.facts import promised
from gpudoctor.model import Absent, Known, Scope, Unknown
from gpudoctor.probes import image
from gpudoctor.probes.raw import NOT_COLLECTED, ended

ABOUT: dict[str, Any] = {
    "reference": "app:1", "running": False, "id": "sha256:0", "engine": "docker",
    "engine_version": "20.10.24+dfsg1", "request": "nvidia", "trouble": None, "require_cuda": "cuda>=12.4"}


def test_every_promised_fact_is_there() -> None:
    """Without an image all of them are absent."""
    facts = image.read(ended("ok", 0.0, data=ABOUT))
    assert set(facts) == set(promised("image", Scope.HOST))
    assert facts["image.reference"] == Known(value="app:1", source="the command line")
    assert facts["image.engine_version"] == Known(value="20.10.24", source="the engine (docker)")
    assert facts["image.least_cuda"] == Known(value="12.4", source="NVIDIA_REQUIRE_CUDA of the image")
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


@pytest.mark.parametrize(("requirement", "expected"), [
    ("cuda>=12.4 brand=tesla,driver>=470,driver<471", "12.4"), ("cuda>=12.10 cuda>=12.9", "12.9"),
    ("cuda>=13.0,brand=tesla", None), ("", None), ("cuda<12", None), ("cuda>=9999999.1", None)])
def test_alternatives_that_ask_for_more_count_not(requirement: str, expected: str | None) -> None:
    """Of those that ask for CUDA alone the least one is enough."""
    assert image.least_cuda(requirement) == expected
