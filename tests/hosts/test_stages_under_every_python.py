"""The stages, and the walk through device code, run by every Python that the payload is for."""

from __future__ import annotations

import json

import pytest

from tests.hosts.looking import HEALTHY
from tests.hosts.test_probe_zipapp import PYTHONS, collected, interpreter
from tests.hosts.test_probe_zipapp import probe as probe  # noqa: PLC0414 - a fixture is found by its name
from tests.unit.test_fatbin import WHOLE, elf_file

SITE = "/opt/site"
LIBRARY = elf_file(section=b".nv_fatbin", content=WHOLE)
# Plain enough for Python 3.6, unlike the stand-in of tests/faults.
TORCH = """
import sys, types
__version__, float32, float16 = "2.10.0", "float32", "float16"
class Tensor:
    device = "cpu"
    def __init__(self, values): self.values = values
    def to(self, where): return self
    def tolist(self): return self.values
def tensor(values, dtype=None, device=None): return Tensor(values)
def device(name): return name
def matmul(left, right):
    columns = list(zip(*right.values))
    return Tensor([[sum(a * b for a, b in zip(row, column)) for column in columns] for row in left.values])
def conv2d(images, windows):
    image, places = images.values[0], range(len(images.values[0][0]) - 2)
    return Tensor([[[[sum(w[c][y][x] * image[c][top + y][left + x]
                          for c in range(len(image)) for y in range(3) for x in range(3))
                      for left in places] for top in places] for w in windows.values]])
cuda = types.SimpleNamespace(device_count=lambda: 0, is_available=lambda: False)
backends = types.SimpleNamespace()
nn = types.SimpleNamespace(functional=sys.modules[__name__])
"""
MACHINE = HEALTHY.adding(environment={"PYTHONPATH": SITE}, files={
    f"{SITE}/torch/__init__.py": TORCH,
    f"{SITE}/torch/version.py": "__version__ = '2.10.0'\ncuda = '12.8'\n",
    f"{SITE}/torch/lib/libtorch_cuda.so": LIBRARY,
    f"{SITE}/torch-2.10.0.dist-info/METADATA": "Name: torch\nVersion: 2.10.0\n",
    f"{SITE}/torch-2.10.0.dist-info/RECORD":
        f"torch/version.py,,\ntorch/lib/libtorch_cuda.so,,{len(LIBRARY)}\n",
})


@pytest.mark.parametrize("version", PYTHONS)
def test_stages_and_device_code(version: str, probe: bytes) -> None:
    """A framework is imported and run to the same ends, and its library's code is read, by old and new."""
    probes = collected(MACHINE, probe, interpreter(version), "--depth", "smoke")["probes"]
    torch, = probes["frameworks"]["data"]["frameworks"]
    assert [library["path"] for library in torch["code"]] == [f"{SITE}/torch/lib/libtorch_cuda.so"], torch
    course, = probes["stages"]["data"]["courses"]
    round_, = course["rounds"]
    events = [json.loads(line) for line in round_["journal"].splitlines()]
    assert (round_["outcome"], events[1]["event"], events[1]["version"]) == ("ok", "imported", "2.10.0")
    assert {event["stage"]: event["outcome"] for event in events if event["event"] == "ended"} == {
        "matmul": "ran-on-cpu", "convolution": "ran-on-cpu", "compiled": "skipped",
        "reduced-precision": "ran-on-cpu"}
