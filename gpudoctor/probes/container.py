"""Read whether this is a container, whose, and what of the driver was handed into it.

A marker file alone proves nothing: a virtual machine whose disk was made from an image still has /.dockerenv.
So it counts only together with namespaces of one's own, a layered root or files mounted from outside.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from gpudoctor.lazily import Pattern
from gpudoctor.model import Absent, Fact, Known, Unknown
from gpudoctor.probes import calls
from gpudoctor.probes.calls import mapping
from gpudoctor.probes.raw import Answer
from gpudoctor.probes.shapes import Data, failure, read_all, some, text_at, texts

# The kernel's fixed numbers for the namespaces that a machine starts with.
FIRST_NAMESPACES = {"pid": "pid:[4026531836]", "uts": "uts:[4026531838]", "ipc": "ipc:[4026531839]"}
_ENGINES_OF_KUBERNETES = frozenset({"docker", "podman", "containerd"})
_LAYERED = frozenset({
    "overlay", "aufs", "fuse-overlayfs", "fuse.fuse-overlayfs", "squashfs", "fuse.squashfuse",
})
_HANDED_IN = frozenset({"/etc/hosts", "/etc/hostname", "/etc/resolv.conf"})
_DRIVER_MOUNT = Pattern(
    r"^/dev/(nvidia|dxg)|^/proc/driver/nvidia|/bin/nvidia-|/lib(cuda|cudadebugger|nvidia-|nvcuvid|nvoptix|"
    r"GLX_nvidia|EGL_nvidia|dxcore)[^/]*\.so(\.[0-9.]+)?$")
_CGROUP_RUNTIMES = (
    ("kubernetes", re.compile(r"kubepods")),
    ("podman", re.compile(r"libpod-[0-9a-f]{12}")),
    ("docker", re.compile(r"/docker/[0-9a-f]{12}|docker-[0-9a-f]{12}")),
    ("lxc", re.compile(r"/lxc\.payload|/lxc/")),
    ("containerd", re.compile(r"cri-containerd-[0-9a-f]{12}|/containerd/[0-9a-f]{12}")),
)
_NO_CGROUPS = Pattern(r"^[ \t]*no-cgroups[ \t]*=[ \t]*(true|false)", re.MULTILINE)
_MOUNT_RUNTIMES = (
    ("kubernetes", re.compile(r"/kubelet/pods/|/io\.containerd\.grpc\.v1\.cri/")),
    ("docker", re.compile(r"docker/containers/[0-9a-f]{12}")),
    ("podman", re.compile(r"/overlay-containers/[0-9a-f]{12}")),
    ("enroot", re.compile(r"/enroot/")),
)
_MARKER_FILES = (
    ("/run/secrets/kubernetes.io/serviceaccount", "kubernetes"),
    ("/var/run/secrets/kubernetes.io/serviceaccount", "kubernetes"),
    ("/run/.containerenv", "podman"),
    ("/.dockerenv", "docker"),
    ("/dev/lxd/sock", "lxc"),
    ("/dev/.lxc-boot-id", "lxc"),
    ("/.singularity.d", "apptainer"),
)


def read(answer: Answer) -> dict[str, Fact]:
    """Return the host facts that the container probe promises."""
    return read_all(answer, "container", _READERS)


def mounts(data: Data) -> list[tuple[str, str, str]]:
    """Return (root within its file system, mount point, file system type) of each line of mountinfo."""
    found = []
    for line in texts(mapping(data.get("mounts")).get("lines")):
        before, _, after = line.partition(" - ")
        fields = before.split(" ")
        if len(fields) > 5 and after:
            found.append((_unescape(fields[3]), _unescape(fields[4]), after.split(" ")[0]))
    return found


def _own(data: Data, name: str) -> str:
    """Return the path of what the kernel says of the process: /proc/self, or /proc/7 where that was meant."""
    return f"{text_at(data, 'process') or '/proc/self'}/{name}"


def _unescape(path: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found.group(1), 8)), path)


def _apart(data: Data) -> str | None:
    """Return what sets this process apart from a machine's own processes, if anything does."""
    namespaces = mapping(data.get("namespaces"))
    for name, first in FIRST_NAMESPACES.items():
        if text_at(namespaces, name) not in (None, first):
            return f"a {name} namespace of its own"
    for _, point, kind in mounts(data):
        if point == "/" and kind in _LAYERED:
            return f"a root file system of type {kind}"
        if point in _HANDED_IN:
            return f"{point} mounted from outside"
    if not any(text_at(namespaces, name) for name in FIRST_NAMESPACES):
        return "namespaces that cannot be seen"
    return None


