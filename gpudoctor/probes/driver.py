"""Read what the driver collector saw of an NVIDIA driver on disk, in /proc, /sys and /dev."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from gpudoctor.model import Absent, Fact, Known, Record, Unknown
from gpudoctor.probes import calls, container, pci
from gpudoctor.probes.calls import mapping
from gpudoctor.probes.raw import Answer, known
from gpudoctor.probes.shapes import Data, failure, names, read_all, record, some, text_at, texts

SYS_VERSION, PROC_VERSION = "/sys/module/nvidia/version", "/proc/driver/nvidia/version"
PROC_GPUS = "/proc/driver/nvidia/gpus"
_BANNER_VERSION = re.compile(r"^NVRM version:.*?\s([0-9]{3,5}\.[0-9]+(?:\.[0-9]+)*)\s", re.MULTILINE)
_NVSWITCH_NODE = re.compile(r"/dev/nvidia-nvswitch[0-9]+")
_GPU_NODE = re.compile(r"/dev/nvidia[0-9]+")
_UVM_NODE = re.compile(r"/dev/nvidia-uvm")
_MOST_STALE = 3
# By these names /proc/devices lists what the nodes lead to.
_OWNERS, _UVM_OWNERS = frozenset({"nvidia", "nvidiactl", "nvidia-frontend"}), frozenset({"nvidia-uvm"})
_NEEDED_NODE = re.compile(r"/dev/(nvidia[0-9]+|nvidiactl|nvidia-uvm|dxg)")


def read(answer: Answer) -> dict[str, Fact]:
    """Return the host facts that the driver probe promises."""
    return read_all(answer, "driver", _READERS)


def _kernel_version(data: Data) -> Fact:
    version = calls.release(mapping(data.get("sys_version")).get("text"))
    if version:
        return Known(value=version, source=SYS_VERSION)
    banner = text_at(data.get("proc_version"), "text")
    found = _BANNER_VERSION.search(banner + "\n") if banner else None
    if found:
        return Known(value=found.group(1), source=PROC_VERSION)
    if banner:
        return Unknown(reason=f"{PROC_VERSION} names no version")
    for key, path in (("sys_version", SYS_VERSION), ("proc_version", PROC_VERSION)):
        problem = failure(data.get(key), path)
        if isinstance(problem, Unknown):
            return problem
    return Absent(source=f"{SYS_VERSION}, {PROC_VERSION}")


def _kernel_flavour(data: Data) -> Fact:
    banner = text_at(data.get("proc_version"), "text")
    if banner is None:
        return failure(data.get("proc_version"), PROC_VERSION)
    if "Open Kernel Module" in banner:
        return Known(value="open", source=PROC_VERSION)
    if "Kernel Module" in banner:
        return Known(value="proprietary", source=PROC_VERSION)
    return Unknown(reason=f"{PROC_VERSION} does not say which flavour it is")


def _module_kernels(data: Data) -> Fact:
    answer = mapping(data.get("kernels"))
    if not isinstance(answer.get("releases"), list):
        return failure(answer, "/lib/modules")
    releases = calls.objects(answer["releases"])
    found = [text_at(kernel, "release") for kernel in releases if texts(kernel.get("files"))]
    errors = [error for kernel in releases for error in texts(kernel.get("errors"))]
    if errors and not found:
        return Unknown(reason=f"/lib/modules: {errors[0]}")
    return some(tuple(name for name in found if name), "/lib/modules")


def _usable(data: Data, key: str) -> list[Mapping[str, Any]]:
    """Return the files of a library on the default path that this machine's loader would not pass over."""
    machine = text_at(data, "machine")
    listed = calls.objects(mapping(data.get(key)).get("on_path"))
    fitting = (file for file in listed if not machine or text_at(file, "machine") in (None, machine))
    return [file for file in fitting if text_at(file, "path")]


def _files(data: Data, key: str) -> Fact:
    if not isinstance(mapping(data.get(key)).get("on_path"), list):
        return Unknown(reason="the library files were not collected")
    members = ("path", "real_path", "version", "version_source", "error")
    found: tuple[Record, ...] = tuple(
        record(**{name: text_at(file, name) for name in members}) for file in _usable(data, key))
    if found:
        return Known(value=found, source="ld.so.cache and default folders")
    if text_at(data.get("cache_failure"), "error"):
        return failure(data["cache_failure"], "/etc/ld.so.cache")
    return Absent(source="ld.so.cache and default folders")


