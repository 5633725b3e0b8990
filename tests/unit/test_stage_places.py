"""On which card a result lies, as the driver says: the stand-in torch puts its results where a test tells it.

The payload is run for real, against a scripted driver with two cards. What the results lie in is that
driver's memory, closed to this process as a card's is, so that nothing but the place decides.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import gpudoctor
from gpudoctor.derive.view import as_records
from gpudoctor.model import Known
from gpudoctor.probes import stages
from gpudoctor.probes.raw import Answer
from tests.faults import doctor
from tests.unit.driver_answers import TWO_CARDS, machine

PAYLOAD = Path(gpudoctor.__file__).parent / "payloads" / "__main__.py"
CARDS = [f"GPU-00000000-1111-2222-3333-44444444444{number}" for number in range(2)]
ON_CARDS = """
import ctypes, json, os
driver = ctypes.CDLL("libcuda.so.1")
assert driver.cuInit(0) == 0
ordinals = json.loads(os.environ["ORDINALS"])
def allocated(ordinal):
    context, memory = ctypes.c_void_p(), ctypes.c_uint64()
    assert driver.cuCtxCreate_v2(ctypes.byref(context), 0, ordinal) == 0
    assert driver.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(1 << 20)) == 0
    page = (memory.value + 0xffff) & ~0xffff  # far from what the allocator wrote at its begin
    assert ctypes.CDLL(None).mprotect(ctypes.c_void_p(page), ctypes.c_size_t(1 << 16), 0) == 0
    return page
places = iter([allocated(ordinal) for ordinal in ordinals])
Tensor.data_ptr = lambda self: next(places)
cuda.is_available, cuda.device_count = lambda: True, lambda: int(os.environ["CARDS"])
def all_reduce(tensors):
    if os.environ.get("NCCL_DEBUG") != "WARN" or os.environ.get("NCCL_DEBUG_FILE") != "/dev/stderr":
        raise RuntimeError("NCCL would keep its reasons to itself")
    total = [sum(column) for column in zip(*[one.values for one in tensors])]
    for one in tensors:
        one.values = total
sys.modules["torch.cuda"] = cuda
nccl = types.SimpleNamespace(is_available=lambda tensors: True, all_reduce=all_reduce)
sys.modules["torch.cuda.nccl"] = nccl
"""


def ran(folder: Path, request: dict[str, Any], ordinals: list[int], cards: int) -> dict[str, Any]:
    """Return what the probe makes of the one stage that is run."""
    (folder / "torch").mkdir()
    standin = Path(doctor.__file__).with_name("standin_torch.py").read_text()
    (folder / "torch" / "__init__.py").write_text(standin + ON_CARDS)
    driver = machine(folder / "driver", TWO_CARDS)
    variables = {"PYTHONPATH": str(folder), "LD_LIBRARY_PATH": str(driver), "CARDS": str(cards),
                 "GPUDOCTOR_SHIM": str(driver / "script"), "ORDINALS": json.dumps(ordinals),
                 "PATH": os.environ["PATH"]}
    with (folder / "journal").open("wb") as journal:
        command = [sys.executable, str(PAYLOAD), "stages", str(journal.fileno()), json.dumps(request)]
        subprocess.run(command, pass_fds=[journal.fileno()], env=variables, check=True, capture_output=True)
    one = {"outcome": "ok", "journal": (folder / "journal").read_text(), "log": "", "seconds": 1.0}
    course = {"framework": "torch", "card": "0", "stages": request["stages"], "rounds": [one]}
    answer = Answer(outcome="ok", seconds=1.0, data={"courses": [course]})
    fact = stages.read_framework(answer, "torch")["framework.stages"]
    assert isinstance(fact, Known)
    record, = as_records(fact.value)
    return dict(record)


@pytest.mark.parametrize(("ordinal", "visible", "reason"), [
    (0, [CARDS[0]], None),
    (0, [], None),
    (0, ["0"], None),
    (1, [CARDS[0]], "the result lies on CUDA device 1, and the stage was for device 0"),
    (0, [CARDS[1]], f"the result lies on the card {CARDS[0]}, and the stage was for {CARDS[1]}"),
])
def test_a_result_on_another_card_than_the_stage_was_for_did_not_pass(
        ordinal: int, visible: list[str], reason: str | None, tmp_path: Path) -> None:
    """And where it lies is told."""
    found = ran(tmp_path, {"framework": "torch", "stages": ["matmul"], "visible": visible}, [ordinal], 1)
    assert (found["outcome"], found.get("reason")) == ("no-proof" if reason else "passed", reason)
    assert (found["memory"], found["ordinal"]) == ("device", ordinal)


@pytest.mark.parametrize(("ordinals", "reason"), [
    ([0, 1], None), ([1, 0], None),
    ([0, 0], "the results lie on the CUDA devices 0, 0, and each of 2 must hold one"),
])
def test_a_sum_over_cards_must_lie_on_every_card(
        ordinals: list[int], reason: str | None, tmp_path: Path) -> None:
    """A sum that never left the first card would look right otherwise."""
    request = {"framework": "torch", "stages": ["all-reduce"], "visible": CARDS}
    found = ran(tmp_path, request, ordinals, 2)
    assert (found["outcome"], found.get("reason")) == ("no-proof" if reason else "passed", reason)
    assert found["ordinals"] == tuple(map(str, ordinals))
