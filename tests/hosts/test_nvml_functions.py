"""NVML functions that fail or that an old library lacks: each costs the facts that it alone answers."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

from tests.harness.nvidia import H100, nvidia_machine
from tests.hosts.looking import CUDA, DRIVER, HEALTHY, LIBNVIDIA_ML, Looked, changed, healthy, look, of_probe
from tests.shim import build

# What is lost with each function that is asked of a card. Who the card is, libcuda says as well.
OF_A_CARD = {
    "nvmlDeviceGetPciInfo": {"gpu.bus_id"},
    "nvmlDeviceGetUUID": {"gpu.uuid"},
    "nvmlDeviceGetName": {"gpu.name"},
    "nvmlDeviceGetCudaComputeCapability": {"gpu.compute_capability"},
    "nvmlDeviceGetMigMode": {"gpu.mig_mode", "gpu.mig_pending", "gpu.mig_instances"},
    "nvmlDeviceGetComputeMode": {"gpu.compute_mode"},
    "nvmlDeviceGetPersistenceMode": {"gpu.persistence"},
    "nvmlDeviceGetEccMode": {"gpu.ecc_mode"},
    "nvmlDeviceGetTotalEccErrors": {"gpu.ecc_uncorrected"},
    "nvmlDeviceGetCurrPcieLinkGeneration": {"gpu.pcie_generation"},
    "nvmlDeviceGetMaxPcieLinkGeneration": {"gpu.pcie_generation_max"},
    "nvmlDeviceGetCurrPcieLinkWidth": {"gpu.pcie_width"},
    "nvmlDeviceGetMaxPcieLinkWidth": {"gpu.pcie_width_max"},
    "nvmlDeviceGetCurrentClocksEventReasons": {"gpu.throttle_reasons"},
    "nvmlDeviceGetMemoryInfo": {
        "gpu.memory_total_bytes", "gpu.memory_used_bytes", "gpu.memory_reserved_bytes"},
    "nvmlDeviceGetComputeRunningProcesses": {"gpu.compute_processes"},
}
OF_THE_HOST = {
    "nvmlSystemGetDriverVersion": {"nvml.driver_version"},
    "nvmlSystemGetCudaDriverVersion": {"nvml.cuda_version"},
}
# Functions that have an older form, which answers when they are not there.
ALSO_UNDER_ANOTHER_NAME = {
    "nvmlDeviceGetMemoryInfo_v2",
    "nvmlDeviceGetComputeRunningProcesses_v3",
    "nvmlSystemGetCudaDriverVersion_v2",
    "nvmlInitWithFlags",
}
VERSIONED = {"nvmlDeviceGetPciInfo": "_v3", "nvmlSystemGetCudaDriverVersion": "_v2"}
LACKED = sorted(
    {*OF_A_CARD, *OF_THE_HOST, *ALSO_UNDER_ANOTHER_NAME, "nvmlDeviceGetGpuFabricInfo"}
    - {"nvmlDeviceGetComputeRunningProcesses", "nvmlDeviceGetMemoryInfo"}
)
PARTS = 4
NOT_SUPPORTED, NO_PERMISSION, UNKNOWN_ERROR = 3, 4, 999


@cache
def cards_look(fault: bool, code: int = UNKNOWN_ERROR) -> Looked:
    """Look at a machine with a card for each function; with `fault`, each card fails in its own."""
    machine = nvidia_machine(driver=DRIVER, cuda=CUDA, cards=[H100] * len(OF_A_CARD))
    lines = [f"gpu.{index}.rc.{name}={code}" for index, name in enumerate(OF_A_CARD)]
    return look(machine.adding(shim="\n".join(lines) if fault else ""), timeout_seconds=10)


@pytest.mark.parametrize("function", OF_A_CARD)
def test_function_that_fails_on_one_card(function: str) -> None:
    """An unknown error of one function is unknown for that card; its other facts and other cards stay."""
    index = list(OF_A_CARD).index(function)
    before, after = cards_look(False), cards_look(True)
    lost = {name for name in changed(before, after) if name.split(" ")[0] == str(index)}
    assert lost <= {f"{index} {name}" for name in OF_A_CARD[function]}
    for name in OF_A_CARD[function]:
        fact = after.fact(name, card=index)
        assert "unknown" in fact or fact == before.fact(name, card=index) or "libcuda" in fact["source"], fact


def test_no_other_fact_is_lost_when_every_card_fails_somewhere() -> None:
    """Nothing of the host changes, and there are as many cards as before."""
    lost = changed(cards_look(False), cards_look(True))
    assert {name for name in lost if not name.split(" ")[0].isdigit()} == set()
    assert len(cards_look(True).report["snapshot"]["gpus"]) == len(OF_A_CARD)


@pytest.mark.parametrize(("code", "kind"), [(NOT_SUPPORTED, "absent"), (NO_PERMISSION, "unknown")])
def test_what_a_card_does_not_offer_is_absent(code: int, kind: str) -> None:
    """Not supported is an answer; a refusal is none."""
    looked = look(HEALTHY.adding(shim=f"rc.nvmlDeviceGetEccMode={code}\nrc.nvmlDeviceGetMigMode={code}"))
    assert [set(looked.fact(name)) for name in ("gpu.ecc_mode", "gpu.mig_mode")] == [{kind}, {kind}]
    assert changed(healthy(), looked) <= {
        f"0 {name}" for name in ("gpu.ecc_mode", "gpu.mig_mode", "gpu.mig_pending", "gpu.mig_instances")
    }


@pytest.mark.parametrize("function", [*OF_THE_HOST, "nvmlDeviceGetCount", "nvmlDeviceGetHandleByIndex"])
def test_function_of_the_host_that_fails(function: str) -> None:
    """The version and the number of cards are asked alone too; the cards are known from elsewhere."""
    looked = look(HEALTHY.adding(shim=f"rc.{function}={UNKNOWN_ERROR}"))
    lost = changed(healthy(), looked)
    assert lost <= OF_THE_HOST.get(function, of_probe("nvml"))
    assert len(looked.report["snapshot"]["gpus"]) == 1
    assert looked.fact("gpu.compute_capability")["value"] == "9.0"


@cache
def lacking_look(part: int) -> Looked:
    """Look with a library that lacks every fourth function: the facts of each are its own."""
    without = [name + suffix for name in LACKED[part::PARTS] for suffix in ("", VERSIONED.get(name, ""))]
    library = build.nvml(driver_version=DRIVER, without=tuple(dict.fromkeys(without)))
    return look(HEALTHY.adding(libraries={LIBNVIDIA_ML: library}))


def facts_of(function: str) -> set[str]:
    """Return the names of what is lost without a function, as `Looked.facts` has them."""
    return OF_THE_HOST.get(function) or {f"0 {name}" for name in OF_A_CARD.get(function, set())}


@pytest.mark.parametrize("part", range(PARTS))
def test_functions_that_the_library_lacks(part: int) -> None:
    """What a library without some functions does not offer is absent, not unknown; all else is answered."""
    looked = lacking_look(part)
    lost = changed(healthy(), looked) - {"loader.files"}  # another file, another size
    assert lost <= {name for function in LACKED[part::PARTS] for name in facts_of(function)}
    assert {looked.facts()[name] for name in lost} <= {"absent"}
    assert looked.exit_code == 0


def test_library_of_an_old_branch() -> None:
    """A library that lacks two dozen functions at once still says who the card is."""
    library = build.nvml(driver_version=DRIVER, without=build.FUNCTIONS_AFTER_R418)
    looked = look(replace(HEALTHY, libraries={**HEALTHY.libraries, LIBNVIDIA_ML: library}))
    assert looked.fact("gpu.name") == healthy().fact("gpu.name")
    assert looked.fact("gpu.memory_total_bytes")["value"] == healthy().fact("gpu.memory_total_bytes")["value"]
    assert "absent" in looked.fact("gpu.mig_mode")
    assert looked.exit_code == 0


def test_card_that_falls_off_the_bus_midway() -> None:
    """A card that answers no more after one call keeps what it said before and is called lost."""
    looked = look(HEALTHY.adding(shim="gpu.0.lost_after=nvmlDeviceGetName"))
    assert looked.fact("gpu.lost")["value"] is True
    assert looked.fact("gpu.name") == healthy().fact("gpu.name")
    assert "unknown" in looked.fact("gpu.ecc_mode")
