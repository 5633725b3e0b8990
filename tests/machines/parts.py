"""Parts of machines that are out of the ordinary: what a container shows, what a broken driver leaves."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace

from tests.harness.elf import standin
from tests.harness.machine import File, Machine, Node
from tests.harness.nvidia import (
    BARE_FILES, H100, LIBRARY_FOLDER, Card, bus_id, device_nodes, driver_libraries, driver_links,
    driverless_machine, module_lines, nvidia_machine, script,
)
from tests.shim import build

Files = Mapping[str, str | bytes | File]

DEBIAN = 'ID=debian\nVERSION_ID="12"\nPRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\n'
UBUNTU = 'ID=ubuntu\nID_LIKE=debian\nVERSION_ID="22.04"\nPRETTY_NAME="Ubuntu 22.04.5 LTS"\n'

# nvidia-smi as it has been since driver 610; it leaves a mark when somebody runs it.
NVIDIA_SMI_MARK = "/tmp/nvidia-smi-was-run"
_BANNER = """\
+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 610.43.02              KMD Version: 610.43.02     CUDA UMD Version: 13.3     |
+-----------------------------------------+------------------------+----------------------+
| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |
| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |
|                                         |                        |               MIG M. |
|=========================================+========================+======================|
|   0  NVIDIA H100 80GB HBM3          On  |   00000000:01:00.0 Off |                    0 |
| N/A   41C    P0             60W /  350W |     450MiB /  81559MiB |      0%      Default |
|                                         |                        |             Disabled |
+-----------------------------------------+------------------------+----------------------+
"""
NVIDIA_SMI_610: Files = {
    "/usr/bin/nvidia-smi": File(
        content=f"#!/bin/sh\necho run >> {NVIDIA_SMI_MARK}\ncat <<'EOF'\n{_BANNER}EOF\n", mode=0o755)}


def libcuda_files(driver: str, folder: str = LIBRARY_FOLDER) -> tuple[str, ...]:
    """Return where a driver's libcuda lies."""
    return tuple(f"{folder}/libcuda.so{suffix}" for suffix in ("", ".1", f".{driver}"))


def nvml_files(driver: str, folder: str = LIBRARY_FOLDER) -> tuple[str, ...]:
    """Return where a driver's libnvidia-ml lies."""
    return tuple(f"{folder}/libnvidia-ml.so{suffix}" for suffix in (".1", f".{driver}"))


def with_compat(machine: Machine, folder: str, driver: str, cuda: int) -> Machine:
    """Return the machine with a cuda-compat package in `folder`: the libcuda of a newer driver."""
    library = build.compat_cuda(driver_version=driver, cuda_version=cuda)
    return machine.adding(
        libraries={f"{folder}/libcuda.so.{driver}": library},
        links={f"{folder}/libcuda.so.1": f"libcuda.so.{driver}", f"{folder}/libcuda.so": "libcuda.so.1"},
        shim=f"compat.cuda={cuda}")


def mismatched(*, running: str = "570.86.15", installed: str = "570.124.06") -> Machine:
    """Return a machine whose driver was updated without a reboot: NVML answers 18 and cuInit 803."""
    machine = nvidia_machine(driver=running, user_space=installed, cuda=12080, cards=[H100])
    return machine.adding(shim="rc.nvmlInit=18\nrc.cuInit=803")


def nvswitch_machine() -> Machine:
    """Return half an HGX board whose fabric manager is installed and does not run: cuInit answers 802."""
    machine = nvidia_machine(driver="580.95.05", cuda=13000, cards=[H100] * 4)
    switch = "/sys/bus/pci/devices/0000:c1:00.0"
    return machine.adding(
        shim="rc.cuInit=802",
        files={
            f"{switch}/vendor": "0x10de\n", f"{switch}/device": "0x22a3\n", f"{switch}/class": "0x068000\n",
            "/proc/driver/nvidia-nvswitch/devices/0000:c1:00.0/information": "Device Instance: 0\n",
            "/usr/bin/nv-fabricmanager": File(content="#!/bin/sh\nexit 1\n", mode=0o755),
        },
        nodes=[Node(path="/dev/nvidia-nvswitchctl"), Node(path="/dev/nvidia-nvswitch0")])


def without_module(
    cards: Sequence[Card], *, on_disk_for: str, driver: str = "550.163.01", cuda: int = 12040,
) -> Machine:
    """Return a machine whose driver lacks its kernel module, which lies on disk for one kernel release.

    NVML answers 9 and cuInit 100, as NVIDIA's own libraries do on a machine without the module. The kernel
    log can be read and says nothing of the card.
    """
    log = f"kernel: [    0.000000] Linux version {running_kernel()} (debian-kernel@lists.debian.org)\n"
    machine = driverless_machine(cards).adding(
        files={**module_on_disk(on_disk_for), "/var/log/kern.log": log})
    return replace(
        machine, libraries=driver_libraries(driver, cuda), links=driver_links(driver),
        shim=f"rc.nvmlInit=9\nrc.cuInit=100\n{script(driver, cuda, [])}")


