"""How an engine is asked for the GPU, and what is made of its answers."""

from __future__ import annotations

import pytest

from gpudoctor.transports import handing_out
from gpudoctor.transports.engine import PODMAN, Engine
from gpudoctor.transports.handing_out import HandedOut, Refusal

ALOUD = Refusal(request="nvidia", said="no")
HANGING = Refusal(request="nvidia", said="starting had not ended", hangs=True)


def engine(*, name: str = "docker", knows_cdi: bool = False, has_runtime: bool = False) -> Engine:
    """Return an engine that nobody asks anything."""
    return Engine(api=None, address="", name=name, version="1", is_here=True, knows_cdi=knows_cdi,
                  has_runtime=has_runtime, architecture="amd64", processors=1)


def test_the_requests_are_those_that_fit() -> None:
    """NVIDIA's runtime comes last: an image's own variable has no say in the others."""
    assert handing_out.requests(engine()) == ("nvidia",)
    assert handing_out.requests(engine(knows_cdi=True, has_runtime=True)) == ("nvidia", "cdi", "runtime")


def test_the_runtime_and_podman_are_believed_when_seen() -> None:
    assert [handing_out.is_told(engine(), request) for request in ("nvidia", "cdi", "runtime")] == [
        True, True, False]
    assert not handing_out.is_told(engine(name=PODMAN), "cdi")


def test_a_hook_that_hangs_is_waited_for_once() -> None:
    """The runtime calls it, too; a CDI device does not take it."""
    assert handing_out.is_known("runtime", [HANGING])
    assert not handing_out.is_known("cdi", [HANGING])
    assert not handing_out.is_known("runtime", [ALOUD])


@pytest.mark.parametrize(("request_", "refusals", "dropped"), [
    (None, (), "none"), ("nvidia", (), "none"), (None, (ALOUD,), "none"),
    (None, (handing_out.dropped("nvidia"), handing_out.dropped("cdi")), "all"),
    (None, (handing_out.dropped("nvidia"), ALOUD), "some"),
    ("cdi", (handing_out.dropped("nvidia"),), "some")])
def test_how_many_requests_were_dropped(request_: str | None, refusals: tuple[Refusal, ...],
                                        dropped: str) -> None:
    """What was said before a container got the GPU speaks against nothing."""
    handed = HandedOut(request=request_, refusals=refusals)
    assert handed.dropped == dropped
    assert len(handed.against) == (0 if request_ else len(refusals))


GPUS = {"Driver": "", "Count": -1, "Capabilities": [["gpu"]]}
CDI = {"Driver": "cdi", "DeviceIDs": ["nvidia.com/gpu=all"]}
OTHER_CDI = {"Driver": "cdi", "DeviceIDs": ["vendor.com/net=0"]}


@pytest.mark.parametrize(("settings", "variables", "request_"), [
    ({"DeviceRequests": [GPUS]}, [], "nvidia"), ({"DeviceRequests": [OTHER_CDI, CDI]}, [], "cdi"),
    ({"DeviceRequests": [OTHER_CDI]}, [], None), ({"DeviceRequests": None}, None, None), ({}, [], None),
    ({"Runtime": "nvidia"}, ["NVIDIA_VISIBLE_DEVICES=all"], "runtime"), ({"Runtime": "nvidia"}, [], None),
    ({"Runtime": "nvidia"}, ["NVIDIA_VISIBLE_DEVICES=void"], None),
    ({"Runtime": "runc"}, ["NVIDIA_VISIBLE_DEVICES=all"], None)])
def test_how_a_running_container_was_asked_for_it(settings: dict[str, object], variables: list[str] | None,
                                                  request_: str | None) -> None:
    described = {"HostConfig": settings, "Config": {"Env": variables}}
    assert handing_out.of_running(engine(), described) == HandedOut(request=request_)


def test_podman_keeps_nothing_of_a_request() -> None:
    """So that it tells of none does not mean that there was none."""
    assert handing_out.of_running(engine(name=PODMAN), {"HostConfig": {}}) == HandedOut(
        untold=handing_out.KEPT_NOTHING)
