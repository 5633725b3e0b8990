"""The scripted driver answers like one: NVML through the real nvidia-ml-py, faults, odd libraries, bytes."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.shim import build
from tests.shim.asking import ASK_CUDA, ASK_NVML, DRIVER, SCRIPT, Asker, driver_asker

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="the scripted driver is built with gcc")


@pytest.fixture
def asker(tmp_path: Path) -> Asker:
    return driver_asker(tmp_path)


def test_nvml_answers_what_the_script_says(asker: Asker) -> None:
    """nvidia-ml-py reads a whole card."""
    answers = asker.nvml("""
h = n.nvmlDeviceGetHandleByIndex(0)
ask("driver", n.nvmlSystemGetDriverVersion)
ask("cuda", n.nvmlSystemGetCudaDriverVersion_v2)
ask("count", n.nvmlDeviceGetCount)
ask("name", lambda: n.nvmlDeviceGetName(h))
ask("cc", lambda: n.nvmlDeviceGetCudaComputeCapability(h))
ask("pci", lambda: (n.nvmlDeviceGetPciInfo(h).busId, n.nvmlDeviceGetPciInfo(h).pciDeviceId))
ask("old memory", lambda: (n.nvmlDeviceGetMemoryInfo(h).used, n.nvmlDeviceGetMemoryInfo(h).total))
ask("memory", lambda: (lambda m: (m.used, m.reserved))(n.nvmlDeviceGetMemoryInfo(h, n.nvmlMemory_v2)))
ask("ecc", lambda: (n.nvmlDeviceGetEccMode(h), n.nvmlDeviceGetTotalEccErrors(h, 1, 1)))
ask("no ecc errors", lambda: n.nvmlDeviceGetTotalEccErrors(h, 0, 0))
ask("rows", lambda: n.nvmlDeviceGetRemappedRows(h))
ask("link", lambda: (n.nvmlDeviceGetCurrPcieLinkGeneration(h), n.nvmlDeviceGetMaxPcieLinkGeneration(h)))
ask("throttle", lambda: n.nvmlDeviceGetCurrentClocksEventReasons(h))
ask("temperature", lambda: (n.nvmlDeviceGetTemperature(h, 0), n.nvmlDeviceGetTemperatureV(h, 0)))
ask("processes", lambda: [(p.pid, p.usedGpuMemory) for p in n.nvmlDeviceGetComputeRunningProcesses(h)])
ask("mig", lambda: n.nvmlDeviceGetMigMode(h))
info = n.c_nvmlGpuFabricInfoV_t()
ask("fabric", lambda: (n.nvmlDeviceGetGpuFabricInfoV(h, n.byref(info)), info.state))
ask("by bus", lambda: n.nvmlDeviceGetName(n.nvmlDeviceGetHandleByPciBusId("0000:3d:00.0")))
""")
    assert answers == {
        "init": None,
        "driver": "570.86.15",
        "cuda": 12080,
        "count": 2,
        "name": "NVIDIA H100 80GB HBM3",
        "cc": [9, 0],
        "pci": ["00000000:1B:00.0", 0x233010DE],
        "old memory": [1073741824 + 629145600, 85520809984],
        "memory": [1073741824, 629145600],
        "ecc": [[1, 1], 3],
        "no ecc errors": 0,
        "rows": [1, 2, 1, 0],
        "link": [1, 5],
        "throttle": 0x48,
        "temperature": [91, 91],
        "processes": [[4242, 1000000], [4243, 2000000]],
        "mig": "NVMLError_NotSupported",
        "fabric": [0, 3],
        "by bus": "NVIDIA A100-SXM4-40GB",
    }


def test_nvml_gives_handles_for_mig_instances(asker: Asker) -> None:
    """A card in MIG mode has instances with names, ids, memory and UUIDs of their own."""
    answers = asker.nvml("""
