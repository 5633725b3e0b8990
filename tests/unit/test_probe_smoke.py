"""The checked driver-API kernel: its text, what becomes of it on scripted drivers, that all is given back."""

from __future__ import annotations

import ctypes
import mmap
import shutil
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudoctor.facts import promised
from gpudoctor.model import Absent, Facts, Known, Scope, Unknown
from gpudoctor.payloads import smoke as payload
from gpudoctor.payloads.readable import readable_here
from gpudoctor.probes import smoke
from gpudoctor.probes.raw import Answer
from tests.shim import build
from tests.unit.driver_answers import DRIVER, TWO_CARDS, ask, machine, old_interpreter

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
GIVEN_BACK = {
    "cuCtxCreate_v2": "cuCtxDestroy_v2",
    "cuModuleLoadData": "cuModuleUnload",
    "cuMemAlloc_v2": "cuMemFree_v2",
}


def kernels(answer: Answer) -> list[Known]:
    cards = smoke.read_gpus(answer)
    assert isinstance(cards, tuple)
    facts = [card["gpu.driver_kernel"] for card in cards]
    assert all(isinstance(fact, Known) for fact in facts)
    return [fact for fact in facts if isinstance(fact, Known)]


def answers(answer: Answer) -> list[object]:
    """Return the code that ended the kernel on each device."""
    cards = smoke.read_gpus(answer)
    assert isinstance(cards, tuple)
    return [fact.value for card in cards if isinstance(fact := card["gpu.driver_kernel_answer"], Known)]


def test_a_scripted_driver_proves_nothing(tmp_path: Path) -> None:
    """It runs the kernel on the host; whatever it says of its memory, this process can read that itself."""
    answer = ask("smoke", machine(tmp_path, TWO_CARDS))
    trial = answer.data["devices"][0]["trial"]
    assert (trial["wrong_values"], trial["largest_error"], trial["values"]) == (0, 0.0, payload.VALUES)
    assert [fact.value for fact in kernels(answer)] == ["no-proof", "no-proof"]
    assert answers(answer) == ["0", "0"]
    assert "this process itself can read" in kernels(answer)[0].source


def test_a_driver_that_cannot_say_where_memory_lies_gives_no_proof(tmp_path: Path) -> None:
    """The function is missing."""
    library = build.cuda(driver_version=DRIVER, without=("cuPointerGetAttribute",))
    assert kernels(ask("smoke", machine(tmp_path, TWO_CARDS, cuda=library)))[0].value == "no-proof"


def test_memory_that_cannot_be_read_here_is_told_from_ordinary_memory() -> None:
    """The system call answers where a plain read would end the process."""
    readable = mmap.mmap(-1, mmap.PAGESIZE)
    address = ctypes.addressof(ctypes.c_char.from_buffer(readable))
    assert readable_here(address)
    assert ctypes.CDLL(None).mprotect(ctypes.c_void_p(address), ctypes.c_size_t(mmap.PAGESIZE), 0) == 0
    assert not readable_here(address)
    assert ctypes.CDLL(None).mprotect(ctypes.c_void_p(address), ctypes.c_size_t(mmap.PAGESIZE), 3) == 0


def test_one_wrong_value_of_many_is_found(tmp_path: Path) -> None:
    """A card that computes wrongly is not a card that works."""
    fact = kernels(ask("smoke", machine(tmp_path, TWO_CARDS + "corrupt=1\n")))[0]
    assert fact.value == "wrong-result"
    assert fact.source == f"the checked kernel: 1 of {payload.VALUES} values are wrong, by at most 1.0"


@pytest.mark.parametrize("function", [
    "cuCtxCreate_v2", "cuModuleLoadData", "cuModuleGetFunction", "cuMemAlloc_v2", "cuMemcpyHtoD_v2",
    "cuLaunchKernel", "cuCtxSynchronize", "cuMemcpyDtoH_v2",
])
def test_a_failing_call_is_named_and_everything_is_given_back(function: str, tmp_path: Path) -> None:
    """Whatever was made before the failure is unmade, on each card."""
    log = tmp_path / "log"
    folder = machine(tmp_path / "driver", TWO_CARDS + f"rc.{function}=700\nlog={log}\n")
    answer = ask("smoke", folder)
    first, second = kernels(answer)
    assert (first.value, second.value) == ("failed", "failed")
    assert answers(answer) == ["700", "700"]
    assert first.source.startswith(f"the checked kernel: {function} returned 700 (CUDA_ERROR_ILLEGAL_ADDRESS")
    called = Counter(log.read_text().split())
    assert called[function] == 2
    for make, unmake in GIVEN_BACK.items():
        assert called[unmake] == called[make] - (2 if make == function else 0)


def test_a_card_of_no_other_use_does_not_stop_the_next_one(tmp_path: Path) -> None:
    """Device 0 fails; device 1 is tried all the same."""
    first, second = kernels(ask("smoke", machine(tmp_path, TWO_CARDS + "gpu.0.rc.cuCtxCreate=719\n")))
    assert (first.value, second.value) == ("failed", "no-proof")


