"""The driver API probe: the collector on scripted, stub and NVIDIA's own libcuda, and its reader."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpudoctor
from gpudoctor import ruledb
from gpudoctor.facts import promised
from gpudoctor.model import Absent, Fact, Facts, Known, Scope, Unknown
from gpudoctor.payloads import asking
from gpudoctor.probes import cuda
from gpudoctor.probes.raw import Answer
from tests.shim import build
from tests.unit.driver_answers import (
    DRIVER, TWO_CARDS, ask, machine, no_node_left_behind, old_interpreter, real_libraries,
)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
CARD_FACTS = {
    "gpu.in_cuda", "gpu.name", "gpu.uuid", "gpu.bus_id", "gpu.compute_capability", "gpu.compute_mode",
    "gpu.memory_total_bytes",
}
FIRST_CARD = {
    "gpu.in_cuda": True,
    "gpu.name": "NVIDIA A100-SXM4-80GB",
    "gpu.uuid": "GPU-00000000-1111-2222-3333-444444444440",
    "gpu.bus_id": "0000:1b:00.0",
    "gpu.compute_capability": "8.0",
    "gpu.compute_mode": "default",
    "gpu.memory_total_bytes": 85899345920,
}


def cards_of(answer: Answer) -> tuple[Facts, ...]:
    cards = cuda.read_gpus(answer)
    assert isinstance(cards, tuple)
    return cards


def values(facts: Facts) -> dict[str, object]:
    return {name: fact.value for name, fact in facts.items() if isinstance(fact, Known)}


def kinds(facts: Facts, kind: type[Fact]) -> set[str]:
    return {name for name, fact in facts.items() if isinstance(fact, kind)}


def test_a_healthy_machine_is_read_whole(tmp_path: Path) -> None:
    """Which file, which release by its bytes, and both devices."""
    answer = ask("cuda", machine(tmp_path, TWO_CARDS))
    host = values(cuda.read(answer))
    assert host == {
        "cuda.ended": "answered",
        "cuda.library": str(tmp_path / f"libcuda.so.{DRIVER}"),
        "cuda.library_version": DRIVER,
        "cuda.init_code": 0,
        "cuda.init_name": "CUDA_SUCCESS",
        "cuda.ceiling": "12.8",
        "cuda.device_count": 2,
        "cuda.devices": (
            {"uuid": "GPU-00000000-1111-2222-3333-444444444440", "bus_id": "0000:1b:00.0",
             "name": "NVIDIA A100-SXM4-80GB", "compute_capability": "8.0"},
            {"uuid": "GPU-00000000-1111-2222-3333-444444444441", "bus_id": "0000:af:00.0",
             "name": "NVIDIA L4", "compute_capability": "8.9"},
        ),
    }
    assert isinstance(cuda.read(answer)["cuda.load_error"], Absent)
    assert values(cards_of(answer)[0]) == FIRST_CARD


@pytest.mark.parametrize("code", [2, 3, 34, 46, 101, 304, 802, 803, 804, 805, 999])
def test_a_failing_init_keeps_its_code_and_name(code: int, tmp_path: Path) -> None:
    """What needs no cuInit is still known; what does is Unknown, never "no devices"."""
    answer = ask("cuda", machine(tmp_path, TWO_CARDS + f"rc.cuInit={code}\n"))
    facts = cuda.read(answer)
    assert values(facts)["cuda.init_code"] == code
    assert str(values(facts)["cuda.init_name"]).startswith("CUDA_ERROR_")
    assert values(facts)["cuda.ceiling"] == "12.8"
    assert kinds(facts, Unknown) == {"cuda.device_count", "cuda.devices"}
    assert isinstance(cuda.read_gpus(answer), Unknown)


def test_no_device_is_an_answer(tmp_path: Path) -> None:
    """100 from cuInit says that there are none: looked, and empty."""
    answer = ask("cuda", machine(tmp_path, TWO_CARDS + "rc.cuInit=100\n"))
    assert values(cuda.read(answer))["cuda.device_count"] == 0
    assert values(cuda.read(answer))["cuda.devices"] == ()
    assert cuda.read_gpus(answer) == ()


def test_the_toolkits_stub_answers_34_and_names_nothing(tmp_path: Path) -> None:
    """Its cuGetErrorName fails like everything else in it."""
    answer = ask("cuda", machine(tmp_path, TWO_CARDS, cuda=build.stub_cuda()))
    facts = cuda.read(answer)
    assert values(facts)["cuda.init_code"] == 34
    assert isinstance(facts["cuda.init_name"], Absent)
    assert isinstance(facts["cuda.ceiling"], Unknown)


def test_no_library_is_absent_with_the_loaders_words(tmp_path: Path) -> None:
    """Everything but the error is Absent."""
    answer = ask("cuda", tmp_path)
    facts = cuda.read(answer)
    if isinstance(facts["cuda.library"], Known):
        pytest.skip("this machine has a libcuda of its own")
    assert "cannot open shared object file" in str(values(facts)["cuda.load_error"])
    assert kinds(facts, Absent) == set(promised("cuda", Scope.HOST)) - {"cuda.load_error", "cuda.ended"}
    assert isinstance(cuda.read_gpus(answer), Absent)


@pytest.mark.parametrize(("content", "words"), [
    (b"", "file too short"),
    (b"no library\n" * 99, "invalid ELF header"),
])
def test_a_file_that_is_no_library_is_told_in_the_loaders_words(
    content: bytes, words: str, tmp_path: Path
) -> None:
    """The first libcuda on the path is empty or a text."""
    (tmp_path / "libcuda.so.1").write_bytes(content)
    assert words in str(values(cuda.read(ask("cuda", tmp_path)))["cuda.load_error"])


def test_a_hanging_init_keeps_what_was_asked_before(tmp_path: Path) -> None:
    """The file, its release and the ceiling need no cuInit."""
    folder = machine(tmp_path, TWO_CARDS + "hang.cuInit=60\n")
    answer = ask("cuda", folder, request={"answer_within_seconds": 1.0})
    assert answer.outcome == "ok"
    assert answer.seconds < 10
    facts = cuda.read(answer)
    assert values(facts).keys() == {"cuda.library", "cuda.library_version", "cuda.ceiling", "cuda.ended"}
    assert values(facts)["cuda.ended"] == "hung"
    assert facts["cuda.init_code"] == Unknown(reason="cuInit did not return")


def test_a_crash_is_the_end_of_the_child_only(tmp_path: Path) -> None:
    """Every fact but that is Unknown, with the signal as the reason."""
    answer = ask("cuda", machine(tmp_path, TWO_CARDS + "crash.cuInit=1\n"))
    assert kinds(cuda.read(answer), Unknown) == set(promised("cuda", Scope.HOST)) - {"cuda.ended"}
    assert values(cuda.read(answer)) == {"cuda.ended": "crashed"}
    assert cuda.read_gpus(answer) == Unknown(reason="the probe ended with signal: SIGSEGV")


@pytest.mark.parametrize(("outcome", "detail", "expected"), [
    ("signal", "SIGSEGV: a last line", "crashed"),
    ("signal", "signal 11", "crashed"),
    ("signal", "SIGKILL", None),
    ("signal", "signal 9", None),
    ("signal", "signal 99", None),
    ("timeout", "no end within 6 s", None),
    ("exit", "exit status 1", None),
    ("not-started", "", None),
])
def test_only_a_fault_of_its_own_is_called_a_crash(outcome: str, detail: str, expected: str | None) -> None:
    """Who was killed for memory, or came too late on a slow machine, tells nothing of libcuda."""
    fact = cuda.read(Answer(outcome=outcome, seconds=0.1, detail=detail))["cuda.ended"]
    assert (fact.value if isinstance(fact, Known) else None) == expected


@pytest.mark.parametrize(("function", "lost"), [
    ("cuDeviceGetUuid_v2", set()),
    ("cuDeviceGetPCIBusId", {"gpu.bus_id"}),
    ("cuDeviceTotalMem_v2", {"gpu.memory_total_bytes"}),
    ("cuGetErrorName", set()),
])
def test_a_library_without_a_function_loses_only_its_facts(
    function: str, lost: set[str], tmp_path: Path
) -> None:
    """Older libraries lack newer functions; where there is an older form, it is used."""
    library = build.cuda(driver_version=DRIVER, without=(function,))
    card = cards_of(ask("cuda", machine(tmp_path, TWO_CARDS, cuda=library)))[0]
    assert kinds(card, Absent) == lost
    assert values(card) == {k: v for k, v in FIRST_CARD.items() if k not in lost}


def test_without_the_function_that_names_errors_the_name_is_absent(tmp_path: Path) -> None:
    """The code is still exact."""
    library = build.cuda(driver_version=DRIVER, without=("cuGetErrorName",))
    facts = cuda.read(ask("cuda", machine(tmp_path, TWO_CARDS + "rc.cuInit=802\n", cuda=library)))
    assert values(facts)["cuda.init_code"] == 802
    assert isinstance(facts["cuda.init_name"], Absent)


def test_a_mig_instance_lends_its_card_neither_uuid_nor_memory(tmp_path: Path) -> None:
    """Its bus id is the card's; its UUID and memory are its own."""
    script = TWO_CARDS.replace("gpu.0.mig=0\n", "gpu.0.mig=1\ngpu.0.mig_instances=2\n")
    answer = ask("cuda", machine(tmp_path, script))
    card = cards_of(answer)[0]
    assert kinds(card, Absent) == {"gpu.uuid", "gpu.memory_total_bytes"}
    assert values(card)["gpu.bus_id"] == "0000:1b:00.0"
    devices = values(cuda.read(answer))["cuda.devices"]
    assert isinstance(devices, tuple)
    assert isinstance(devices[0], dict)
    assert str(devices[0]["uuid"]).startswith("MIG-")