card = n.nvmlDeviceGetHandleByIndex(1)
ask("mode", lambda: n.nvmlDeviceGetMigMode(card))
ask("most", lambda: n.nvmlDeviceGetMaxMigDeviceCount(card))
one = n.nvmlDeviceGetMigDeviceHandleByIndex(card, 1)
ask("none", lambda: n.nvmlDeviceGetMigDeviceHandleByIndex(card, 2))
ask("name", lambda: n.nvmlDeviceGetName(one))
ask("uuid", lambda: n.nvmlDeviceGetUUID(one)[:4])
ask("ids", lambda: (n.nvmlDeviceGetGpuInstanceId(one), n.nvmlDeviceGetComputeInstanceId(one)))
ask("memory", lambda: n.nvmlDeviceGetMemoryInfo(one).total)
ask("by uuid", lambda: n.nvmlDeviceGetName(n.nvmlDeviceGetHandleByUUID(n.nvmlDeviceGetUUID(one))))
ask("parent", lambda: n.nvmlDeviceGetName(n.nvmlDeviceGetDeviceHandleFromMigDeviceHandle(one)))
ask("temperature", lambda: n.nvmlDeviceGetTemperature(one, 0))
""")
    assert answers == {
        "init": None,
        "mode": [1, 1],
        "most": 7,
        "none": "NVMLError_NotFound",
        "name": "NVIDIA A100-SXM4-40GB MIG 1g.10gb",
        "uuid": "MIG-",
        "ids": [8, 0],
        "memory": 42949672960 // 8,
        "by uuid": "NVIDIA A100-SXM4-40GB MIG 1g.10gb",
        "parent": "NVIDIA A100-SXM4-40GB",
        "temperature": "NVMLError_NotSupported",
    }


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("rc.nvmlInit=9", {"init": "NVMLError_DriverNotLoaded", "count": "NVMLError_Uninitialized"}),
        ("rc.nvmlInit=18", {"init": "NVMLError_LibRmVersionMismatch", "count": "NVMLError_Uninitialized"}),
        ("rc.nvmlDeviceGetCount=999", {"init": None, "count": "NVMLError_Unknown"}),
        ("count=0", {"init": None, "count": 0}),
    ],
)
def test_nvml_fails_as_scripted(asker: Asker, line: str, expected: dict[str, Any]) -> None:
    """A function's error is found under its name without the version suffix."""
    assert asker.nvml('ask("count", n.nvmlDeviceGetCount)', f"{line}\n{SCRIPT}") == expected


def test_a_card_fails_alone(asker: Asker) -> None:
    """gpu.N.rc.FUNCTION and gpu.N.handle_rc leave the other card as it was."""
    lines = """
for index in (0, 1):
    ask("handle %d" % index, lambda: bool(n.nvmlDeviceGetHandleByIndex(index)))
ask("serial", lambda: n.nvmlDeviceGetSerial(n.nvmlDeviceGetHandleByIndex(0)))
ask("name", lambda: n.nvmlDeviceGetName(n.nvmlDeviceGetHandleByIndex(0)))
"""
    script = f"gpu.1.handle_rc=15\ngpu.0.rc.nvmlDeviceGetSerial=4\n{SCRIPT}"
    assert asker.nvml(lines, script) == {
        "init": None,
        "handle 0": True,
        "handle 1": "NVMLError_GpuIsLost",
        "serial": "NVMLError_NoPermission",
        "name": "NVIDIA H100 80GB HBM3",
    }


def test_a_card_is_lost_midway(asker: Asker) -> None:
    """lost_after: the named call still succeeds, everything later on that card does not."""
    lines = """
h, other = n.nvmlDeviceGetHandleByIndex(0), n.nvmlDeviceGetHandleByIndex(1)
for name in ("Name", "UUID", "Serial", "Name"):
    ask(name, lambda: getattr(n, "nvmlDeviceGet" + name)(h))
ask("other", lambda: n.nvmlDeviceGetName(other))
"""
    answers = asker.nvml(lines, f"gpu.0.lost_after=nvmlDeviceGetUUID\n{SCRIPT}")
    lost = "NVMLError_GpuIsLost"
    assert (answers["UUID"], answers["Serial"]) == ("GPU-00000000-1111-2222-3333-444444444440", lost)
    assert (answers["Name"], answers["other"]) == (lost, "NVIDIA A100-SXM4-40GB")


def test_an_old_library_lacks_functions(tmp_path: Path) -> None:
    """Left out functions are really not exported."""
    old = build.nvml(driver_version="418.226.00", without=build.FUNCTIONS_AFTER_R418)
    build.place(old, tmp_path, soname=build.NVML_SONAME)
    answers = Asker(tmp_path, tmp_path / "script").nvml("""
h = n.nvmlDeviceGetHandleByIndex(0)
ask("mig", lambda: n.nvmlDeviceGetMigMode(h))
ask("name", lambda: n.nvmlDeviceGetName(h))
""")
    assert answers == {"init": None, "mig": "NVMLError_FunctionNotFound", "name": "NVIDIA H100 80GB HBM3"}