def module_on_disk(release: str) -> Files:
    """Return the nvidia module as DKMS builds it for one kernel release."""
    folder = f"/lib/modules/{release}"
    return {f"{folder}/updates/dkms/nvidia.ko": b"\x7fELF", f"{folder}/modules.dep": ""}


def running_kernel() -> str:
    """Return the release of the kernel that runs here, which is that of every machine."""
    return os.uname().release


def secure_boot(*, on: bool) -> Files:
    """Return the firmware's variable: four bytes of attributes, one of value."""
    path = "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
    return {path: b"\x06\0\0\0" + (b"\1" if on else b"\0")}


def held_by(machine: Machine, module: str) -> Machine:
    """Return the machine with another kernel module that holds the first card."""
    return replace(
        machine.adding(
            files={
                "/proc/modules": module_lines([module]),
                f"/sys/module/{module}/initstate": "live\n",
            },
            links={f"/sys/bus/pci/devices/{bus_id(0)}/driver": f"../../drivers/{module}"}),
        directories={**machine.directories, f"/sys/bus/pci/drivers/{module}": 0o755})


def wsl(cards: Sequence[Card], driver: str = "581.57", cuda: int = 13000) -> Machine:
    """Return WSL2: no card on a PCI bus and no module, but /dev/dxg and the libraries that Windows lends."""
    folder = "/usr/lib/wsl/lib"
    return Machine(
        files={
            **BARE_FILES, "/etc/ld.so.conf.d/ld.wsl.conf": f"{folder}\n", "/etc/os-release": UBUNTU,
            "/run/WSL/1_interop": "",
        },
        nodes=[Node(path="/dev/dxg")], libraries=driver_libraries(driver, cuda, folder),
        links=driver_links(driver, folder), shim=script(driver, cuda, cards))


def container(machine: Machine, **environment: str) -> Machine:
    """Return what a Docker container of that machine sees: the same hardware and kernel, its own marks."""
    return machine.adding(files={"/.dockerenv": "", "/etc/os-release": UBUNTU}, environment=environment)


def container_without_gpu(cards: Sequence[Card], driver: str = "580.95.05") -> Machine:
    """Return a container started without --gpus: the host's cards and module show, no node, no library."""
    machine = nvidia_machine(driver=driver, cuda=13000, cards=cards)
    return container(replace(machine.without("/dev", LIBRARY_FOLDER), shim=None))


def amd_machine() -> Machine:
    """Return a machine with a Radeon card and no NVIDIA one."""
    card = "/sys/bus/pci/devices/0000:03:00.0"
    return Machine(
        files={
            **BARE_FILES, f"{card}/vendor": "0x1002\n", f"{card}/device": "0x744c\n",
            f"{card}/class": "0x030000\n", "/proc/modules": module_lines(["amdgpu"]),
        },
        links={f"{card}/driver": "../../drivers/amdgpu"}, directories={"/sys/bus/pci/drivers/amdgpu": 0o755})


def with_toolkit(machine: Machine, version: str, major: str) -> Machine:
    """Return the machine with a CUDA toolkit in its usual place: libraries of its own, no cuDNN."""
    folder = f"/usr/local/cuda-{version}"
    names = [f"lib{stem}.so.{major}" for stem in ("cudart", "cublas", "cublasLt")]
    return machine.adding(
        files={f"{folder}/version.json": f'{{"cuda": {{"name": "CUDA SDK", "version": "{version}.1"}}}}\n'},
        links={"/usr/local/cuda": f"cuda-{version}"},
        libraries={f"{folder}/lib64/{name}": standin(name) for name in names})


def with_intel_graphics(machine: Machine) -> Machine:
    """Return the machine with the processor's own graphics on the PCI bus."""
    card = "/sys/bus/pci/devices/0000:00:02.0"
    return machine.adding(
        files={f"{card}/vendor": "0x8086\n", f"{card}/device": "0xa788\n", f"{card}/class": "0x030000\n"})


# Root of a container that dropped its privileges: it opens what its rights allow, as everybody else does.
WITHOUT_PRIVILEGE = ("setpriv", "--bounding-set=-dac_override,-dac_read_search")


def denied(machine: Machine, cards: Sequence[Card]) -> Machine:
    """Return the machine with nodes that nobody may open: NVML answers 4 and cuInit 100."""
    nodes = tuple(replace(node, mode=0o000) for node in device_nodes(cards))
    return replace(machine, nodes=nodes).adding(shim="rc.nvmlInit=4\nrc.cuInit=100")


def without_uvm(driver: str = "580.95.05") -> Machine:
    """Return a machine whose nvidia_uvm is not loaded: NVML works and cuInit answers 999."""
    machine = nvidia_machine(driver=driver, cuda=13000, cards=[H100])
    nodes = device_nodes([H100], uvm=False)
    return replace(machine.without("/sys/module/nvidia_uvm"), nodes=nodes).adding(
        files={"/proc/modules": module_lines(("nvidia_modeset", "nvidia"))}, shim="rc.cuInit=999")