def test_where_proc_cannot_be_read_the_loader_names_the_file() -> None:
    """Both ways of finding a loaded library's file agree."""
    function = ctypes.CDLL(None).cos if hasattr(ctypes.CDLL(None), "cos") else ctypes.CDLL("libm.so.6").cos
    address = ctypes.cast(function, ctypes.c_void_p).value
    assert address is not None
    by_loader = asking._dladdr(address)
    assert by_loader is not None
    assert os.path.realpath(by_loader) == asking._mapping_at(address)


def test_the_environment_of_the_child_is_in_the_answer(tmp_path: Path) -> None:
    """So that a device list which CUDA_VISIBLE_DEVICES cut short can be told from a whole one."""
    answer = ask("cuda", machine(tmp_path, TWO_CARDS), environment={"CUDA_VISIBLE_DEVICES": "1"})
    assert answer.data["environment"]["CUDA_VISIBLE_DEVICES"] == "1"
    assert [values(card)["gpu.name"] for card in cards_of(answer)] == ["NVIDIA L4"]


def test_nvidias_own_library_without_a_driver() -> None:
    """The real libcuda on a machine without the kernel module: 100, and a ceiling all the same."""
    if Path("/proc/driver/nvidia/version").exists():
        pytest.skip("this machine has a driver")
    folder = real_libraries()
    with no_node_left_behind():
        answer = ask("cuda", folder)
    host = values(cuda.read(answer))
    release = next(folder.glob("libcuda.so.[0-9]*.*")).name.removeprefix("libcuda.so.")
    assert (host["cuda.init_code"], host["cuda.init_name"]) == (100, "CUDA_ERROR_NO_DEVICE")
    assert host["cuda.library_version"] == release
    assert host["cuda.ceiling"] == {"535": "12.2", "550": "12.4"}[release.partition(".")[0]]
    assert cuda.read_gpus(answer) == ()