def _file_version(data: Data, key: str) -> Fact:
    files = _files(data, key)
    if not isinstance(files, Known):
        return files
    first = _usable(data, key)[0]
    path = text_at(first, "path")
    version = calls.release(first.get("version"))
    if version:
        named = " (its name)" if first.get("version_source") == "name" else " (its bytes)"
        return Known(value=version, source=f"{path}{named}")
    reason = text_at(first, "error") or "neither its bytes nor its name tell a version"
    return Unknown(reason=f"{path}: {reason}")


def _off_path(data: Data) -> Fact:
    answer = mapping(data.get("libcuda"))
    if not isinstance(answer.get("off_path"), list):
        return Unknown(reason="the library files were not collected")
    found = tuple(path for file in calls.objects(answer["off_path"]) if (path := text_at(file, "path")))
    return some(found, "usual places outside the loader's default path")


def _nodes(data: Data) -> list[Mapping[str, Any]] | Absent | Unknown:
    answer = mapping(data.get("nodes"))
    if not isinstance(answer.get("nodes"), list):
        return failure(answer, "/dev")
    return [node for node in calls.objects(answer["nodes"]) if text_at(node, "path")]


def _device_nodes(data: Data) -> Fact:
    nodes = _nodes(data)
    if not isinstance(nodes, list):
        return nodes
    found = []
    for entry in nodes:
        node = mapping(entry.get("node"))
        if node.get("kind") != "folder":
            found.append(record(
                path=text_at(entry, "path"), mode=text_at(node, "mode"), kind=text_at(node, "kind"),
                readable=_flag(node, "readable"), writable=_flag(node, "writable"),
                error=text_at(entry, "error")))
    return Known(value=tuple(found), source="/dev") if found else Absent(source="/dev")


def _flag(node: Mapping[str, Any], key: str) -> bool | None:
    value = node.get(key)
    return value if isinstance(value, bool) else None


def _is_of_driver(entry: Mapping[str, Any], data: Data, owners: frozenset[str]) -> bool:
    """Say whether a node leads to the driver: it is a device, with a number that the driver has.

    Numbers change when a module is loaded anew or the machine is started, and nodes that were made before (in
    a container of LXC, say) then lead nowhere. Where the kernel lists none of the `owners`, nobody can tell.
    """
    node = mapping(entry.get("node"))
    numbers = _numbers(data, owners)
    return node.get("kind") == "character" and (not numbers or node.get("major") in (None, *numbers))


def _numbers(data: Data, owners: frozenset[str]) -> frozenset[int]:
    """Return the device numbers (majors) that the kernel lists for drivers of these names."""
    listed = (line.split() for line in (text_at(data.get("devices"), "text") or "").splitlines())
    return frozenset(int(words[0]) for words in listed
                     if len(words) == 2 and words[0].isdecimal() and words[1] in owners)


def _gpu_nodes(data: Data) -> Fact:
    nodes = _nodes(data)
    if not isinstance(nodes, list):
        return nodes
    count = sum(bool(_GPU_NODE.fullmatch(str(entry["path"]))) and _is_of_driver(entry, data, _OWNERS)
                for entry in nodes)
    return Known(value=count, source=_source(nodes, _GPU_NODE, data, _OWNERS))


def _uvm_node(data: Data) -> Fact:
    nodes = _nodes(data)
    if not isinstance(nodes, list):
        return nodes
    present = any(_UVM_NODE.fullmatch(str(entry["path"])) and _is_of_driver(entry, data, _UVM_OWNERS)
                  for entry in nodes)
    return Known(value=present, source=_source(nodes, _UVM_NODE, data, _UVM_OWNERS))


