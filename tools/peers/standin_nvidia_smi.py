"""A stand-in for nvidia-smi: it asks the machine's NVML and prints in the real one's formats.

The peers read its banner, `-q -x`, `-L` and `--query-gpu`; other options print the banner. From driver 610 on
the banner has the new names, and `-q -x` keeps the old elements, which are deprecated there and not yet gone.
"""

import ctypes
import sys
from collections.abc import Callable
from typing import Any

NOT_FOUND = (
    "NVIDIA-SMI couldn't find libnvidia-ml.so library in your system. Please make sure that the NVIDIA "
    "Display Driver is properly installed and present in your system.\n"
    "Please also try adding directory that contains libnvidia-ml.so to your system PATH.")
NO_DRIVER = (
    "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest "
    "NVIDIA driver is installed and running.\n")
MISMATCH = "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: {library}"
INIT_ERRORS = {4: "Failed to initialize NVML: Insufficient Permissions", 9: NO_DRIVER, 18: MISMATCH}
RENAMED_SINCE = 610
LINE = "+-----------------------------------------+------------------------+----------------------+"
TOP = "+-----------------------------------------------------------------------------------------+"
HEAD = """\
| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |
| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |
|                                         |                        |               MIG M. |
|=========================================+========================+======================|"""


class Pci(ctypes.Structure):
    """nvmlPciInfo_t."""

    _fields_ = (
        ("bus_id_legacy", ctypes.c_char * 16), ("domain", ctypes.c_uint), ("bus", ctypes.c_uint),
        ("device", ctypes.c_uint), ("pci_device", ctypes.c_uint), ("pci_subsystem", ctypes.c_uint),
        ("bus_id", ctypes.c_char * 32))


def loaded_version() -> str:
    """Return the version in the name of the libnvidia-ml that is loaded here."""
    with open("/proc/self/maps", encoding="utf-8") as maps:
        names = [line.rpartition("libnvidia-ml.so.") for line in maps]
    return next((version.strip() for _, name, version in names if name), "")


class Nvml:
    """The machine's NVML; a call that fails ends the program with its message and code, as the real one's."""

    def __init__(self) -> None:
        try:
            self._library = ctypes.CDLL("libnvidia-ml.so.1")
        except OSError:
            print(NOT_FOUND)
            sys.exit(12)
        code = self._library.nvmlInit_v2()
        if code:
            text = INIT_ERRORS.get(code, f"Failed to initialize NVML: error {code}")
            print(text.format(library=".".join(loaded_version().split(".")[:2])))
            sys.exit(code)

    def call(self, function: str, *arguments: Any) -> None:
        """Call a function."""
        code = getattr(self._library, function)(*arguments)
        if code:
            print(f"Unable to determine the device handle for GPU: error {code}")
            sys.exit(code)

    def text(self, function: str, *arguments: Any) -> str:
        """Return what a function writes into a buffer."""
        buffer = ctypes.create_string_buffer(96)
        self.call(function, *arguments, buffer, 96)
        return buffer.value.decode()


class Card:
    """What NVML says of one card."""

    def __init__(self, nvml: Nvml, index: int, count: int, driver: str) -> None:
        handle = ctypes.c_void_p()
        nvml.call("nvmlDeviceGetHandleByIndex_v2", index, ctypes.byref(handle))
        memory = (ctypes.c_ulonglong * 3)()
        nvml.call("nvmlDeviceGetMemoryInfo", handle, memory)
        major, minor, pci = ctypes.c_int(), ctypes.c_int(), Pci()
        nvml.call("nvmlDeviceGetCudaComputeCapability", handle, ctypes.byref(major), ctypes.byref(minor))
        nvml.call("nvmlDeviceGetPciInfo_v3", handle, ctypes.byref(pci))
        self.index, self.count, self.driver = index, count, driver
        self.name = nvml.text("nvmlDeviceGetName", handle)
        self.uuid = nvml.text("nvmlDeviceGetUUID", handle)
        self.bus_id = bytes(pci.bus_id).decode()
        self.compute_capability = f"{major.value}.{minor.value}"
        self.memory_mib = [size >> 20 for size in memory]


