"""The scripted libcuda answers like the driver API: devices, visibility, codes, PTX, a kernel."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.shim.asking import SCRIPT, Asker, driver_asker

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="the scripted driver is built with gcc")

LOAD_PTX = """
context, module, function = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
answers["context"] = lib.cuCtxCreate_v2(ctypes.byref(context), 0, 0)
ptx = b".version %(version)s\\n.target sm_%(target)s\\n.visible .entry gd_saxpy() { ret; }\\0"
answers["load"] = lib.cuModuleLoadData(ctypes.byref(module), ptx)
"""

RUN_SAXPY = """
answers["function"] = lib.cuModuleGetFunction(ctypes.byref(function), module, b"gd_saxpy")
count = 1000
vector = ctypes.c_float * count
x, y = vector(*range(count)), vector(*([1.0] * count))
at_x, at_y, kind = ctypes.c_uint64(), ctypes.c_uint64(), ctypes.c_uint()
for address, data in ((at_x, x), (at_y, y)):
    lib.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(4 * count))
    lib.cuMemcpyHtoD_v2(address, data, ctypes.c_size_t(4 * count))
a, n = ctypes.c_float(2), ctypes.c_uint(count)
arguments = (ctypes.c_void_p * 4)(*[ctypes.addressof(value) for value in (a, at_x, at_y, n)])
answers["launch"] = lib.cuLaunchKernel(function, 8, 1, 1, 128, 1, 1, 0, None, arguments, None)
lib.cuMemcpyDtoH_v2(y, at_y, ctypes.c_size_t(4 * count))
answers["wrong"] = [index for index in range(count) if y[index] != 2 * index + 1]
answers["pointer"] = [lib.cuPointerGetAttribute(ctypes.byref(kind), 2, at_y), kind.value]
answers["scripted"] = lib.gpudoctor_shim_is_scripted()
"""


@pytest.fixture
def asker(tmp_path: Path) -> Asker:
    return driver_asker(tmp_path)


def test_cuda_lists_devices(asker: Asker) -> None:
    """Names, bus ids and attributes of both cards, the one in MIG mode by its first instance."""
    lines = """
answers["names"] = device_texts("cuDeviceGetName")
answers["buses"] = device_texts("cuDeviceGetPCIBusId")
answers["attributes"] = {}
for attribute in (75, 76, 33, 34, 50, 16, 20):
    lib.cuDeviceGetAttribute(ctypes.byref(number), attribute, 0)
    answers["attributes"][attribute] = number.value
raw = ctypes.create_string_buffer(16)
answers["uuid"] = [lib.cuDeviceGetUuid_v2(raw, 0), raw.raw.hex()]
lib.cuDriverGetVersion(ctypes.byref(number))
answers["version"] = number.value
answers["no device"] = lib.cuDeviceGet(ctypes.byref(number), 2)
"""
    answers = asker.cuda(lines)
    assert answers["names"] == ["NVIDIA H100 80GB HBM3", "NVIDIA A100-SXM4-40GB MIG 1g.10gb"]
    assert answers["buses"] == ["0000:1B:00.0", "0000:3D:00.0"]
    assert answers["attributes"] == {"75": 9, "76": 0, "33": 0x1B, "34": 0, "50": 0, "16": 108, "20": 3}
    assert answers["uuid"] == [0, "00000000111122223333444444444440"]
    assert (answers["version"], answers["no device"]) == (12080, 101)


@pytest.mark.parametrize(
    ("value", "buses"),
    [
        ("", None),
        ("-1", None),
        ("7", None),
        ("NoDevFiles", None),
        ("0", ["0000:1B:00.0"]),
        ("1,0", ["0000:3D:00.0", "0000:1B:00.0"]),
        ("1,9,0", ["0000:3D:00.0"]),
        ("0 1", ["0000:1B:00.0"]),
        ("1gpu,0x", ["0000:3D:00.0", "0000:1B:00.0"]),
        ("0,0", None),
        ("0,GPU-00000000", ["0000:1B:00.0"]),
        ("GPU-00000000,1", ["0000:1B:00.0"]),
        ("GPU-00000000", ["0000:1B:00.0"]),
        ("GPU-ffff", None),
        ("MIG-00000001-5555-6666-7777-000000000001", ["0000:3D:00.0"]),
    ],
)
def test_cuda_visible_devices(asker: Asker, value: str, buses: list[str] | None) -> None:
    """The list ends at its first entry that names nothing; an empty list is error 100."""
    lines = 'answers["buses"] = device_texts("cuDeviceGetPCIBusId") if answers["init"] == 0 else None'
    answers = asker.cuda(lines, CUDA_VISIBLE_DEVICES=value)
    assert answers == {"init": 0 if buses else 100, "buses": buses}


def test_cuda_order_is_not_the_bus_order(asker: Asker) -> None:
    """cuda_order is the driver's own order until CUDA_DEVICE_ORDER says otherwise."""
    lines = 'answers["buses"] = device_texts("cuDeviceGetPCIBusId")'
    script = f"cuda_order=1,0\n{SCRIPT}"
    assert asker.cuda(lines, script)["buses"] == ["0000:3D:00.0", "0000:1B:00.0"]
    by_bus = asker.cuda(lines, script, CUDA_DEVICE_ORDER="PCI_BUS_ID")
    assert by_bus["buses"] == ["0000:1B:00.0", "0000:3D:00.0"]


