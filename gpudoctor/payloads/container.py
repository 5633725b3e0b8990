"""Look for the traces that container runtimes leave: files, cgroups, mounts, namespaces and variables."""

import glob
import os
import re

from . import files, process

TYPE_CHECKING = False  # importing typing takes longer than most collectors
if TYPE_CHECKING:
    from typing import Any, Dict, List

MOUNTINFO_LIMIT_BYTES = 4 << 20
MOUNTS_LIMIT = 1000
FOLDERS_LIMIT = 200

MARKER_FILES = (
    "/.dockerenv", "/run/.containerenv", "/.singularity.d", "/.flatpak-info", "/dev/lxd/sock",
    "/dev/.lxc-boot-id",
    "/run/secrets/kubernetes.io/serviceaccount", "/var/run/secrets/kubernetes.io/serviceaccount",
    "/proc/vz", "/proc/bc",
)
MARKER_VARIABLES = (
    "KUBERNETES_SERVICE_HOST", "container", "APPTAINER_CONTAINER", "SINGULARITY_CONTAINER", "APPTAINER_NAME",
    "SINGULARITY_NAME",
)
NAMESPACES = ("pid", "uts", "ipc", "cgroup", "user")
WANTED_MOUNT = re.compile(
    r"^/$|^/etc/(hosts|hostname|resolv\.conf)$|^/sys/fs/cgroup$|^/proc/(driver/nvidia|cpuinfo|meminfo|uptime)"
    r"|^/dev/(nvidia|dxg)|/bin/(nvidia-|nv-)|/lib[^/]*\.so(\.[0-9.]+)?$|^/usr/lib/wsl")
COMPAT_PATTERNS = (
    "/usr/local/cuda*/compat", "/opt/cuda*/compat", "/usr/local/cuda*/compat/lib",
    "/usr/local/cuda*/compat/lib.real",
)
CDI_FOLDERS = ("/etc/cdi", "/var/run/cdi")
CDI_LIBRARY = re.compile(r"libcuda\.so\.([0-9]+\.[0-9]+(?:\.[0-9]+)?)")
PROGRAMS = ("nvidia-ctk", "nvidia-container-runtime-hook", "nvidia-container-cli")
# Where the engine's service looks for them; the PATH of whoever asks is another one.
ENGINE_FOLDERS = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/run/current-system/sw/bin"
TOOLKIT_CONFIG = "/etc/nvidia-container-runtime/config.toml"
DOCKER_SOCKET = "/var/run/docker.sock"
SHARED_MEMORY = "/dev/shm"


def collect(request: "Dict[str, Any]") -> "Dict[str, Any]":
    """Answer with every trace there is, nothing judged; `process` of the request is whose, else our own."""
    folder = process.folder_of(request) or "/proc/self"
    return {
        "process": folder,
        "files": {path: os.path.exists(path) for path in MARKER_FILES},
        "containerenv": files.read_text("/run/.containerenv", 4096),
        "systemd_container": files.read_text("/run/systemd/container", 256),
        "variables": {name: os.environ[name][:256] for name in MARKER_VARIABLES if name in os.environ},
        "cgroup_self": files.read_text(folder + "/cgroup", 1 << 16),
        "cgroup_init": files.read_text("/proc/1/cgroup", 1 << 16),
        "cgroup_controllers": os.path.exists("/sys/fs/cgroup/cgroup.controllers"),
        "namespaces": {name: files.read_link(folder + "/ns/" + name).get("target") for name in NAMESPACES},
        "mounts": _mounts(folder),
        "compat": _compat_folders(),
        "cdi": _cdi_specs(),
        "programs": {name: files.which(name, ENGINE_FOLDERS) for name in PROGRAMS},
        "program_folders": ENGINE_FOLDERS,
        "toolkit_config": files.read_text(TOOLKIT_CONFIG, 1 << 16),
        "docker_socket": os.path.exists(DOCKER_SOCKET),
        "security_label": files.read_text(folder + "/attr/current", 1024),
        "shared_memory": _shared_memory(),
    }


def _mounts(folder: str) -> "Dict[str, Any]":
    """Return the lines of mountinfo whose mount point matters here."""
    text = files.read_text(folder + "/mountinfo", MOUNTINFO_LIMIT_BYTES)
    if "text" not in text:
        return dict(text)
    lines = []
    for line in text["text"].splitlines():
        fields = line.split(" ")
        if len(fields) > 6 and WANTED_MOUNT.search(fields[4]):
            lines.append(line)
    return {"lines": lines[:MOUNTS_LIMIT]}


def _compat_folders() -> "List[Dict[str, Any]]":
    """Return the folders of a cuda-compat package, each once, with the libcuda files in it."""
    found: Dict[str, Dict[str, Any]] = {}
    homes = [os.environ[name] for name in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(name)]
    patterns = list(COMPAT_PATTERNS) + [os.path.join(glob.escape(home), "compat") for home in homes]
    for pattern in patterns:
        for path in sorted(glob.glob(pattern))[:FOLDERS_LIMIT]:
            real_path = os.path.realpath(path)
            listing = files.list_folder(path)
            if real_path in found or "missing" in listing:
                continue
            names = [name for name in listing.get("names", []) if name.startswith("libcuda.so")]
            found[real_path] = {
                "path": path, "real_path": real_path, "libcuda": names, "error": listing.get("error"),
            }
    return list(found.values())


def _cdi_specs() -> "List[Dict[str, Any]]":
    """Return the specifications and, of each, the versions of the driver whose libcuda it names."""
    found = []
    for folder in CDI_FOLDERS:
        listing = files.list_folder(folder, FOLDERS_LIMIT)
        drivers = {}
        for name in listing.get("names", []):
            text = files.read_text(folder + "/" + name).get("text", "")
            drivers[name] = sorted(set(CDI_LIBRARY.findall(text)))[:8]
        found.append(dict(listing, path=folder, drivers=drivers))
    return found


def _shared_memory() -> "Dict[str, Any]":
    try:
        status = os.statvfs(SHARED_MEMORY)
    except FileNotFoundError:
        return {"missing": True}
    except OSError as error:
        return {"error": "%s: %s" % (type(error).__name__, error.strerror)}
    return {"bytes": status.f_frsize * status.f_blocks}