def test_the_table_of_errors_says_what_nvidias_own_library_says() -> None:
    """Of rules/tables/cuda_errors.toml cuGetErrorName of the real libcuda names those that its CUDA has."""
    library = ctypes.CDLL(str(real_libraries() / "libcuda.so.1"))
    number, text = ctypes.c_int(), ctypes.c_char_p()
    assert library.cuDriverGetVersion(ctypes.byref(number)) == 0
    release = number.value // 1000, number.value % 1000 // 10
    table = ruledb.load(str(Path(gpudoctor.__file__).parents[1] / "rules")).tables["cuda_errors"]
    rows = {int(str(row["code"])): row for row in table.rows}
    named = {code: (text.value or b"").decode() for code in rows
             if library.cuGetErrorName(code, ctypes.byref(text)) == 0}
    assert named == {code: row["name"] for code, row in rows.items()
                     if tuple(map(int, str(row["since"]).split("."))) <= release}


@pytest.mark.parametrize("version", ["3.6", "3.13"])
def test_the_collector_runs_in_other_interpreters(version: str, tmp_path: Path) -> None:
    """The patient's interpreter may be of any age."""
    answer = ask("cuda", machine(tmp_path, TWO_CARDS), interpreter=old_interpreter(version))
    assert values(cards_of(answer)[0]) == FIRST_CARD


def assert_total(answer: Answer) -> None:
    assert set(cuda.read(answer)) == set(promised("cuda", Scope.HOST))
    cards = cuda.read_gpus(answer)
    for card in cards if isinstance(cards, tuple) else ():
        assert set(card) == CARD_FACTS
    assert set(promised("cuda", Scope.GPU)) <= CARD_FACTS


@given(data=JSON, outcome=st.sampled_from(["ok", "timeout", "garbled", "not-asked"]))
def test_any_json_is_read(data: Any, outcome: str) -> None:
    """No exception, and every promised name, whatever comes."""
    assert_total(Answer(outcome=outcome, seconds=0.0, data=data))


@given(first=JSON, second=JSON, count=JSON)
def test_any_json_inside_a_good_answer_is_read(first: Any, second: Any, count: Any) -> None:
    """The same below the level where the shape is right."""
    names = ("cuDeviceGetName", "cuDeviceGetPCIBusId", "cuDeviceGetUuid_v2", "compute_capability_major",
             "compute_capability_minor", "compute_mode", "cuDeviceTotalMem_v2")
    devices = [{"calls": {name: {"code": 0, "value": first} for name in names}},
               {"calls": dict.fromkeys(names, second)}, {"calls": first}, second]
    calls = {"cuInit": {"code": 0, "name": first}, "cuDriverGetVersion": second,
             "cuDeviceGetCount": {"code": 0, "value": count}}
    data = {"load": {"path": second}, "library_version": first, "calls": calls, "devices": devices}
    assert_total(Answer(outcome="ok", seconds=0.0, data=data))
    calls["cuDeviceGetCount"] = {"code": 0, "value": 4}
    assert_total(Answer(outcome="ok", seconds=0.0, data=data))
