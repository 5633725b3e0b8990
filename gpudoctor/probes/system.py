"""Read what the system collector saw: operating system, processor, PCI cards, kernel modules, kernel log."""

from __future__ import annotations

import re
import shlex
from typing import Any

from gpudoctor.model import Absent, Fact, Facts, Known, Unknown
from gpudoctor.probes import calls, pci
from gpudoctor.probes.calls import Cards, mapping
from gpudoctor.probes.raw import Answer, known
from gpudoctor.probes.shapes import Data, data_of, failure, names, read_all, record, some, text_at, texts

CPU_FLAGS = ("sse4_1", "sse4_2", "avx", "avx2", "fma", "avx512f", "asimd", "sve")
LOG_LINES = 50
_BOOT_LINE = re.compile(r"Linux version [0-9]")
_TEGRA_RELEASE = re.compile(r"# R([0-9]+) \(release\), REVISION: ([0-9]+(?:\.[0-9]+)*)")


def read(answer: Answer) -> dict[str, Fact]:
    """Return the host facts that the system probe promises."""
    return read_all(answer, "system", _READERS)


def read_gpus(answer: Answer) -> Cards:
    """Return NVIDIA's display and 3D controllers on the PCI bus; Absent when there is no PCI bus."""
    data = data_of(answer)
    if isinstance(data, Unknown):
        return data
    found = pci.functions(data.get("pci"))
    if isinstance(found, Absent | Unknown):
        return found
    return tuple(_card(function) for function in found if pci.is_card(function))


def _card(function: pci.Function) -> Facts:
    address = calls.bus_id(function.get("address"))
    driver = text_at(function, "driver")
    source = f"{pci.SOURCE}/{address}"
    bound: Fact = known(driver, f"{source}/driver")
    if driver is None and text_at(function, "driver_error"):
        bound = Unknown(reason=f"{source}/driver: {text_at(function, 'driver_error')}")
    return {
        "gpu.bus_id": known(address, pci.SOURCE),
        "gpu.pci_device_id": known(pci.device_id(function), f"{source}/device"),
        "gpu.pci_driver": bound,
    }


def _uname(data: Data, key: str) -> Fact:
    value = text_at(data.get("uname"), key)
    return Known(value=value, source="uname") if value else Unknown(reason="uname was not collected")


def parse_os_release(text: str) -> dict[str, str]:
    """Return the assignments of an os-release file, quotes removed; lines that are none are left out."""
    found = {}
    for line in text.splitlines():
        name, equals, value = line.strip().partition("=")
        if equals and re.fullmatch(r"[A-Z][A-Z0-9_]*", name):
            try:
                found[name] = "".join(shlex.split(value))
            except ValueError:  # an open quote
                found[name] = value.strip("\"'")
    return found


def _os_release(data: Data, key: str) -> Fact:
    answer = mapping(data.get("os_release"))
    path = text_at(answer, "path") or "/etc/os-release"
    text = text_at(answer, "text")
    if text is None:
        return failure(answer, path)
    return known(parse_os_release(text).get(key) or None, path)


def _distribution_like(data: Data) -> Fact:
    like = _os_release(data, "ID_LIKE")
    if not isinstance(like, Known):
        return like
    return some(tuple(str(like.value).split()), like.source)


def _glibc(data: Data) -> Fact:
    answer = mapping(data.get("libc"))
    found = re.search(r"glibc ([0-9]+\.[0-9]+(?:\.[0-9]+)?)", text_at(answer, "text") or "")
    if found:
        return Known(value=found.group(1), source=text_at(answer, "path") or "confstr CS_GNU_LIBC_VERSION")
    musl = texts(answer.get("musl_loaders"))
    if musl:
        return Absent(source=f"musl: /lib/{musl[0]}")
    if text_at(data.get("uname"), "system") not in (None, "Linux"):
        return Absent(source="not Linux")
    if answer.get("unfound") is True:
        return Unknown(reason="no C library lies where images have theirs", asked=False)
    return Unknown(reason="this Python's C library does not say what it is")


def _wsl(data: Data) -> Fact:
    release = (text_at(data.get("uname"), "release") or "").lower()
    traces = mapping(data.get("wsl"))
    if not release:
        return Unknown(reason="uname was not collected")
    if "wsl2" in release or "microsoft-standard" in release:
        return Known(value=2, source=f"kernel {release}")
    if "microsoft" in release:
        return Known(value=1, source=f"kernel {release}")
    if traces.get("/run/WSL") is True and traces.get("/dev/dxg") is True:  # WSL2 with a kernel of one's own
        return Known(value=2, source="/run/WSL and /dev/dxg")
    return Absent(source=f"kernel {release}")


def _jetson(data: Data) -> Fact:
    release = text_at(data.get("tegra_release"), "text")
    found = _TEGRA_RELEASE.search(release or "")
    if found:
        return Known(value=f"{found.group(1)}.{found.group(2)}", source="/etc/nv_tegra_release")
    if release is not None:
        return Unknown(reason="/etc/nv_tegra_release names no release")
    model = (text_at(data.get("device_tree_model"), "text") or "").strip("\0 \n")
    if "jetson" in model.lower():
        return Unknown(reason=f"this is a {model}, but /etc/nv_tegra_release cannot be read")
    return failure(data.get("tegra_release"), "/etc/nv_tegra_release")


def _cpu_flags(data: Data) -> Fact:
    text = text_at(data.get("cpuinfo"), "text")
    if text is None:  # every Linux has it: where it is not there, the processor's flags cannot be told
        why = failure(data.get("cpuinfo"), "/proc/cpuinfo")
        return why if isinstance(why, Unknown) else Unknown(reason="/proc/cpuinfo is not there")
    found = re.search(r"^(?:flags|Features)\s*:(.*)$", text, re.MULTILINE)
    if not found:
        return Unknown(reason="/proc/cpuinfo lists no flags")
    has = set(found.group(1).split())
    return Known(value=tuple(flag for flag in CPU_FLAGS if flag in has), source="/proc/cpuinfo")