@pytest.mark.parametrize(("script", "reason"), [
    ("gpu.0.compute_mode=2\n", "the card's compute mode prohibits computing"),
    ("gpu.0.compute_mode=3\n", "the card is in an exclusive compute mode and taken"),
    ("rc.cuMemAlloc=2\n", "no room on the card"),
    ("rc.cuModuleLoadData=223\n", "CUDA_DISABLE_JIT forbids the driver to compile it"),
])
def test_a_card_in_use_is_left_alone(script: str, reason: str, tmp_path: Path) -> None:
    """Skipped with the reason, which is no fault."""
    text = TWO_CARDS.replace("gpu.0.compute_mode=0\n", "") + script
    fact = kernels(ask("smoke", machine(tmp_path, text)))[0]
    assert fact.value == "skipped"
    assert reason in fact.source


def test_ptx_newer_than_the_driver_is_a_failure_with_its_code(tmp_path: Path) -> None:
    """A driver that knows no PTX 4.0 (there is none as old, but the code must come through)."""
    fact = kernels(ask("smoke", machine(tmp_path, TWO_CARDS + "max_ptx=32\n")))[0]
    assert fact.value == "failed"
    assert "cuModuleLoadData returned 222" in fact.source


def test_a_hang_leaves_the_devices_named(tmp_path: Path) -> None:
    """The kernel's fact is Unknown and says where it hung; who the devices are was asked before."""
    folder = machine(tmp_path, TWO_CARDS + "hang.cuCtxSynchronize=60\n")
    answer = ask("smoke", folder, request={"answer_within_seconds": 1.5})
    cards = smoke.read_gpus(answer)
    assert isinstance(cards, tuple)
    assert cards[0]["gpu.driver_kernel"] == Unknown(
        reason="the checked kernel has no answer: cuCtxSynchronize of device 0 did not return")
    assert isinstance(cards[1]["gpu.uuid"], Known)


def test_without_libcuda_there_is_nothing_to_try(tmp_path: Path) -> None:
    """Absent, as for the device list."""
    cards = smoke.read_gpus(ask("smoke", tmp_path))
    if isinstance(cards, tuple):
        pytest.skip("this machine has a libcuda of its own")
    assert isinstance(cards, Absent)


def test_when_nobody_wanted_a_kernel_that_is_the_reason() -> None:
    """At a depth below smoke."""
    unknown = smoke.read_gpus(Answer(outcome="not-asked", seconds=0.0, detail="depth is static"))
    assert unknown == Unknown(reason="depth is static", asked=False)


@pytest.mark.parametrize("version", ["3.6", "3.13"])
def test_the_collector_runs_in_other_interpreters(version: str, tmp_path: Path) -> None:
    """The patient's interpreter may be of any age."""
    answer = ask("smoke", machine(tmp_path, TWO_CARDS), interpreter=old_interpreter(version))
    assert kernels(answer)[0].value == "no-proof"


@pytest.mark.parametrize("architecture", ["sm_75", "sm_80", "sm_90", "sm_100", "sm_120"])
def test_the_kernels_text_assembles(architecture: str, tmp_path: Path) -> None:
    """NVIDIA's own assembler takes it, also for cards that came twelve years after its target."""
    ptxas = shutil.which("ptxas")
    if not ptxas:
        pytest.skip("no ptxas on PATH")
    (tmp_path / "kernel.ptx").write_bytes(payload.PTX)
    run = subprocess.run([ptxas, "-arch", architecture, "kernel.ptx", "-o", "kernel.cubin"], cwd=tmp_path,
                         capture_output=True, text=True, timeout=60, check=False)
    assert run.returncode == 0, run.stderr
    assert (tmp_path / "kernel.cubin").read_bytes()[:4] == b"\x7fELF"


@pytest.mark.gpu
def test_the_kernel_passes_on_a_real_card() -> None:
    """Right result, in memory that the driver calls a device's and this process cannot read."""
    if not Path("/dev/nvidia0").exists():
        pytest.skip("no NVIDIA card here")
    answer = ask("smoke", Path("/nonexistent"))
    assert {fact.value for fact in kernels(answer)} <= {"passed", "skipped"}, answer.data


def assert_total(answer: Answer) -> None:
    assert set(smoke.read(answer)) == set(promised("smoke", Scope.HOST))
    cards: tuple[Facts, ...] | Absent | Unknown = smoke.read_gpus(answer)
    for card in cards if isinstance(cards, tuple) else ():
        assert set(promised("smoke", Scope.GPU)) <= set(card)


@given(data=JSON, outcome=st.sampled_from(["ok", "timeout", "garbled", "not-asked"]))
def test_any_json_is_read(data: Any, outcome: str) -> None:
    """No exception, and every promised name, whatever comes."""
    assert_total(Answer(outcome=outcome, seconds=0.0, data=data))


@given(first=JSON, outcome=st.sampled_from([*smoke.OUTCOMES, "other"]), extra=JSON)
def test_any_json_inside_a_good_answer_is_read(first: Any, outcome: str, extra: Any) -> None:
    """The same below the level where the shape is right."""
    trial = {"outcome": outcome, "call": first, "answer": extra, "reason": extra, "values": first}
    devices = [{"calls": extra, "trial": trial}, {"calls": first, "trial": first}, extra]
    calls = {"cuInit": {"code": 0}, "cuDeviceGetCount": {"code": 0, "value": 3}}
    assert_total(Answer(outcome="ok", seconds=0.0, data={"load": {}, "calls": calls, "devices": devices}))
