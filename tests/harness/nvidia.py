"""Machines with NVIDIA cards: from a driver version and a list of cards, all that a driver leaves.

    machine = nvidia_machine(driver="570.86.15", cuda=12080, cards=[H100])

has the kernel module in /proc and /sys, the cards on the PCI bus, the device nodes, the user-space libraries
(scripted) and the script that makes them tell the same story. Take away or add with Machine.without and
Machine.adding.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from tests.harness.machine import File, Machine, Node
from tests.shim import build

LIBRARY_FOLDER = "/usr/lib/x86_64-linux-gnu"
MIB = 1 << 20
MODULES = ("nvidia_uvm", "nvidia_drm", "nvidia_modeset", "nvidia")
# The files of a computer that has no NVIDIA card at all: a PCI bus with a bridge on it.
BARE_FILES: Mapping[str, str | bytes | File] = {
    "/sys/bus/pci/devices/0000:00:00.0/vendor": "0x8086\n",
    "/sys/bus/pci/devices/0000:00:00.0/device": "0x1237\n",
    "/sys/bus/pci/devices/0000:00:00.0/class": "0x060000\n",
    "/proc/modules": "ext4 1150976 1 - Live 0x0000000000000000\n",
    "/sys/module/ext4/initstate": "live\n",
}


@dataclass(frozen=True, kw_only=True)
class Card:
    """A product. `extra` holds further script keys of the card, such as mig=1 or compute_mode=3."""

    name: str
    pci_device: int
    compute_capability: str
    memory_mib: int
    display: bool = False
    extra: Mapping[str, str] = field(default_factory=dict)

    def having(self, **extra: object) -> Card:
        """Return the same card with further script keys."""
        keys = {name: str(value) for name, value in extra.items()}
        return replace(self, extra={**self.extra, **keys})


K80 = Card(name="Tesla K80", pci_device=0x102D, compute_capability="3.7", memory_mib=11441)
GTX_1080_TI = Card(
    name="NVIDIA GeForce GTX 1080 Ti",
    pci_device=0x1B06,
    compute_capability="6.1",
    memory_mib=11264,
    display=True,
)
V100 = Card(name="Tesla V100-SXM2-16GB", pci_device=0x1DB1, compute_capability="7.0", memory_mib=16384)
T4 = Card(name="Tesla T4", pci_device=0x1EB8, compute_capability="7.5", memory_mib=15360)
A100 = Card(
    name="NVIDIA A100-SXM4-40GB",
    pci_device=0x20B0,
    compute_capability="8.0",
    memory_mib=40960,
    extra={"mig": "0"},
)
RTX_3090 = Card(
    name="NVIDIA GeForce RTX 3090",
    pci_device=0x2204,
    compute_capability="8.6",
    memory_mib=24576,
    display=True,
)
L4 = Card(name="NVIDIA L4", pci_device=0x27B8, compute_capability="8.9", memory_mib=23034)
RTX_4090 = Card(
    name="NVIDIA GeForce RTX 4090",
    pci_device=0x2684,
    compute_capability="8.9",
    memory_mib=24564,
    display=True,
)
H100 = Card(
    name="NVIDIA H100 80GB HBM3",
    pci_device=0x2330,
    compute_capability="9.0",
    memory_mib=81559,
    extra={"mig": "0"},
)
H200 = Card(
    name="NVIDIA H200", pci_device=0x2335, compute_capability="9.0", memory_mib=143771, extra={"mig": "0"}
)
B200 = Card(
    name="NVIDIA B200", pci_device=0x2901, compute_capability="10.0", memory_mib=183359, extra={"mig": "0"}
)
RTX_5090 = Card(
    name="NVIDIA GeForce RTX 5090",
    pci_device=0x2B85,
    compute_capability="12.0",
    memory_mib=32607,
    display=True,
)


def bus_id(index: int) -> str:
    """Return where the card with this index sits: sixteen to a PCI domain."""
    return f"{index >> 4:04x}:{(index & 15) * 0x10 + 1:02x}:00.0"


def uuid(index: int) -> str:
    """Return the UUID of the card with this index."""
    return f"GPU-{index:08x}-1111-2222-3333-444444444444"


def pci_files(cards: Sequence[Card]) -> dict[str, str | bytes | File]:
    """Return the PCI devices of the cards in /sys."""
    files: dict[str, str | bytes | File] = {}
    for index, card in enumerate(cards):
        folder = f"/sys/bus/pci/devices/{bus_id(index)}"
        files[f"{folder}/vendor"] = "0x10de\n"
        files[f"{folder}/device"] = f"{card.pci_device:#06x}\n"
        files[f"{folder}/subsystem_vendor"] = "0x10de\n"
        files[f"{folder}/class"] = "0x030000\n" if card.display else "0x030200\n"
        files[f"{folder}/numa_node"] = "-1\n"
        files[f"{folder}/enable"] = "1\n"
    return files


def version_text(driver: str, *, open_module: bool) -> str:
    """Return /proc/driver/nvidia/version as the proprietary or the open kernel module writes it."""
    if open_module:
        first = f"NVIDIA UNIX Open Kernel Module for x86_64  {driver}  Release Build  (builder@host)"
    else:
        first = f"NVIDIA UNIX x86_64 Kernel Module  {driver}"
    date = "Tue Jan 14 22:29:26 UTC 2025"
    return f"NVRM version: {first}  {date}\nGCC version:  gcc version 12.2.0 (Debian 12.2.0-14)\n"


def module_files(driver: str, cards: Sequence[Card], *, open_module: bool) -> dict[str, str | bytes | File]:
    """Return what the loaded kernel module shows in /proc and /sys."""
    files: dict[str, str | bytes | File] = {
        "/proc/driver/nvidia/version": version_text(driver, open_module=open_module),
        "/proc/driver/nvidia/params": "ModifyDeviceFiles: 1\nDeviceFileMode: 438\n",
        "/proc/modules": module_lines(MODULES),
        "/sys/module/nvidia/version": f"{driver}\n",
        "/sys/module/nvidia/taint": "O\n" if open_module else "PO\n",
    }
    for module in MODULES:
        files[f"/sys/module/{module}/initstate"] = "live\n"
    for index, card in enumerate(cards):
        path = f"/proc/driver/nvidia/gpus/{bus_id(index)}/information"
        files[path] = information(driver, card, index)
    return files


def information(driver: str, card: Card, index: int) -> str:
    """Return a card's `information` file with the tabs and blanks of the real one."""
    lines = (
        f"Model: \t\t {card.name}",
        f"IRQ:   \t\t {90 + index}",
        f"GPU UUID: \t {uuid(index)}",
        "Video BIOS: \t 96.00.61.00.01",
        "Bus Type: \t PCIe",
        "DMA Size: \t 52 bits",
        "DMA Mask: \t 0xfffffffffffff",
        f"Bus Location: \t {bus_id(index)}",
        f"Device Minor: \t {index}",
        f"GPU Firmware: \t {driver}",
        "GPU Excluded:\t No",
    )
    return "\n".join(lines) + "\n"


