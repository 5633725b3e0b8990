"""The NVML probe: the real nvidia-ml-py on scripted and on NVIDIA's own libraries, and the reader."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudoctor.facts import promised
from gpudoctor.model import Absent, Fact, Facts, Known, Scope, Unknown
from gpudoctor.probes import nvml
from gpudoctor.probes.raw import Answer
from tests.shim import build
from tests.unit.driver_answers import (
    DRIVER, TWO_CARDS, ask, machine, no_node_left_behind, old_interpreter, real_libraries,
    single_file_binding,
)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
FIRST_CARD = {
    "gpu.index": 0,
    "gpu.name": "NVIDIA A100-SXM4-80GB",
    "gpu.brand": "tesla",
    "gpu.uuid": "GPU-00000000-1111-2222-3333-444444444440",
    "gpu.bus_id": "0000:1b:00.0",
    "gpu.in_nvml": True,
    "gpu.compute_capability": "8.0",
    "gpu.memory_total_bytes": 85899345920,
    "gpu.memory_used_bytes": 1073741824,
    "gpu.memory_reserved_bytes": 0,
    "gpu.mig_mode": False,
    "gpu.mig_pending": False,
    "gpu.mig_instances": 0,
    "gpu.ecc_mode": True,
    "gpu.ecc_uncorrected": 3,
    "gpu.pcie_generation": 1,
    "gpu.pcie_generation_max": 4,
    "gpu.pcie_width": 8,
    "gpu.pcie_width_max": 16,
    "gpu.throttle_reasons": ("hw-slowdown", "hw-thermal-slowdown"),
    "gpu.compute_mode": "default",
    "gpu.persistence": True,
    "gpu.compute_processes": 2,
    "gpu.lost": False,
    "gpu.nvml_code": 0,
}
FACTS_OF_FUNCTION = {
    "nvmlDeviceGetName": {"gpu.name"},
    "nvmlDeviceGetBrand": {"gpu.brand"},
    "nvmlDeviceGetUUID": {"gpu.uuid"},
    "nvmlDeviceGetPciInfo": {"gpu.bus_id"},
    "nvmlDeviceGetCudaComputeCapability": {"gpu.compute_capability"},
    "nvmlDeviceGetMemoryInfo": {
        "gpu.memory_total_bytes", "gpu.memory_used_bytes", "gpu.memory_reserved_bytes"},
    "nvmlDeviceGetMigMode": {"gpu.mig_mode", "gpu.mig_pending", "gpu.mig_instances"},
    "nvmlDeviceGetEccMode": {"gpu.ecc_mode"},
    "nvmlDeviceGetTotalEccErrors": {"gpu.ecc_uncorrected"},
    "nvmlDeviceGetCurrPcieLinkGeneration": {"gpu.pcie_generation"},
    "nvmlDeviceGetMaxPcieLinkGeneration": {"gpu.pcie_generation_max"},
    "nvmlDeviceGetCurrPcieLinkWidth": {"gpu.pcie_width"},
    "nvmlDeviceGetMaxPcieLinkWidth": {"gpu.pcie_width_max"},
    "nvmlDeviceGetCurrentClocksEventReasons": {"gpu.throttle_reasons"},
    "nvmlDeviceGetComputeMode": {"gpu.compute_mode"},
    "nvmlDeviceGetPersistenceMode": {"gpu.persistence"},
    "nvmlDeviceGetComputeRunningProcesses": {"gpu.compute_processes"},
}


def cards_of(answer: Answer) -> tuple[Facts, ...]:
    cards = nvml.read_gpus(answer)
    assert isinstance(cards, tuple)
    return cards


def values(facts: Facts) -> dict[str, object]:
    return {name: fact.value for name, fact in facts.items() if isinstance(fact, Known)}


def kinds(facts: Facts, kind: type[Fact]) -> set[str]:
    return {name for name, fact in facts.items() if isinstance(fact, kind)}


def test_a_healthy_machine_is_read_whole(tmp_path: Path) -> None:
    """Every promised fact of host and card, from the real binding."""
    answer = ask("nvml", machine(tmp_path, TWO_CARDS))
    assert values(nvml.read(answer)) == {
        "nvml.library": str(tmp_path / f"libnvidia-ml.so.{DRIVER}"),
        "nvml.init_code": 0,
        "nvml.driver_version": DRIVER,
        "nvml.cuda_version": "12.8",
        "nvml.gpu_count": 2,
    }
    first, second = cards_of(answer)
    assert values(first) == FIRST_CARD
    assert values(second)["gpu.bus_id"] == "0000:af:00.0"
    assert values(second)["gpu.brand"] == "unknown"  # to the toolkit, as all brands that came later
    assert isinstance(second["gpu.ecc_mode"], Absent)  # not supported there


@pytest.mark.parametrize("function", sorted(FACTS_OF_FUNCTION))
def test_a_failing_call_costs_only_its_own_facts(function: str, tmp_path: Path) -> None:
    """Error 999 of one function leaves everything else as it was."""
    answer = ask("nvml", machine(tmp_path, TWO_CARDS + f"gpu.0.rc.{function}=999\n"))
    first = cards_of(answer)[0]
    assert kinds(first, Unknown) == FACTS_OF_FUNCTION[function]
    assert values(first) == {k: v for k, v in FIRST_CARD.items() if k not in FACTS_OF_FUNCTION[function]}
    assert "999" in str(next(iter(f for f in first.values() if isinstance(f, Unknown))))


def test_what_an_old_library_lacks_is_absent(tmp_path: Path) -> None:
    """A driver of the R418 branch knows no MIG; memory and clocks come from the older functions."""
    old = build.nvml(driver_version=DRIVER, without=build.FUNCTIONS_AFTER_R418)
    first = cards_of(ask("nvml", machine(tmp_path, TWO_CARDS, nvml=old)))[0]
    absent = {"gpu.mig_mode", "gpu.mig_pending", "gpu.mig_instances", "gpu.compute_processes"}
    assert kinds(first, Absent) == absent
    assert values(first) == {k: v for k, v in FIRST_CARD.items() if k not in absent}


def test_a_library_from_before_init_with_flags_is_initialised(tmp_path: Path) -> None:
    """The binding calls nvmlInitWithFlags only; older libraries have nvmlInit_v2."""
    old = build.nvml(driver_version=DRIVER, without=("nvmlInitWithFlags",))
    assert values(cards_of(ask("nvml", machine(tmp_path, TWO_CARDS, nvml=old)))[0]) == FIRST_CARD


def test_a_card_without_a_handle_is_lost(tmp_path: Path) -> None:
    """Error 15 for the handle: the card is counted, lost, and the other one is untouched."""
    first, second = cards_of(ask("nvml", machine(tmp_path, TWO_CARDS + "gpu.1.handle_rc=15\n")))
    assert values(first) == FIRST_CARD
    assert values(second) == {"gpu.index": 1, "gpu.in_nvml": True, "gpu.lost": True, "gpu.nvml_code": 15}


def test_a_card_lost_midway_keeps_what_it_said_before(tmp_path: Path) -> None:
    """The call at which it was lost is named."""
    script = TWO_CARDS + "gpu.0.lost_after=nvmlDeviceGetUUID\n"
    first = cards_of(ask("nvml", machine(tmp_path, script)))[0]
    assert values(first)["gpu.uuid"] == FIRST_CARD["gpu.uuid"]
    assert first["gpu.lost"] == Known(value=True, source="NVML nvmlDeviceGetName returned 15 (GPU is lost)")
    assert isinstance(first["gpu.memory_total_bytes"], Unknown)
    assert values(first)["gpu.nvml_code"] == 0


def test_a_call_that_hangs_leaves_the_others(tmp_path: Path) -> None:
    """What was asked before is kept, and the identity of every card is asked first."""
    folder = machine(tmp_path, TWO_CARDS + "hang.nvmlDeviceGetEccMode=60\n")
    answer = ask("nvml", folder, request={"answer_within_seconds": 1.0})
    assert answer.outcome == "ok"
    assert answer.seconds < 10
    first, second = cards_of(answer)
    assert values(first)["gpu.compute_mode"] == "default"
    assert values(second)["gpu.uuid"] == "GPU-00000000-1111-2222-3333-444444444441"
    assert first["gpu.ecc_mode"] == Unknown(reason="nvmlDeviceGetEccMode of card 0 did not return")
    assert values(nvml.read(answer))["nvml.gpu_count"] == 2


def test_a_crash_is_the_end_of_the_child_only(tmp_path: Path) -> None:
    """Every fact is Unknown, with the signal as the reason."""
    answer = ask("nvml", machine(tmp_path, TWO_CARDS + "crash.nvmlDeviceGetCount=1\n"))
    assert answer.outcome == "signal"
    assert all("SIGSEGV" in fact.reason for fact in nvml.read(answer).values() if isinstance(fact, Unknown))
    assert kinds(nvml.read(answer), Unknown) == set(promised("nvml", Scope.HOST))
    assert isinstance(nvml.read_gpus(answer), Unknown)


@pytest.mark.parametrize("code", [2, 12, 15, 17, 18, 999])
def test_a_failing_init_is_told_by_its_code(code: int, tmp_path: Path) -> None:
    """Nothing else could be asked, so nothing else is known; that is not "no cards"."""
    answer = ask("nvml", machine(tmp_path, TWO_CARDS + f"rc.nvmlInit={code}\n"))
    host = nvml.read(answer)
    assert values(host).keys() == {"nvml.library", "nvml.init_code"}
    assert values(host)["nvml.init_code"] == code
    assert isinstance(nvml.read_gpus(answer), Unknown)


def test_no_library_is_absent_not_unknown(tmp_path: Path) -> None:
    """We looked where the loader looks."""
    answer = ask("nvml", tmp_path)
    facts = nvml.read(answer)
    if isinstance(facts["nvml.library"], Known):
        pytest.skip("this machine has an NVML of its own")
    assert kinds(facts, Absent) == set(promised("nvml", Scope.HOST))
    assert isinstance(nvml.read_gpus(answer), Absent)


@pytest.mark.parametrize("broken", [build.empty, build.text])
def test_a_file_that_is_no_library_is_absent_in_the_loaders_words(broken: Any, tmp_path: Path) -> None:
    """The file is named in the source."""
    build.place(broken(), tmp_path, soname=build.NVML_SONAME)
    library = nvml.read(ask("nvml", tmp_path))["nvml.library"]
    assert isinstance(library, Absent)
    assert str(tmp_path / "libnvidia-ml.so.1") in library.source


@pytest.mark.parametrize(("mig", "expected"), [("gpu.0.mig_instances=2\n", 2), ("", 0)])
def test_mig_instances_are_counted(mig: str, expected: int, tmp_path: Path) -> None:
    """MIG mode with two instances, and MIG mode with none."""
    script = TWO_CARDS.replace("gpu.0.mig=0\n", "gpu.0.mig=1\n") + mig
    first = values(cards_of(ask("nvml", machine(tmp_path, script)))[0])
    assert (first["gpu.mig_mode"], first["gpu.mig_instances"]) == (True, expected)


def test_nvidias_own_library_without_a_driver() -> None:
    """The real libnvidia-ml on a machine without the kernel module: 9, which is not a failure to look."""
    if Path("/proc/driver/nvidia/version").exists():
        pytest.skip("this machine has a driver")
    folder = real_libraries()
    with no_node_left_behind():
        answer = ask("nvml", folder)
    assert values(nvml.read(answer))["nvml.init_code"] == 9
    assert nvml.read_gpus(answer) == Absent(source="NVML nvmlInit returned 9 (Driver Not Loaded)")


@pytest.mark.parametrize("version", ["3.6", "3.13"])
def test_the_collector_runs_in_other_interpreters(version: str, tmp_path: Path) -> None:
    """With nvidia-ml-py as a single file beside it, as it travels."""
    folder = machine(tmp_path, TWO_CARDS)
    variables = {"PYTHONPATH": str(single_file_binding(tmp_path / "binding"))}
    answer = ask("nvml", folder, interpreter=old_interpreter(version), environment=variables)
    assert values(cards_of(answer)[0]) == FIRST_CARD


def test_an_interpreter_without_the_binding_says_so(tmp_path: Path) -> None:
    """The library is still known."""
    answer = ask("nvml", machine(tmp_path, TWO_CARDS), interpreter=old_interpreter("3.6"))
    facts = nvml.read(answer)
    assert isinstance(facts["nvml.library"], Known)
    assert facts["nvml.gpu_count"] == Unknown(
        reason="nvidia-ml-py cannot be imported: ModuleNotFoundError: No module named 'pynvml'")


def assert_total(answer: Answer) -> None:
    assert set(nvml.read(answer)) == set(promised("nvml", Scope.HOST))
    cards = nvml.read_gpus(answer)
    for card in cards if isinstance(cards, tuple) else ():
        assert set(card) == set(promised("nvml", Scope.GPU))


@given(data=JSON, outcome=st.sampled_from(["ok", "timeout", "garbled", "not-asked"]))
def test_any_json_is_read(data: Any, outcome: str) -> None:
    """No exception, and every promised name, whatever comes."""
    assert_total(Answer(outcome=outcome, seconds=0.0, data=data))


@given(first=JSON, second=JSON, code=JSON, count=JSON, slots=JSON)
def test_any_json_inside_a_good_answer_is_read(
    first: Any, second: Any, code: Any, count: Any, slots: Any
) -> None:
    """The same below the level where the shape is right."""
    names = [*FACTS_OF_FUNCTION, "nvmlDeviceGetMaxMigDeviceCount", "nvmlDeviceGetMemoryInfo_v2"]
    asked = {name: {"code": 0, "value": first} for name in names}
    asked["nvmlDeviceGetMigMode"] = {"code": 0, "value": [1, 1]}
    handle = {"nvmlDeviceGetHandleByIndex": {"code": 0}}
    slot = [{"nvmlDeviceGetMigDeviceHandleByIndex": {"code": code}}]
    cards = [{"index": 0, "calls": asked | handle, "mig_slots": slot}, second,
             {"index": 1, "calls": dict.fromkeys(names, second) | handle, "mig_slots": slots}]
    calls = {"nvmlInit": {"code": 0}, "nvmlDeviceGetCount": {"code": 0, "value": count},
             "nvmlSystemGetDriverVersion": first}
    data = {"load": {"path": first}, "calls": calls, "cards": cards}
    assert_total(Answer(outcome="ok", seconds=0.0, data=data))
    calls["nvmlDeviceGetCount"] = {"code": 0, "value": 3}
    assert_total(Answer(outcome="ok", seconds=0.0, data=data))
