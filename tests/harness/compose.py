"""Build /proc, /sys and /dev of a machine.

The kernel lets nobody add an entry to /proc or /sys, nor lay an overlay over /proc. So each is a tmpfs that
holds the machine's own entries, and links to the kernel's real ones, which are mounted in a hidden folder
inside it: /proc/meminfo -> /proc/.kernel/meminfo. Reading through a link answers as the kernel does, also for
/proc/self.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from tests.harness import kernel
from tests.harness.plan import Plan, PlannedNode

KERNEL_FOLDER = ".kernel"
# The new process namespace counts from 1; entries for processes to come are made in advance.
PROCESS_IDS = 1000
# Host entries that a machine never inherits: what it has of these is what its description says.
NOT_INHERITED = (
    "/proc/modules",
    "/proc/driver",
    "/proc/device-tree",
    "/sys/module",
    "/sys/bus/pci",
    "/sys/class/drm",
    "/sys/class/dmi",
    "/sys/firmware",
)
STANDARD_NODES = ("null", "zero", "full", "random", "urandom", "tty")
STANDARD_LINKS = (
    ("fd", "/proc/self/fd"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
    ("ptmx", "pts/ptmx"),
)


class Entry:
    """One entry of a composed folder: a folder with entries, or something else that `make` puts in place."""

    def __init__(self, data: bytes | None = None, target: str | None = None, mode: int = 0o555) -> None:
        self.data = data
        self.target = target
        self.mode = mode
        self.hidden = False
        self.entries: dict[str, Entry] = {}

    def below(self, parts: list[str]) -> Entry:
        """Return the entry of a path, making folders on the way."""
        entry = self
        for part in parts:
            entry = entry.entries.setdefault(part, Entry())
        return entry


def tree(plan: Plan, top: str) -> Entry:
    """Collect what the machine has, or hides, below /proc or /sys."""
    root = Entry()
    prefix = f"/{top}/"
    for path in (*NOT_INHERITED, *plan.hidden):
        if path.startswith(prefix):
            root.below(path[len(prefix) :].split("/")).hidden = True
    for directory, mode in plan.directories:
        if directory.startswith(prefix):
            entry = root.below(directory[len(prefix) :].split("/"))
            entry.mode, entry.entries[""] = (
                mode,
                Entry(),
            )  # an entry without a name keeps an empty folder alive
    for file in plan.files:
        if file.path.startswith(prefix):
            entry = root.below(file.path[len(prefix) :].split("/"))
            entry.data, entry.mode = file.data(), file.mode
    for path, target in plan.links:
        if path.startswith(prefix):
            root.below(path[len(prefix) :].split("/")).target = target
    return root


def _link_kernel_entries(entry: Entry, place: str, kernel_place: str, kernel_path: str) -> None:
    """Link everything that the kernel has in a folder and the machine does not replace or hide."""
    if entry.hidden or not os.path.isdir(kernel_place):
        return
    for name in os.listdir(kernel_place):
        if name not in entry.entries and name != KERNEL_FOLDER:
            os.symlink(f"{kernel_path}/{name}", f"{place}/{name}")


def make(entry: Entry, place: str, kernel_place: str, kernel_path: str) -> None:
    """Make the entries of a folder that exists.

    `kernel_place` is where the kernel's folder can be read now, `kernel_path` where it will be in the
    machine.
    """
    _link_kernel_entries(entry, place, kernel_place, kernel_path)
    for name, child in entry.entries.items():
        target = f"{place}/{name}"
        if not name:
            continue
        if child.target is not None:
            os.symlink(child.target, target)
        elif child.data is not None:
            Path(target).write_bytes(child.data)
            os.chmod(target, child.mode)
        elif child.entries:
            os.mkdir(target)
            if entry.hidden:
                child.hidden = True
            make(child, target, f"{kernel_place}/{name}", f"{kernel_path}/{name}")
            os.chmod(target, child.mode)


def _build_proc(plan: Plan, root: str) -> str:
    place = f"{root}/proc"
    os.mkdir(place)
    kernel.mount("machine", place, "tmpfs", 0, "mode=755")
    inside = f"{place}/{KERNEL_FOLDER}"
    os.mkdir(inside)
    kernel.mount("proc", inside, "proc")
    entries = tree(plan, "proc")
    make(entries, place, inside, f"/proc/{KERNEL_FOLDER}")
    present = set(os.listdir(place))
    for process in map(str, range(1, PROCESS_IDS)):
        if process not in present:
            os.symlink(f"{KERNEL_FOLDER}/{process}", f"{place}/{process}")
    return place


def _build_sys(plan: Plan, root: str) -> str:
    place = f"{root}/sys"
    os.mkdir(place)
    kernel.mount("machine", place, "tmpfs", 0, "mode=755")
    inside = f"{place}/{KERNEL_FOLDER}"
    os.mkdir(inside)
    kernel.mount("/sys", inside, None, kernel.MS_BIND | kernel.MS_REC)
    make(tree(plan, "sys"), place, inside, f"/sys/{KERNEL_FOLDER}")
    return place


def _make_node(place: str, node: PlannedNode) -> None:
    """Make a device node; where only the real root may do that, show the host's /dev/null in its place."""
    os.makedirs(os.path.dirname(place), exist_ok=True)
    try:
        os.mknod(place, stat.S_IFCHR | node.mode, os.makedev(node.major, node.minor))
        os.chmod(place, node.mode)
    except PermissionError:
        if node.mode != 0o666:
            raise
        Path(place).touch()
        kernel.mount("/dev/null", place, None, kernel.MS_BIND)


def _build_dev(plan: Plan, root: str) -> str:
    place = f"{root}/dev"
    os.mkdir(place)
    kernel.mount("machine", place, "tmpfs", 0, "mode=755")
    for name in STANDARD_NODES:
        Path(f"{place}/{name}").touch()
        kernel.mount(f"/dev/{name}", f"{place}/{name}", None, kernel.MS_BIND)
    for name, target in STANDARD_LINKS:
        os.symlink(target, f"{place}/{name}")
    os.mkdir(f"{place}/pts")
    kernel.mount("/dev/pts", f"{place}/pts", None, kernel.MS_BIND)
    os.mkdir(f"{place}/shm")
    os.chmod(f"{place}/shm", 0o1777)
    for directory, mode in plan.directories:
        if directory.startswith("/dev/"):
            os.makedirs(root + directory, exist_ok=True)
            os.chmod(root + directory, mode)
    for file in plan.files:
        if file.path.startswith("/dev/"):
            os.makedirs(os.path.dirname(root + file.path), exist_ok=True)
            Path(root + file.path).write_bytes(file.data())
            os.chmod(root + file.path, file.mode)
    for path, target in plan.links:
        if path.startswith("/dev/"):
            os.symlink(target, root + path)
    for node in plan.nodes:
        _make_node(root + node.path, node)
    return place


def build(plan: Plan, root: str) -> list[str]:
    """Build /proc, /sys and /dev below the new root; return the places that were mounted."""
    return [_build_proc(plan, root), _build_sys(plan, root), _build_dev(plan, root)]
