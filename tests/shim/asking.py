"""Ask the scripted libraries something in a child, as a test needs it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.shim import build

DRIVER = "570.86.15"
SCRIPT = """\
driver=570.86.15
nvml=12.570.86.15
cuda=12080
count=2
gpu.0.name=NVIDIA H100 80GB HBM3
gpu.0.uuid=GPU-00000000-1111-2222-3333-444444444440
gpu.0.serial=1650020000000
gpu.0.cc=9.0
gpu.0.mem_total=85520809984
gpu.0.mem_used=1073741824
gpu.0.mem_reserved=629145600
gpu.0.pci=00000000:1B:00.0
gpu.0.pci_id=0x233010DE
gpu.0.ecc=1
gpu.0.ecc.1.1=3
gpu.0.remap=1,2,1,0
gpu.0.pcie_gen=1
gpu.0.pcie_gen_max=5
gpu.0.throttle=0x48
gpu.0.temp=91
gpu.0.util=97,40
gpu.0.compute_mode=3
gpu.0.processes=4242:1000000,4243:2000000
gpu.0.fabric_state=3
gpu.1.name=NVIDIA A100-SXM4-40GB
gpu.1.uuid=GPU-00000001-1111-2222-3333-444444444441
gpu.1.cc=8.0
gpu.1.mem_total=42949672960
gpu.1.pci=00000000:3D:00.0
gpu.1.mig=1
gpu.1.mig_instances=2
"""

# Runs in a child: every line of the program adds one answer, a failure being the name of the error.
ASK_NVML = """
import json, pynvml as n
answers = {}
def ask(name, call):
    try:
        answers[name] = call()
    except n.NVMLError as error:
        answers[name] = type(error).__name__
ask("init", n.nvmlInit)
%s
print(json.dumps(answers))
"""

ASK_CUDA = """
import ctypes, json
lib = ctypes.CDLL("libcuda.so.1")
answers = {"init": lib.cuInit(0)}
number = ctypes.c_int()
def device_texts(function, size=64):
    found = []
    lib.cuDeviceGetCount(ctypes.byref(number))
    for device in range(number.value):
        text = ctypes.create_string_buffer(size)
        getattr(lib, function)(text, size, device)
        found.append(text.value.decode())
    return found
%s
print(json.dumps(answers))
"""


class Asker:
    """Asks the libraries in one folder, under one script, in a child."""

    def __init__(self, folder: Path, script_file: Path) -> None:
        self.folder = folder
        self.script_file = script_file

    def run(
        self, program: str, script: str, *, timeout: float = 20, environment: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        self.script_file.write_text(script)
        variables = {"LD_LIBRARY_PATH": str(self.folder), "GPUDOCTOR_SHIM": str(self.script_file)}
        return subprocess.run(
            [sys.executable, "-c", program],
            env={**variables, **(environment or {})},
            check=False,
            capture_output=True,
            text=True,
            timeout=timeout,
        )

    def nvml(self, lines: str, script: str = SCRIPT) -> dict[str, Any]:
        return decoded(self.run(ASK_NVML % lines, script))

    def cuda(self, lines: str, script: str = SCRIPT, **environment: str) -> dict[str, Any]:
        return decoded(self.run(ASK_CUDA % lines, script, environment=environment))


def decoded(result: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """Return the answers that a child printed."""
    assert result.returncode == 0, result.stderr
    found = json.loads(result.stdout)
    assert isinstance(found, dict)
    return found


def driver_asker(folder: Path) -> Asker:
    """Return an asker with both libraries of one driver."""
    libraries = folder / "driver"
    build.place(build.cuda(driver_version=DRIVER), libraries, soname=build.CUDA_SONAME, version=DRIVER)
    build.place(build.nvml(driver_version=DRIVER), libraries, soname=build.NVML_SONAME, version=DRIVER)
    return Asker(libraries, folder / "script.cfg")
