"""Facts of the host computed from others: the driver in use, what it runs, which cards are there and seen."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Mapping

from gpudoctor import versions
from gpudoctor.derive import commands, jetson, stale
from gpudoctor.derive.driver import DRIVER_DERIVATIONS
from gpudoctor.derive.view import View, as_records, floor_row, text_in
from gpudoctor.model import Absent, Fact, Known, Unknown, Value

_NVIDIA_DISPLAY_CLASS = "0x03"
STUB_LIBRARY = 34  # CUDA_ERROR_STUB_LIBRARY


def driver_version(view: View) -> Fact:
    """Return the version of the driver: the kernel's word before the word of a file."""
    names = ("nvml.driver_version", "driver.kernel_version", "driver.libcuda_file_version",
             "driver.libnvidia_ml_file_version")
    return _first_known(view, names, "no NVIDIA driver was seen")


def _first_known(view: View, names: tuple[str, ...], absent: str) -> Fact:
    for name in names:
        fact = view.fact(name)
        if isinstance(fact, Known):
            return fact
    return view.unknown_among(names) or Absent(source=absent)


def driver_loaded_version(view: View) -> Fact:
    """Return the version of the loaded kernel module: its own word, else NVML's, which works with no other.

    (Under WSL NVML speaks with Windows; there is no module on this side.)
    """
    own = view.fact("driver.kernel_version")
    if isinstance(own, Known) or not isinstance(view.fact("system.wsl"), Absent):
        return own
    if view.value("nvml.init_code") == 0 and view.number("nvml.gpu_count"):
        return view.fact("nvml.driver_version")
    return own


def driver_cuda_ceiling(view: View) -> Fact:
    """Return the newest CUDA that the libcuda in use runs; NVML or the driver's branch stand in for it."""
    is_foreign = view.value("cuda.library_kind") in ("compat", "other")
    in_front = view.value("cuda.library_version") if is_foreign else None
    # NVML and the driver's branch speak of the driver's own libcuda, not of one that lies in front of it
    stated = _first_known(view, ("cuda.ceiling",) if in_front else ("cuda.ceiling", "nvml.cuda_version"), "")
    if isinstance(stated, Known):
        return stated
    version = str(in_front) if in_front else view.need_text("driver.version")
    board = view.value("system.jetson")
    if board is not None:
        return jetson.cuda_ceiling(str(board), view.tables)
    row = floor_row(view.table("driver_branches"), "driver", version)
    if row is None:
        return Unknown(reason=f"the rule database does not reach back to driver {version}")
    end = stale.branch_end(view, version)
    if end is not None:
        return stale.unknown(view, f"driver {version}", f"branch {end}", at_least=row["cuda"])
    return Known(value=row["cuda"], source=f"rules/tables/driver_branches.toml for driver {version}")


def driver_works(view: View) -> Fact:
    """Return whether cuInit succeeded."""
    library = view.fact("cuda.library")
    if isinstance(library, Absent):
        return Known(value=False, source="libcuda.so.1 cannot be loaded")
    if isinstance(library, Unknown) and isinstance(view.fact("cuda.init_code"), Absent):
        return library  # that nothing was started proves nothing where nobody could look for it
    code, name = view.need("cuda.init_code"), view.value("cuda.init_name")
    said = f"cuInit returned {code}" + (f" ({name})" if name else "")
    return Known(value=code == 0, source=said)


def driver_present(view: View) -> Fact:
    """Return whether any part of an NVIDIA driver was seen; "no" only if every place could be looked at."""
    for name in ("driver.kernel_version", "nvml.library", "cuda.library"):
        if isinstance(view.fact(name), Known):
            return Known(value=True, source=f"{name} is {view.value(name)}")
    for name in ("driver.libcuda_files", "driver.libnvidia_ml_files", "driver.module_kernels"):
        if view.value(name):
            return Known(value=True, source=name)
    unknown = view.unknown_among(("driver.kernel_version", "nvml.library", "cuda.library"))
    return unknown or Known(value=False, source="no kernel module, libcuda.so.1 or libnvidia-ml.so.1")


