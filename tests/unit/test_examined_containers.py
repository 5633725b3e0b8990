"""Whose driver is told of, where a container got no GPU."""

from __future__ import annotations

from gpudoctor.probes.raw import Answer, ended
from gpudoctor.transports import containers
from gpudoctor.transports.containers import Looked

NAMES = ("image", "system", "driver", "container", "nvml", "cuda", "smoke", "loader", "environment",
         "frameworks")


def answers(said: str) -> dict[str, Answer]:
    return {name: ended("ok", 0.0, data={"said": said}) for name in NAMES}


def of(looked: Looked, said: str) -> set[str]:
    return {name for name, answer in looked.raw.items() if (answer.data or {}).get("said") == said}


def test_the_machines_driver_stands_in_for_none() -> None:
    """What the patient is stays the container's; its system too, where the payload answered for it."""
    inside = {**answers("inside"), "system": ended("ok", 0.0, data={"said": "inside", "uname": {}})}
    looked = containers.with_host(Looked(raw=inside), answers("host"))
    assert of(looked, "host") == {"driver", "container", "nvml", "cuda", "smoke"}
    assert of(looked, "inside") == {"image", "system", "loader", "environment", "frameworks"}


def test_without_python_the_kernel_is_the_machines_and_the_distribution_the_images() -> None:
    inside = {**answers("inside"), "system": ended("ok", 0.0, data={"os_release": {"text": "ID=debian"}})}
    its = {"uname": "its", "os_release": {"text": "ID=other"}}
    host = {**answers("host"), "system": ended("ok", 0.0, data=its)}
    system = containers.with_host(Looked(raw=inside), host).raw["system"]
    assert system.data == {"uname": "its", "os_release": {"text": "ID=debian"}}


def test_of_an_engine_elsewhere_nothing_is_said() -> None:
    """A container without a GPU does not show that its machine has none."""
    looked = containers.without_host(Looked(raw=answers("inside")), "the engine runs elsewhere")
    assert of(looked, "inside") == {"image", "system", "loader", "environment", "frameworks"}
    assert {looked.raw[name].outcome for name in ("driver", "nvml", "cuda", "container")} == {"not-asked"}