def runtime(data: Data) -> Fact:
    """Return whose container this is; Absent outside of any."""
    if not isinstance(data.get("files"), Mapping):
        return Unknown(reason="the traces of containers were not collected")
    certain = _by_own_word(data) or _by_cgroup(data)
    marker, apart = _by_marker(data), _apart(data)
    if certain:
        if marker and marker[0] == "kubernetes" and certain[0] in _ENGINES_OF_KUBERNETES:
            certain = marker[0], f"{marker[1]}, {certain[1]}"
        return Known(value=certain[0], source=certain[1])
    if marker and apart:
        return Known(value=marker[0], source=f"{marker[1]} and {apart}")
    if marker:
        return Absent(source=f"{marker[1]} is there, but this process is not set apart from the machine")
    namespaces = mapping(data.get("namespaces"))
    root = next((kind for _, point, kind in mounts(data) if point == "/"), None)
    if root in _LAYERED and text_at(namespaces, "pid") not in (None, FIRST_NAMESPACES["pid"]):
        return Known(value="other", source=f"a root file system of type {root}, a pid namespace of its own")
    mounted = mapping(data.get("mounts"))
    if not isinstance(mounted.get("lines"), list) and not text_at(namespaces, "pid"):
        return Unknown(reason=f"{_own(data, 'mountinfo')}: {text_at(mounted, 'error') or 'not there'}")
    return Absent(source="no trace of a container runtime")


def _by_own_word(data: Data) -> tuple[str, str] | None:
    """Return the runtime that tells its processes so in a way that nothing else does."""
    variables, present = mapping(data.get("variables")), mapping(data.get("files"))
    for name in ("APPTAINER_CONTAINER", "SINGULARITY_CONTAINER", "APPTAINER_NAME", "SINGULARITY_NAME"):
        if text_at(variables, name):
            return "apptainer", f"environment variable {name}"
    if present.get("/.flatpak-info") is True:
        return "flatpak", "/.flatpak-info"
    said = text_at(data.get("systemd_container"), "text")
    if said and re.fullmatch(r"[a-z][a-z0-9-]{1,30}", said.strip()) and said.strip() != "wsl":
        return said.strip(), "/run/systemd/container"
    return None


def _by_cgroup(data: Data) -> tuple[str, str] | None:
    """Return the runtime that the control groups or the mounts of this process name."""
    cgroup = text_at(data.get("cgroup_self"), "text") or ""
    for name, pattern in _CGROUP_RUNTIMES:
        if pattern.search(cgroup):
            return name, _own(data, "cgroup")
    mounted = mounts(data)
    for name, pattern in _MOUNT_RUNTIMES:
        for root, point, _ in mounted:
            if point in _HANDED_IN | {"/"} and pattern.search(root):
                return name, f"{point} comes from {root}"
    for _, point, kind in mounted:
        if kind == "fuse.lxcfs" and point.startswith("/proc/"):
            return "lxc", f"{point} comes from lxcfs"
    return None


def _by_marker(data: Data) -> tuple[str, str] | None:
    """Return the runtime that a file or variable speaks of; either may be a left-over."""
    variables, present = mapping(data.get("variables")), mapping(data.get("files"))
    if text_at(variables, "KUBERNETES_SERVICE_HOST"):
        return "kubernetes", "environment variable KUBERNETES_SERVICE_HOST"
    for path, name in _MARKER_FILES:
        if present.get(path) is True:
            return name, path
    if present.get("/proc/vz") is True and present.get("/proc/bc") is not True:
        return "openvz", "/proc/vz"
    said = (text_at(variables, "container") or "").strip().lower()
    return (said[:64], "environment variable container") if said not in ("", "wsl") else None


def _cgroup_version(data: Data) -> Fact:
    if data.get("cgroup_controllers") is True:
        return Known(value=2, source="/sys/fs/cgroup/cgroup.controllers")
    text = text_at(data.get("cgroup_self"), "text")
    if text is None:
        return failure(data.get("cgroup_self"), _own(data, "cgroup"))
    version_1 = any(re.match(r"[0-9]+:[^:]+:", line) for line in text.splitlines())
    return Known(value=1 if version_1 else 2, source=_own(data, "cgroup"))