def _secure_boot(data: Data) -> Fact:
    answer = mapping(data.get("secure_boot"))
    path = text_at(answer, "path") or "/sys/firmware/efi/efivars"
    variable = mapping(answer.get("variable"))
    byte = calls.flag(variable.get("byte"))
    if byte is not None:
        return Known(value=byte, source=path)
    if variable.get("missing") is not True:
        return failure(variable, path)
    firmware = names(answer.get("firmware"), "/sys/firmware")
    if not isinstance(firmware, tuple):
        return firmware
    if answer.get("efi") is not True:  # container runtimes cover /sys/firmware with an empty folder
        return Absent(source="no EFI firmware") if firmware else Unknown(reason="/sys/firmware is hidden")
    if not calls.count(mapping(answer.get("variables")).get("count")):
        return Unknown(reason="the variables of the EFI firmware are not visible")
    return Absent(source=path)


def _gpu_modules(data: Data) -> Fact:
    answer = mapping(data.get("modules"))
    loaded = names(answer.get("proc"), "/proc/modules")
    present = names(answer.get("sys"), "/sys/module")
    found = [part for part in (loaded, present) if isinstance(part, tuple)]
    if not found:
        unreadable = [part for part in (loaded, present) if isinstance(part, Unknown)]
        return unreadable[0] if unreadable else Absent(source="/proc/modules, /sys/module")
    source = "/proc/modules" if isinstance(loaded, tuple) else "/sys/module"
    return Known(value=tuple(sorted({name for part in found for name in part})), source=source)


def _pci_nvidia(data: Data) -> Fact:
    found = pci.functions(data.get("pci"))
    if isinstance(found, Absent | Unknown):
        return found
    return Known(source=pci.SOURCE, value=tuple(
        record(address=calls.bus_id(function.get("address")) or text_at(function, "address"),
               device=pci.device_id(function), **{"class": text_at(function, "class")},
               driver=text_at(function, "driver"))
        for function in found if pci.is_nvidia(function)))


def _other_accelerators(data: Data) -> Fact:
    found = pci.functions(data.get("pci"))
    if isinstance(found, Absent | Unknown):
        return found
    vendors = {vendor for function in found if (vendor := pci.other_vendor(function))}
    return some(tuple(sorted(vendors)), pci.SOURCE)


def _user_id(data: Data) -> Fact:
    number = calls.count(data.get("user_id"))
    if number is None:
        return Unknown(reason="the user id was not collected")
    return Known(value=number, source="getuid")


def _address_space_limit(data: Data) -> Fact:
    answer = mapping(data.get("address_space_limit"))
    if answer.get("unlimited") is True:
        return Absent(source="RLIMIT_AS is unlimited")
    number = calls.count(answer.get("bytes"))
    return failure(answer, "RLIMIT_AS") if number is None else Known(value=number, source="RLIMIT_AS")


def since_boot(lines: tuple[str, ...]) -> tuple[str, ...]:
    """Return the lines after the last one with which a kernel announced itself: what is older is past."""
    start = max((index + 1 for index, line in enumerate(lines) if _BOOT_LINE.search(line)), default=0)
    return lines[start:]


def _kernel_log(data: Data) -> Fact:
    answer: Any = mapping(data.get("kernel_log"))
    if not isinstance(answer.get("lines"), list):
        return failure(answer, "kernel log")
    lines = since_boot(texts(answer["lines"]))
    return some(lines[-LOG_LINES:], text_at(answer, "path") or "kernel log")


def _switched_off(data: Data) -> Fact:
    """Return the file in which a switch for laptops says that NVIDIA's card is off."""
    if not isinstance(data.get("switches"), list):
        return Unknown(reason="the switches of laptops were not collected")
    unread: Fact | None = None
    for switch in calls.objects(data["switches"]):
        path, word = text_at(switch, "path") or "", text_at(switch, "off") or ""
        said = text_at(switch, "text")
        if said is None:
            unread = unread or (failure(switch, path) if text_at(switch, "error") else None)
        elif word and word in said.split():
            return Known(value=path, source=f"{path}: {said.strip()[:80]}")
    return unread or Absent(source="no file of prime-select, bbswitch or envycontrol says so")


def _slurm(data: Data) -> Fact:
    if not isinstance(data.get("slurm"), list):
        return Unknown(reason="Slurm's files were not collected")
    found = texts(data["slurm"])
    return Known(value=bool(found), source=found[0] if found else "no slurm.conf in its usual places")


_READERS = {
    "system.os": lambda data: _uname(data, "system"),
    "system.kernel": lambda data: _uname(data, "release"),
    "system.architecture": lambda data: _uname(data, "machine"),
    "system.distribution": lambda data: _os_release(data, "ID"),
    "system.distribution_version": lambda data: _os_release(data, "VERSION_ID"),
    "system.distribution_like": _distribution_like,
    "system.glibc": _glibc,
    "system.wsl": _wsl,
    "system.jetson": _jetson,
    "system.cpu_flags": _cpu_flags,
    "system.secure_boot": _secure_boot,
    "system.gpu_modules": _gpu_modules,
    "system.pci_nvidia": _pci_nvidia,
    "system.other_accelerators": _other_accelerators,
    "system.user_id": _user_id,
    "system.address_space_limit_bytes": _address_space_limit,
    "system.gpu_kernel_log": _kernel_log,
    "system.gpu_switched_off": _switched_off,
    "system.slurm": _slurm,
}