FIELDS: dict[str, Callable[[Card], str]] = {
    "index": lambda card: str(card.index),
    "name": lambda card: card.name,
    "gpu_name": lambda card: card.name,
    "uuid": lambda card: card.uuid,
    "gpu_uuid": lambda card: card.uuid,
    "driver_version": lambda card: card.driver,
    "pci.bus_id": lambda card: card.bus_id,
    "count": lambda card: str(card.count),
    "compute_cap": lambda card: card.compute_capability,
    "memory.total": lambda card: f"{card.memory_mib[0]} MiB",
    "memory.free": lambda card: f"{card.memory_mib[1]} MiB",
    "memory.used": lambda card: f"{card.memory_mib[2]} MiB",
}


def cuda_version() -> str | None:
    """Return the newest CUDA of the libcuda that the loader finds, as NVML does; none without libcuda."""
    try:
        library = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return None
    version = ctypes.c_int()
    library.cuDriverGetVersion(ctypes.byref(version))
    return f"{version.value // 1000}.{version.value % 1000 // 10}"


def banner(driver: str, cuda: str | None, cards: list[Card]) -> str:
    """Return what nvidia-smi prints without options."""
    renamed = int(driver.partition(".")[0]) >= RENAMED_SINCE
    names = ("KMD Version", "CUDA UMD Version") if renamed else ("Driver Version", "CUDA Version")
    left, middle = f"NVIDIA-SMI {driver}", f"{names[0]}: {driver}"
    title = f"| {left:<33} {middle:<30} {names[1] + ': ' + (cuda or 'N/A'):<22} |"
    lines = [TOP, title, LINE, HEAD]
    for card in cards:
        usage = f"{card.memory_mib[2]}MiB / {card.memory_mib[0]:>6}MiB"
        lines += [
            f"| {card.index:>3}  {card.name[:25]:<26}     On  |   {card.bus_id} Off |                    0 |",
            f"| N/A   41C    P0             60W /  350W | {usage:>22} |      0%      Default |",
            f"| {'':<39} | {'':<22} |             Disabled |", LINE]
    processes = [f"| {'Processes:':<87} |", f"| {' No running processes found':<87} |"]
    return "\n".join([*lines, "", TOP, *processes, TOP])


def document(driver: str, cuda: str | None, cards: list[Card]) -> str:
    """Return `-q -x`, as far as a reader of versions, names and memory goes."""
    lines = [
        '<?xml version="1.0" ?>', '<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">',
        "<nvidia_smi_log>",
        f"\t<driver_version>{driver}</driver_version>",
        f"\t<cuda_version>{cuda or 'Not Found'}</cuda_version>",
        f"\t<attached_gpus>{len(cards)}</attached_gpus>"]
    for card in cards:
        total, free, used = card.memory_mib
        lines += [
            f'\t<gpu id="{card.bus_id}">', f"\t\t<product_name>{card.name}</product_name>",
            f"\t\t<uuid>{card.uuid}</uuid>", f"\t\t<minor_number>{card.index}</minor_number>",
            f"\t\t<fb_memory_usage>\n\t\t\t<total>{total} MiB</total>\n\t\t\t<used>{used} MiB</used>",
            f"\t\t\t<free>{free} MiB</free>\n\t\t</fb_memory_usage>", "\t</gpu>"]
    return "\n".join([*lines, "</nvidia_smi_log>"])


def query(fields: str, form: str, cards: list[Card]) -> str:
    """Return the rows of `--query-gpu`."""
    names = [name.strip() for name in fields.split(",")]
    for name in names:
        if name not in FIELDS:
            print(f'Field "{name}" is not a valid field to query.')
            sys.exit(2)
    rows = [] if "noheader" in form else [", ".join(names)]
    rows += [", ".join(FIELDS[name](card) for name in names) for card in cards]
    return "\n".join(row.replace(" MiB", "") if "nounits" in form else row for row in rows)


def main(arguments: list[str]) -> None:
    """Print what was asked for."""
    nvml = Nvml()
    driver, count = nvml.text("nvmlSystemGetDriverVersion"), ctypes.c_uint()
    nvml.call("nvmlDeviceGetCount_v2", ctypes.byref(count))
    cards = [Card(nvml, index, count.value, driver) for index in range(count.value)]
    options = dict(argument.partition("=")[::2] for argument in arguments)
    if "--query-gpu" in options:
        print(query(options["--query-gpu"], options.get("--format", ""), cards))
    elif "-x" in options:
        print(document(driver, cuda_version(), cards))
    elif "-L" in options:
        print("\n".join(f"GPU {card.index}: {card.name} (UUID: {card.uuid})" for card in cards))
    elif cards:
        print(banner(driver, cuda_version(), cards))
    else:
        print("No devices were found")
        sys.exit(6)


if __name__ == "__main__":
    main(sys.argv[1:])