def _compat_folders(data: Data) -> Fact:
    if not isinstance(data.get("compat"), list):
        return Unknown(reason="the cuda-compat folders were not collected")
    folders = calls.objects(data["compat"])
    full = [folder for folder in folders if texts(folder.get("libcuda"))]
    found = tuple(path for folder in full if (path := text_at(folder, "real_path")))
    unread = [folder for folder in folders if text_at(folder, "error")]
    if unread and not found:
        return failure(unread[0], text_at(unread[0], "path") or "cuda-compat folder")
    return some(found, "/usr/local/cuda*/compat, /opt/cuda*/compat")


def _cdi_specs(data: Data) -> Fact:
    if not isinstance(data.get("cdi"), list):
        return Unknown(reason="the CDI folders were not collected")
    found: list[str] = []
    for folder in calls.objects(data["cdi"]):
        path = text_at(folder, "path") or ""
        if text_at(folder, "error"):
            return failure(folder, path)
        specs = [name for name in texts(folder.get("names")) if name.endswith((".yaml", ".yml", ".json"))]
        found += [f"{path}/{name}" for name in specs]
    return some(tuple(found), "/etc/cdi, /var/run/cdi")


def _driver_mounts(data: Data) -> Fact:
    answer: Any = mapping(data.get("mounts"))
    if not isinstance(answer.get("lines"), list):
        return failure(answer, _own(data, "mountinfo"))
    found = dict.fromkeys(point for _, point, _ in mounts(data) if _DRIVER_MOUNT.search(point))
    return some(tuple(found), _own(data, "mountinfo"))


def _cdi_drivers(data: Data) -> Fact:
    specs = _cdi_specs(data)
    if not isinstance(specs, Known):
        return specs
    found: set[str] = set()
    for folder in calls.objects(data["cdi"]):
        drivers = mapping(folder.get("drivers"))
        found |= {version for name in drivers for version in texts(drivers[name])}
    return some(tuple(sorted(found)), ", ".join(str(path) for path in specs.value)
                if isinstance(specs.value, tuple) else specs.source)


def _toolkit(data: Data) -> Fact:
    programs, source = data.get("programs"), text_at(data, "program_folders")
    if not isinstance(programs, Mapping) or source is None:
        return Unknown(reason="the container toolkit was not collected")
    found = [path for name in programs if (path := text_at(programs, name))]
    return Known(value=found[0], source=source) if found else Absent(source=source)


def _no_cgroups(data: Data) -> Fact:
    text = text_at(data.get("toolkit_config"), "text")
    path = "/etc/nvidia-container-runtime/config.toml"
    if text is None:
        return failure(data.get("toolkit_config"), path)
    said = _NO_CGROUPS.search(text)
    source = f"{path}: {said[0].strip()}" if said else path
    return Known(value=said is not None and said[1] == "true", source=source)


def _docker_socket(data: Data) -> Fact:
    found = data.get("docker_socket")
    if not isinstance(found, bool):
        return Unknown(reason="Docker's socket was not looked for")
    return Known(value=found, source="/var/run/docker.sock")


def _security_label(data: Data) -> Fact:
    """Return the label that a security module gave this process; without such a module there is none."""
    answer = mapping(data.get("security_label"))
    said = (text_at(answer, "text") or "").strip("\0\n ")
    if said:
        return Known(value=said[:200], source=_own(data, "attr/current"))
    path = _own(data, "attr/current")
    without = "text" in answer or "Invalid argument" in (text_at(answer, "error") or "")
    return Absent(source=path) if without else failure(answer, path)


def _shared_memory(data: Data) -> Fact:
    number = calls.count(mapping(data.get("shared_memory")).get("bytes"))
    if number is None:
        return failure(data.get("shared_memory"), "/dev/shm")
    return Known(value=number, source="/dev/shm")


_READERS = {
    "container.runtime": runtime,
    "container.cgroup_version": _cgroup_version,
    "container.compat_folders": _compat_folders,
    "container.cdi_specs": _cdi_specs,
    "container.driver_mounts": _driver_mounts,
    "container.cdi_drivers": _cdi_drivers,
    "container.toolkit": _toolkit,
    "container.toolkit_no_cgroups": _no_cgroups,
    "container.docker_socket": _docker_socket,
    "container.security_label": _security_label,
    "container.shared_memory_bytes": _shared_memory,
}