@pytest.mark.parametrize(("fault", "signal_number"), [("segv", 11), ("abort", 6)])
def test_functions_crash(asker: Asker, fault: str, signal_number: int) -> None:
    """crash.FUNCTION ends the process by the named signal."""
    result = asker.run(ASK_CUDA % "", f"crash.cuInit={fault}\n{SCRIPT}")
    assert result.returncode == -signal_number


def test_functions_hang(asker: Asker) -> None:
    """hang.FUNCTION=forever outlasts any limit."""
    with pytest.raises(subprocess.TimeoutExpired):
        asker.run(ASK_NVML % "", f"hang.nvmlInit=forever\n{SCRIPT}", timeout=1)


def test_functions_flood(asker: Asker) -> None:
    """flood.FUNCTION prints exactly so many bytes and goes on."""
    result = asker.run(ASK_CUDA % "", f"flood.cuInit=300000\n{SCRIPT}")
    assert (result.returncode, len(result.stderr)) == (0, 300000)


def test_calls_are_logged(asker: Asker, tmp_path: Path) -> None:
    """log=FILE lets a test say what was called and what was not."""
    asker.cuda("", f"log={tmp_path}/calls\n{SCRIPT}")
    assert (tmp_path / "calls").read_text().split() == ["cuInit"]


def test_the_compat_library_has_its_own_keys(tmp_path: Path) -> None:
    """One script drives the driver's libcuda and that of a cuda-compat package differently."""
    compat = build.compat_cuda(driver_version="570.86.15", cuda_version=12080)
    build.place(compat, tmp_path, soname=build.CUDA_SONAME)
    script = "cuda=11040\ncompat.cuda=12080\ncompat.rc.cuInit=804\ncount=1\n"
    lines = 'lib.cuDriverGetVersion(ctypes.byref(number)); answers["version"] = number.value'
    assert Asker(tmp_path, tmp_path / "script").cuda(lines, script) == {"init": 804, "version": 12080}


def test_the_stub_says_34(tmp_path: Path) -> None:
    """A toolkit's stub library fails every call."""
    build.place(build.stub_cuda(), tmp_path, soname=build.CUDA_SONAME)
    answers = Asker(tmp_path, tmp_path / "script").cuda(
        'answers["version"] = lib.cuDriverGetVersion(ctypes.byref(number))'
    )
    assert answers == {"init": 34, "version": 34}


def test_libraries_that_do_not_load(tmp_path: Path) -> None:
    """Each way of not being loaded shows as itself."""
    asker = Asker(tmp_path, tmp_path / "script")
    soname = build.CUDA_SONAME
    build.place(build.crashing(soname=soname), tmp_path, soname=soname)
    assert asker.run(ASK_CUDA % "", "").returncode == -11
    build.place(build.hanging(soname=soname), tmp_path, soname=soname)
    with pytest.raises(subprocess.TimeoutExpired):
        asker.run(ASK_CUDA % "", "", timeout=1)
    build.place(build.flooding(soname=soname, flood_bytes=1_000_000), tmp_path, soname=soname)
    assert asker.run("import ctypes; ctypes.CDLL('libcuda.so.1')", "").stderr.count("flood") > 10_000
    build.place(build.empty(), tmp_path, soname=soname)
    assert "file too short" in asker.run(ASK_CUDA % "", "").stderr
    build.place(build.text(), tmp_path, soname=soname)
    assert "invalid ELF header" in asker.run(ASK_CUDA % "", "").stderr


@pytest.mark.parametrize("version", ["535.261.03", "418.226.00", "610.43"])
def test_the_version_stands_in_the_bytes_as_in_the_real_files(version: str) -> None:
    """The one place in each file that a reader of the bytes can rely on; decoys are there too."""
    number = rb"(\d{3}\.\d{2,3}(?:\.\d{2,3})?)"
    cuda = build.cuda(driver_version=version).read_bytes()
    nvml = build.nvml(driver_version=version).read_bytes()
    assert re.findall(rb"nvidia-application-profiles-" + number + rb"-rc:", cuda) == [version.encode()]
    assert re.findall(rb"\0\d{2}\." + number + rb"\0", nvml) == [version.encode()]
    assert b"535.54.02\0" in cuda


def test_sonames_and_file_names(asker: Asker) -> None:
    """The dynamic section carries the real SONAME, and the file names are those of a driver."""
    for soname in (build.CUDA_SONAME, build.NVML_SONAME):
        link = asker.folder / soname
        assert link.readlink() == Path(soname.removesuffix(".1") + f".{DRIVER}")
        command = ["readelf", "-d", str(link)]
        dynamic = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        assert f"Library soname: [{soname}]" in dynamic
