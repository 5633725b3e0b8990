"""integrations/kubernetes/pod.yaml under kubelet itself: the program starts only after the look was good.

No package that tests can install has kubelet. Where one up to 1.23 is found on PATH, it is run; where not,
these tests are skipped, and nothing of them is shown (tests/engines/test_own_image.py runs the init container
alone).
"""

from __future__ import annotations

import copy
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.contract.checkout import ROOT
from tests.engines.test_own_image import BASE
from tests.engines.test_real_wheels import WITH_INDEX, write_settings
from tests.engines.toolkit import Toolkit
from tests.frameworks.installing import pip_settings
from tests.harness import engine as engines
from tests.harness import kubelet as kubelets
from tests.harness.engine import Engine
from tests.harness.kubelet import Kubelet
from tests.harness.nvidia import H100
from tests.integrations.test_kubernetes import POD

SYSTEM, OWN, PROGRAM, PAUSE = (f"gpudoctor-test/{name}:1" for name in ("system", "own", "program", "pause"))
CARDS = "nvidia.com/gpu"


@pytest.fixture(scope="module")
def toolkit(tmp_path_factory: pytest.TempPathFactory) -> Toolkit:
    return Toolkit(tmp_path_factory.mktemp("toolkit"), H100)


@pytest.fixture(scope="module")
def kubelet(toolkit: Toolkit, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubelet]:
    """Start a kubelet on an engine whose runtime is NVIDIA's stand-in, as on a node with GPUs."""
    reason = kubelets.unavailable() or engines.unavailable()
    if reason:
        pytest.skip(f"{reason}: the pod was not tried under kubelet")
    engine = Engine(Path(tempfile.mkdtemp(prefix="gpudoctor-")), settings={
        "default-runtime": "nvidia", "runtimes": {"nvidia": {"path": str(toolkit.runtime)}}})
    engine.start()
    started = Kubelet(Path(tempfile.mkdtemp(prefix="gpudoctor-kubelet-")), engine.address, PAUSE)
    try:
        base = tmp_path_factory.mktemp("base")
        write_settings(base, pip_settings())
        engine.load_system("gpudoctor-test/system")
        engine.build(WITH_INDEX, base, BASE, {})
        engine.run("build", "--network", "host", "-t", OWN, "--build-arg", f"BASE={BASE}", ".", folder=ROOT)
        for name in (PAUSE, PROGRAM):
            engine.build('FROM gpudoctor-test/system\nENTRYPOINT ["sleep", "600"]\n', base, name, {})
        started.start()
        try:
            yield started
        finally:
            started.stop()
            containers = engine.run("ps", "--all", "--quiet").stdout.split()
            engine.run("rm", "--force", *containers, check=False)
    finally:
        engine.stop()


def pod(name: str, *, with_cards: bool) -> dict[str, Any]:
    """Return the pod of the page with images that are here, on the network of the node.

    `with_cards` False takes out the limit of cards, which takes NVIDIA's device plugin on the node.
    """
    made: dict[str, Any] = copy.deepcopy(POD)
    made["metadata"]["name"] = name
    made["spec"]["hostNetwork"] = True
    (look,), (program,) = made["spec"]["initContainers"], made["spec"]["containers"]
    for container, image in ((look, OWN), (program, PROGRAM)):
        container.update(image=image, imagePullPolicy="Never")
        if not with_cards:
            del container["resources"]["limits"][CARDS]
    return made


def test_the_program_starts_after_a_good_look(kubelet: Kubelet, toolkit: Toolkit) -> None:
    toolkit.fails(None)
    kubelet.give(pod("well", with_cards=False))
    status = kubelet.status("well")
    (look,), (program,) = status["initContainerStatuses"], status["containerStatuses"]
    assert look["state"]["terminated"]["exitCode"] == 0
    assert "running" in program["state"]


def test_a_pod_without_a_card_fails_with_the_cause(kubelet: Kubelet, toolkit: Toolkit) -> None:
    """The program never starts, and what `kubectl describe pod` shows is the line."""
    toolkit.fails(None)
    with toolkit.deaf():
        kubelet.give(pod("bare", with_cards=False))
        status = kubelet.status("bare")
    (look,), (program,) = status["initContainerStatuses"], status["containerStatuses"]
    assert (status["phase"], look["state"]["terminated"]["exitCode"]) == ("Failed", 1)
    assert look["state"]["terminated"]["message"].startswith("no-nvidia-gpu [host]: ")
    assert "waiting" in program["state"]


def test_a_node_without_the_device_plugin_refuses_the_pod(kubelet: Kubelet) -> None:
    """The limit of cards is heeded before anything of the pod runs."""
    kubelet.give(pod("asking", with_cards=True))
    status = kubelet.status("asking")
    assert status["phase"] == "Failed"
    assert CARDS in status["message"]
    assert status.get("initContainerStatuses") is None