def nvidia_gpus(view: View) -> Fact:
    """Return how many NVIDIA cards were seen by whichever means saw most."""
    on_bus = view.fact("system.pci_nvidia")
    counts = {
        "the PCI bus": _display_count(view),
        "/proc/driver/nvidia/gpus": view.number("driver.proc_gpus"),
        "NVML": view.number("nvml.gpu_count"),
        "libcuda": view.number("cuda.device_count"),
    }
    source, most = max(counts.items(), key=lambda item: item[1])
    if most:
        return Known(value=most, source=source)
    blind = view.unknown_among(("system.pci_nvidia", "nvml.gpu_count", "cuda.device_count"))
    if blind is not None and not (isinstance(on_bus, Known) and _driver_cannot_say(view)):
        return blind
    return Known(value=0, source="no card on the PCI bus, in /proc/driver/nvidia, in NVML or in libcuda")


def _driver_cannot_say(view: View) -> bool:
    """Return whether NVML and libcuda are silent because there is no driver, not because they broke."""
    return isinstance(view.fact("nvml.library"), Absent) and isinstance(view.fact("cuda.library"), Absent)


def _display_count(view: View) -> int:
    functions = view.records("system.pci_nvidia")
    return sum(text_in(function, "class").startswith(_NVIDIA_DISPLAY_CLASS) for function in functions)


def nvidia_host(view: View) -> Fact:
    """Return whether /sys or /proc shows NVIDIA hardware: in a container, whether the host has it."""
    if _display_count(view):
        return Known(value=True, source="PCI bus")
    for name in ("driver.kernel_version", "driver.proc_gpus"):
        if view.value(name):
            return Known(value=True, source=name)
    unknown = view.unknown_among(("system.pci_nvidia", "driver.kernel_version"))
    return unknown or Known(value=False, source="no card on the PCI bus and no NVIDIA kernel module")


def nvidia_pci_drivers(view: View) -> Fact:
    """Return the kernel drivers bound to NVIDIA cards, each once; "" stands for a card without one."""
    records = as_records(view.need("system.pci_nvidia"))
    drivers = {text_in(r, "driver") for r in records if text_in(r, "class").startswith(_NVIDIA_DISPLAY_CLASS)}
    return Known(value=tuple(sorted(drivers)), source="PCI bus")


def library_kind(view: View) -> Fact:
    """Return what the loaded libcuda is: the driver's own, cuda-compat's, the toolkit's stub, or another.

    What is newer than the kernel module and not the system's own file can only work as forward compatibility.
    (Under WSL the module is on the other side, in Windows, and its version is another number.)
    """
    path = view.need_text("cuda.library")
    if view.value("cuda.init_code") == STUB_LIBRARY:
        return Known(value="stub", source=f"cuInit returned {STUB_LIBRARY}")
    if posixpath.dirname(path) in view.texts("container.compat_folders"):
        return Known(value="compat", source=path)
    told = view.unknown_among(("container.compat_folders", "cuda.library_version", "driver.loaded_version"))
    if told is not None:
        return told  # it may be any of them
    version, kernel = view.value("cuda.library_version"), view.value("driver.loaded_version")
    if version is None or kernel is None or version == kernel or version == _system_libcuda(view):
        return Known(value="driver", source=path)
    source = f"{path} is of {version}, the kernel module of {kernel}"
    newer = versions.parse(str(version)) > versions.parse(str(kernel))
    return Known(value="compat" if newer else "other", source=source)


def _system_libcuda(view: View) -> Value | None:
    """Return the version of the system's own libcuda; None where there is none."""
    name = "driver.libcuda_file_version"
    return None if isinstance(view.fact(name), Absent) else view.need(name)


HOST_DERIVATIONS: Mapping[str, Callable[[View], Fact]] = {
    "driver.version": driver_version,
    "driver.loaded_version": driver_loaded_version,
    "driver.cuda_ceiling": driver_cuda_ceiling,
    "driver.works": driver_works,
    "driver.present": driver_present,
    "system.nvidia_gpus": nvidia_gpus,
    "system.nvidia_host": nvidia_host,
    "system.nvidia_pci_drivers": nvidia_pci_drivers,
    "cuda.library_kind": library_kind,
    **DRIVER_DERIVATIONS,
    **jetson.HOST_DERIVATIONS,
    "python.conda_command": commands.conda_command,
    "python.conda_xla_flags": commands.conda_xla_flags,
    "container.run_command": commands.run_command,
    "container.shell_command": commands.shell_command,
    "container.check_command": commands.check_command,
    "container.image_base": commands.image_base,
    "python.pip_command": commands.pip_command,
    "python.pip_uninstall_command": commands.pip_uninstall_command,
}

