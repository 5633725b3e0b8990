"""All file-reading probes on described machines, with files, nodes and libraries in their real places."""

from __future__ import annotations

import importlib
import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from gpudoctor.model import Absent, Fact, Known
from gpudoctor.probes import system
from gpudoctor.probes.raw import Answer
from tests.harness import namespace, nvidia
from tests.harness.machine import Machine, Node
from tests.unit.file_answers import PAYLOADS, good, interpreter, value

PROBES = ("system", "driver", "container", "toolkit", "environment", "loader")
CARD = nvidia.Card(name="NVIDIA L4", pci_device=0x27B8, compute_capability="8.9", memory_mib=23034)
pytestmark = pytest.mark.skipif(namespace.unavailable() is not None, reason=str(namespace.unavailable()))


def answer_of(machine: Machine, probe: str, python: str = sys.executable) -> Answer:
    result = machine.run([python, str(PAYLOADS), probe, "1", "{}"])
    assert result.returncode == 0, result
    return good(json.loads(result.stdout))


def facts_of(machine: Machine, python: str = sys.executable) -> dict[str, Fact]:
    facts: dict[str, Fact] = {}
    for probe in PROBES:
        facts |= importlib.import_module(f"gpudoctor.probes.{probe}").read(answer_of(machine, probe, python))
    return facts


@pytest.mark.parametrize("version", ["3.6", "3.13"])
def test_a_healthy_machine(version: str) -> None:
    """Two cards under an open module, libraries of the same release, found through ldconfig's cache."""
    machine = nvidia.nvidia_machine(driver="570.86.15", cuda=12080, cards=[CARD, CARD], loader_cache=True)
    facts = facts_of(machine, interpreter(version))
    expected = {
        "driver.kernel_version": "570.86.15", "driver.kernel_flavour": "open",
        "driver.libcuda_file_version": "570.86.15", "driver.libnvidia_ml_file_version": "570.86.15",
        "driver.gpu_nodes": 2, "driver.uvm_node": True, "driver.proc_gpus": 2, "driver.nvswitch": False,
    }
    assert {name: value(facts[name]) for name in expected} == expected
    nothing = ("container.runtime", "container.driver_mounts", "driver.denied_nodes",
               "driver.libcuda_off_path")
    for name in nothing:
        assert isinstance(facts[name], Absent), name
    modules = value(facts["system.gpu_modules"])
    assert isinstance(modules, tuple)
    assert {"nvidia", "nvidia_uvm"} <= set(modules)
    cached = value(facts["loader.cache"])
    assert isinstance(cached, tuple)
    assert "libcuda.so.1" in {entry["soname"] for entry in cached}


def test_its_cards_on_the_bus() -> None:
    """As lspci would list them."""
    machine = nvidia.nvidia_machine(driver="570.86.15", cuda=12080, cards=[CARD, CARD])
    cards = system.read_gpus(answer_of(machine, "system"))
    assert isinstance(cards, tuple)
    assert [value(card["gpu.bus_id"]) for card in cards] == [nvidia.bus_id(0), nvidia.bus_id(1)]
    assert {value(card["gpu.pci_device_id"]) for card in cards} == {"27b8"}
    assert {value(card["gpu.pci_driver"]) for card in cards} == {"nvidia"}


def test_a_machine_without_anything() -> None:
    """Nothing of a driver is Known, and nothing is Unknown for want of it."""
    facts = facts_of(nvidia.bare_machine())
    for name in ("kernel_version", "libcuda_files", "libnvidia_ml_files", "device_nodes", "proc_gpus",
                 "fabric_manager", "nvidia_smi"):
        assert isinstance(facts[f"driver.{name}"], Absent), (name, facts[f"driver.{name}"])
    assert value(facts["driver.gpu_nodes"]) == 0


def test_cards_without_a_driver() -> None:
    """They are on the bus, bound to nothing."""
    cards = system.read_gpus(answer_of(nvidia.driverless_machine([CARD]), "system"))
    assert isinstance(cards, tuple)
    assert [isinstance(card["gpu.pci_driver"], Absent) for card in cards] == [True]


def test_nodes_that_another_user_may_not_open() -> None:
    """Seen without opening them."""
    python = "/usr/bin/python3"
    if not Path(python).exists():
        pytest.skip("no Python that every user may run")
    machine = nvidia.nvidia_machine(driver="570.86.15", cuda=12080, cards=[CARD])
    closed = tuple(Node(path=node.path, mode=0o660) for node in machine.nodes)
    facts = facts_of(replace(machine, nodes=closed, user=65534), python)
    denied = value(facts["driver.denied_nodes"])
    assert isinstance(denied, tuple)
    assert {"/dev/nvidia0", "/dev/nvidiactl", "/dev/nvidia-uvm"} == set(denied)
    assert isinstance(facts["system.user_id"], Known)
    assert value(facts["system.user_id"]) == 65534


def test_a_marker_in_namespaces_of_its_own_is_a_container() -> None:
    """The same machine with Docker's file in it."""
    machine = nvidia.bare_machine().adding(files={"/.dockerenv": ""})
    assert value(facts_of(machine)["container.runtime"]) == "docker"


def test_a_compat_package_and_a_toolkit() -> None:
    """Where NVIDIA's container images put them."""
    machine = nvidia.bare_machine().adding(files={
        "/usr/local/cuda-12.4/compat/libcuda.so.550.54.15": "x",
        "/usr/local/cuda-12.4/version.json": '{"cuda": {"version": "12.4.1"}}',
        "/etc/cdi/nvidia.yaml": "cdiVersion: 0.5.0\n",
    }, links={"/usr/local/cuda": "cuda-12.4"})
    facts = facts_of(machine)
    assert value(facts["container.compat_folders"]) == ("/usr/local/cuda-12.4/compat",)
    assert value(facts["container.cdi_specs"]) == ("/etc/cdi/nvidia.yaml",)
    installs = value(facts["toolkit.installs"])
    assert isinstance(installs, tuple)
    found = [(install["real_path"], install["version"]) for install in installs]
    assert found == [("/usr/local/cuda-12.4", "12.4.1")]