def _source(nodes: Sequence[Mapping[str, Any]], wanted: re.Pattern[str], data: Data, owners: frozenset[str]
            ) -> str:
    """Return where a count of nodes is from, with those that are there and lead nowhere."""
    stale = [f"{entry['path']} has the number {mapping(entry.get('node')).get('major')}" for entry in nodes
             if wanted.fullmatch(str(entry["path"])) and mapping(entry.get("node")).get("kind") == "character"
             and not _is_of_driver(entry, data, owners)]
    if not stale:
        return "/dev"
    own = ", ".join(map(str, sorted(_numbers(data, owners))))
    return f"/dev and /proc/devices: {', '.join(stale[:_MOST_STALE])}, and the driver has {own}"


def _denied_nodes(data: Data) -> Fact:
    """Return the nodes CUDA must open and this user may not; the mode does not show what a cgroup forbids."""
    nodes = _nodes(data)
    if not isinstance(nodes, list):
        return nodes
    denied = []
    for entry in nodes:
        node = mapping(entry.get("node"))
        if _NEEDED_NODE.fullmatch(str(entry["path"])) and (
                text_at(entry, "error") or node.get("readable") is False or node.get("writable") is False):
            denied.append(str(text_at(entry, "path")))
    return some(tuple(denied), "access rights of /dev/nvidia*")


def _proc_gpus(data: Data) -> Fact:
    found = names(data.get("proc_gpus"), PROC_GPUS)
    return Known(value=len(found), source=PROC_GPUS) if isinstance(found, tuple) else found


def _nvswitch(data: Data) -> Fact:
    devices = names(data.get("nvswitch_devices"), "/proc/driver/nvidia-nvswitch/devices")
    if isinstance(devices, tuple) and devices:
        return Known(value=True, source="/proc/driver/nvidia-nvswitch/devices")
    nodes = _nodes(data)
    if isinstance(nodes, list) and any(_NVSWITCH_NODE.fullmatch(str(entry["path"])) for entry in nodes):
        return Known(value=True, source="/dev/nvidia-nvswitch*")
    functions = pci.functions(data.get("pci"))
    if isinstance(functions, tuple) and any(pci.is_nvswitch(function) for function in functions):
        return Known(value=True, source=pci.SOURCE)
    if isinstance(functions, Unknown):
        return functions
    return Known(value=False, source=f"{pci.SOURCE}, /proc/driver/nvidia-nvswitch")


def _fabric_manager(data: Data) -> Fact:
    answer = mapping(data.get("fabric_manager"))
    processes = mapping(answer.get("processes"))
    count = calls.count(processes.get("count"))
    if count is None:
        return failure(processes, "/proc")
    if count:
        return Known(value="running", source="/proc/*/comm")
    if processes.get("sees_others") is not True:
        return Unknown(reason="this user may not see the processes of others")
    if not isinstance(container.runtime(mapping(data.get("container"))), Absent):
        return Unknown(reason="the processes and files of the host cannot be seen from inside a container")
    path = text_at(answer, "path")
    return Known(value="installed", source=path) if path else Absent(source="nv-fabricmanager on PATH")


def _nvidia_smi(data: Data) -> Fact:
    if "nvidia_smi" not in data:
        return Unknown(reason="nvidia-smi was not looked for")
    return known(text_at(data, "nvidia_smi"), "PATH")


_READERS = {
    "driver.kernel_version": _kernel_version,
    "driver.kernel_flavour": _kernel_flavour,
    "driver.module_kernels": _module_kernels,
    "driver.libcuda_files": lambda data: _files(data, "libcuda"),
    "driver.libcuda_file_version": lambda data: _file_version(data, "libcuda"),
    "driver.libcuda_off_path": _off_path,
    "driver.libnvidia_ml_files": lambda data: _files(data, "libnvidia_ml"),
    "driver.libnvidia_ml_file_version": lambda data: _file_version(data, "libnvidia_ml"),
    "driver.device_nodes": _device_nodes,
    "driver.gpu_nodes": _gpu_nodes,
    "driver.uvm_node": _uvm_node,
    "driver.denied_nodes": _denied_nodes,
    "driver.proc_gpus": _proc_gpus,
    "driver.nvswitch": _nvswitch,
    "driver.fabric_manager": _fabric_manager,
    "driver.nvidia_smi": _nvidia_smi,
}
