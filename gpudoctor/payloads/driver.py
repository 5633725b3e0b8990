"""Look for an NVIDIA driver in files, folders and nodes: no library is loaded and no node is opened.

Loading would be touching: as root, the first call into libcuda or NVML makes /dev/nvidiactl even where no
driver is.
"""

import os
import re

from . import container, elf, files, kernel, library_version, loader, system

TYPE_CHECKING = False  # importing typing takes longer than most collectors
if TYPE_CHECKING:
    from typing import Any, Dict, List

KERNELS_LIMIT = 64
MODULES_DEP_LIMIT_BYTES = 16 << 20
PROCESSES_LIMIT = 65536
NODES_LIMIT = 256
DEVICES_LIMIT_BYTES = 65536
FABRIC_MANAGER = "nv-fabricmanager"
DAEMON_FOLDERS = "/usr/bin:/usr/sbin"

MODULE_FILE = re.compile(
    r"nvidia(-current|-tesla|-legacy|-open|-server)?(-[0-9]{3}(xx)?)?(-open|-server)*\.ko"
    r"(\.(gz|xz|zst|bz2))?$")
MODULE_FOLDERS = (
    "updates", "updates/dkms", "extra", "extra/nvidia", "extra/drivers/video/nvidia", "weak-updates",
    "weak-updates/nvidia", "extramodules", "misc", "kernel/drivers/video", "kernel/drivers/video/nvidia",
    "kernel/drivers/char/drm",
)
OFF_PATH_FOLDERS = (
    "/usr/lib/wsl/lib", "/run/opengl-driver/lib", "/usr/local/nvidia/lib64", "/usr/lib/nvidia",
    "/usr/lib64/nvidia",
)
OFF_PATH_BELOW = ("nvidia/current", "nvidia", "tegra", "nvidia-current")


def collect(request: "Dict[str, Any]") -> "Dict[str, Any]":
    """Answer with file texts, listings, node descriptions and library versions, nothing judged."""
    cache = loader.gpu_cache()
    folders = loader.default_folders()["folders"]
    switches = files.list_folder("/proc/driver/nvidia-nvswitch/devices")
    return {
        "machine": kernel.name().machine,
        "sys_version": files.read_text("/sys/module/nvidia/version", 4096),
        "proc_version": files.read_text("/proc/driver/nvidia/version", 4096),
        "proc_gpus": files.list_folder("/proc/driver/nvidia/gpus"),
        "kernels": _kernels(),
        "cache_failure": {key: cache[key] for key in ("error", "missing") if key in cache},
        "default_folders": folders,
        "libcuda": _libraries("libcuda.so.1", cache, folders),
        "libnvidia_ml": _libraries("libnvidia-ml.so.1", cache, folders),
        "nodes": _nodes(),
        "devices": files.read_text("/proc/devices", DEVICES_LIMIT_BYTES),
        "nvswitch_devices": switches,
        "pci": system.list_pci(),
        "fabric_manager": {
            "path": files.which(FABRIC_MANAGER) or files.which(FABRIC_MANAGER, DAEMON_FOLDERS),
            "processes": _processes(FABRIC_MANAGER),
        },
        "container": container.collect({}),
        "nvidia_smi": files.which("nvidia-smi"),
    }


def _kernels() -> "Dict[str, Any]":
    """Return, for each kernel release under /lib/modules, the files there that are the nvidia module."""
    listing = files.list_folder("/lib/modules", KERNELS_LIMIT)
    if "names" not in listing:
        return dict(listing)
    return {"releases": [
        dict(_module_files(os.path.join("/lib/modules", name)), release=name) for name in listing["names"]
        if os.path.isdir(os.path.join("/lib/modules", name))
    ]}


def _module_files(root: str) -> "Dict[str, Any]":
    found: List[str] = []
    index = files.read_text(os.path.join(root, "modules.dep"), MODULES_DEP_LIMIT_BYTES)
    for line in index.get("text", "").splitlines():
        path = os.path.join(root, line.partition(":")[0])
        if MODULE_FILE.match(os.path.basename(path)) and os.path.exists(path):
            found.append(path)
    kernel = files.list_folder(os.path.join(root, "kernel")).get("names", [])
    branches = ["kernel/" + name for name in kernel if name.startswith("nvidia-")]
    failures = [index["error"]] if "error" in index else []
    for folder in list(MODULE_FOLDERS) + branches:
        listing = files.list_folder(os.path.join(root, folder))
        if "error" in listing:
            failures.append("%s: %s" % (folder, listing["error"]))
        names = [name for name in listing.get("names", []) if MODULE_FILE.match(name)]
        found += [os.path.join(root, folder, name) for name in names]
    return {"files": sorted(set(found)), "errors": failures}


def _libraries(soname: str, cache: "Dict[str, Any]", folders: "List[str]") -> "Dict[str, Any]":
    """Return the files called `soname` on the loader's default path, in its order, and elsewhere."""
    on_path = [entry["path"] for entry in cache.get("entries", []) if entry["soname"] == soname]
    on_path += [os.path.join(folder, soname) for folder in folders]
    off_folders = list(OFF_PATH_FOLDERS)
    off_folders += [os.path.join(folder, below) for folder in folders for below in OFF_PATH_BELOW]
    off_path = [os.path.join(folder, soname) for folder in off_folders]
    seen: Dict[str, None] = {}
    return {
        "on_path": _described(on_path, seen),
        "off_path": _described(off_path, seen),
    }


def _described(paths: "List[str]", seen: "Dict[str, None]") -> "List[Dict[str, Any]]":
    answer = []
    for path in paths:
        real_path = os.path.realpath(path)
        if real_path in seen or not os.path.lexists(path):
            continue
        seen[real_path] = None
        record = library_version.read_version(path)
        record.update(path=path, machine=None)
        if record["error"] is None:
            header = elf.read_elf(path)
            record.update(machine=header["machine"], error=header["error"])
        answer.append(record)
    return answer


def _nodes() -> "Dict[str, Any]":
    listing = files.list_folder("/dev")
    if "names" not in listing:
        return dict(listing)
    names = [name for name in listing["names"] if name.startswith("nvidia") or name == "dxg"][:NODES_LIMIT]
    return {"nodes": [dict(files.describe_node("/dev/" + name), path="/dev/" + name) for name in names]}


def _processes(name: str) -> "Dict[str, Any]":
    """Count the processes called `name`; say whether this user may see those of others."""
    listing = files.list_folder("/proc", PROCESSES_LIMIT)
    if "names" not in listing:
        return dict(listing)
    count = 0
    for entry in listing["names"]:
        if entry.isdecimal():
            comm = files.read_text("/proc/%s/comm" % entry, 64)
            count += comm.get("text", "").strip() == name[:15]  # the kernel keeps 15 characters
    return {
        "count": count,
        "sees_others": "text" in files.read_text("/proc/1/comm", 64),
    }