def module_lines(names: Sequence[str]) -> str:
    """Return /proc/modules with these modules, and one of every machine."""
    lines = [f"{name} 1540096 2 - Live 0x0000000000000000 (POE)\n" for name in names]
    return "".join(lines) + str(BARE_FILES["/proc/modules"])


def device_nodes(cards: Sequence[Card], *, uvm: bool = True) -> tuple[Node, ...]:
    """Return the nodes in /dev, with harmless numbers: there is nothing behind NVIDIA's own ones here."""
    paths = [f"/dev/nvidia{index}" for index in range(len(cards))] + ["/dev/nvidiactl", "/dev/nvidia-modeset"]
    if uvm:
        paths += ["/dev/nvidia-uvm", "/dev/nvidia-uvm-tools"]
    return tuple(Node(path=path) for path in paths)


def driver_libraries(driver: str, cuda: int, folder: str = LIBRARY_FOLDER) -> dict[str, Path]:
    """Return the two scripted libraries under the names that a driver installs."""
    return {
        f"{folder}/libcuda.so.{driver}": build.cuda(driver_version=driver, cuda_version=cuda),
        f"{folder}/libnvidia-ml.so.{driver}": build.nvml(driver_version=driver),
    }


def driver_links(driver: str, folder: str = LIBRARY_FOLDER) -> dict[str, str]:
    """Return the links that ldconfig makes for them."""
    return {
        f"{folder}/libcuda.so.1": f"libcuda.so.{driver}",
        f"{folder}/libcuda.so": "libcuda.so.1",
        f"{folder}/libnvidia-ml.so.1": f"libnvidia-ml.so.{driver}",
    }


def script(driver: str, cuda: int, cards: Sequence[Card]) -> str:
    """Return the script that makes the libraries describe these cards, healthy and idle."""
    lines = [f"driver={driver}", f"nvml={cuda // 1000}.{driver}", f"cuda={cuda}", f"count={len(cards)}"]
    for index, card in enumerate(cards):
        keys = {
            "name": card.name,
            "uuid": uuid(index),
            "serial": f"16500200000{index:02d}",
            "cc": card.compute_capability,
            "mem_total": str(card.memory_mib * MIB),
            "mem_used": str(450 * MIB),
            "pci": f"0000{bus_id(index).upper()}",
            "pci_id": f"{card.pci_device << 16 | 0x10DE:#x}",
            "minor": str(index),
            "compute_mode": "0",
            "persistence": "1",
            "pcie_gen": "4",
            "pcie_gen_max": "4",
            "pcie_width": "16",
            "pcie_width_max": "16",
            "throttle": "0",
            "temp": "41",
            "power": "60000",
            "power_limit": "350000",
            "util": "0,0",
            **({} if card.display else {"ecc": "1", "remap": "0,0,0,0"}),
            **card.extra,
        }
        lines += [f"gpu.{index}.{key}={value}" for key, value in keys.items()]
    return "\n".join(lines) + "\n"


def bare_machine() -> Machine:
    """Return a computer without any NVIDIA card or driver."""
    return Machine(files=BARE_FILES)


def nvidia_machine(
    *,
    driver: str,
    cuda: int,
    cards: Sequence[Card],
    open_module: bool = True,
    user_space: str | None = None,
    loader_cache: bool = False,
    environment: Mapping[str, str] | None = None,
) -> Machine:
    """Return a healthy machine with these cards under a working driver.

    `cuda` is the newest CUDA of the driver as its own functions count, 12080 for 12.8. `user_space` is the
    version of the libraries where it is not that of the kernel module.
    """
    libraries = user_space or driver
    files = {**BARE_FILES, **pci_files(cards), **module_files(driver, cards, open_module=open_module)}
    links = {
        f"/sys/bus/pci/devices/{bus_id(index)}/driver": "../../drivers/nvidia" for index in range(len(cards))
    }
    return Machine(
        files=files,
        links={**links, **driver_links(libraries)},
        directories={"/sys/bus/pci/drivers/nvidia": 0o755},
        nodes=device_nodes(cards),
        libraries=driver_libraries(libraries, cuda),
        shim=script(libraries, cuda, cards),
        environment=environment or {},
        loader_cache=loader_cache,
    )


def driverless_machine(cards: Sequence[Card]) -> Machine:
    """Return a machine whose cards have no driver: nothing but the PCI devices."""
    return Machine(files={**BARE_FILES, **pci_files(cards)})