def test_a_card_in_mig_mode_without_instances_is_no_device(asker: Asker) -> None:
    """It is the only card here: cuInit finds nothing."""
    script = "count=1\ngpu.0.mig=1\ngpu.0.mig_instances=0\n"
    assert asker.cuda("", script) == {"init": 100}


@pytest.mark.parametrize("code", [2, 3, 34, 36, 46, 100, 101, 102, 304, 802, 803, 804, 805, 999])
def test_cuinit_fails_with_any_code(asker: Asker, code: int) -> None:
    """The code comes back, and the library knows its name."""
    lines = """
text = ctypes.c_char_p()
answers["known"] = [lib.cuGetErrorName(answers["init"], ctypes.byref(text)), text.value.decode()[:11]]
"""
    answers = asker.cuda(lines, f"rc.cuInit={code}\n{SCRIPT}")
    assert answers == {"init": code, "known": [0, "CUDA_ERROR_"]}


@pytest.mark.parametrize(
    ("version", "target", "extra", "code"),
    [
        ("4.0", "30", "", 0),
        ("8.7", "90", "", 0),
        ("8.8", "90", "", 222),
        ("8.7", "90", "max_ptx=84\n", 222),
        ("8.0", "100", "", 209),
        ("8.0", "90", "cuda=11080\n", 222),
    ],
)
def test_ptx_is_judged_by_version_and_target(
    asker: Asker, version: str, target: str, extra: str, code: int
) -> None:
    """222 where the driver is older than the PTX, 209 where the card is."""
    script = f"{extra}gpu.0.compute_mode=0\n{SCRIPT}"
    answers = asker.cuda(LOAD_PTX % {"version": version, "target": target}, script)
    assert answers == {"init": 0, "context": 0, "load": code}


@pytest.mark.parametrize(("corrupt", "wrong"), [("", []), ("corrupt=1\n", [500])])
def test_saxpy_runs_on_the_host_and_says_so(asker: Asker, corrupt: str, wrong: list[int]) -> None:
    """The plumbing of a checked kernel works, a flipped value is found, and nobody claims a GPU."""
    lines = LOAD_PTX % {"version": "4.0", "target": "30"} + RUN_SAXPY
    answers = asker.cuda(lines, f"{corrupt}gpu.0.compute_mode=0\n{SCRIPT}")
    assert (answers["function"], answers["launch"], answers["wrong"]) == (0, 0, wrong)
    assert answers["pointer"] == [0, 2]
    assert answers["scripted"] == 1


def test_an_exclusive_card_that_is_taken_gives_no_context(asker: Asker) -> None:
    """Compute mode 3 with a process on the card is error 46."""
    lines = "answers['context'] = lib.cuCtxCreate_v2(ctypes.byref(ctypes.c_void_p()), 0, 0)"
    assert asker.cuda(lines) == {"init": 0, "context": 46}


def test_what_is_not_scripted_is_exported_and_not_supported(asker: Asker) -> None:
    """Frameworks look up every function of the header; the script reaches these too."""
    lines = """
answers["plain"] = lib.cuGraphCreate(None, 0)
answers["scripted"] = lib.cuMemPoolCreate(None, None)
address, status = ctypes.c_void_p(), ctypes.c_int()
asked = [lib.cuGetProcAddress_v2(name, ctypes.byref(address), 12080, 0, ctypes.byref(status))
         for name in (b"cuGraphAddKernelNode", b"cuMemAlloc", b"cuNoSuchFunction")]
answers["asked"] = asked
"""
    answers = asker.cuda(lines, f"rc.cuMemPoolCreate=2\n{SCRIPT}")
    assert answers == {"init": 0, "plain": 801, "scripted": 2, "asked": [0, 0, 500]}
