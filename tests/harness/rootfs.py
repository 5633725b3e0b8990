"""Put a machine's files in their real places. Runs inside the new namespaces, as their first process.

Ordinary folders (/usr, /etc, /tmp, ...) are overlays: the host's folder below, a tmpfs above that holds the
machine's own files and takes everything the command writes. /proc, /sys and /dev are built: see compose.py.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from tests.harness import compose, kernel
from tests.harness.plan import Plan

BUILT = ("proc", "sys", "dev")
BUILT_PATHS = tuple(f"/{name}" for name in BUILT)


def is_built(path: str) -> bool:
    """Say whether a path is below /proc, /sys or /dev."""
    return path.startswith(tuple(f"{root}/" for root in BUILT_PATHS))


def mount_points() -> list[str]:
    """List the host's mounts outside of /proc, /sys, /dev and the root itself, outer ones first."""
    points = []
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        point = line.split(" ")[4].encode().decode("unicode_escape")
        if point != "/" and point not in BUILT_PATHS and not is_built(point) and os.path.exists(point):
            points.append(point)
    return sorted(set(points))


def real_place(path: str) -> str:
    """Return where a path leads when the host's root has links (/lib -> usr/lib, /var/run -> /run)."""
    for prefix in ("/var/run", "/var/lock", "/" + path.split("/")[1]):
        if (path == prefix or path.startswith(prefix + "/")) and os.path.islink(prefix):
            return os.path.realpath(prefix) + path[len(prefix) :]
    return path


class Layers:
    """The upper folders of the overlays: one for each of the host's folders that gets an overlay."""

    def __init__(self, plan: Plan) -> None:
        self.uppers = f"{plan.folder}/upper"
        self.root = f"{plan.folder}/root"
        self.extended_attribute = "trusted" if os.access("/", os.W_OK) else "user"
        self.lowers = self._lower_folders()
        self.written: list[str] = []

    def _lower_folders(self) -> list[str]:
        """List the folders that need an overlay: those in the root, and every mount below them."""
        tops = [f"/{name}" for name in sorted(os.listdir("/")) if name not in BUILT]
        folders = [top for top in tops if os.path.isdir(top) and not os.path.islink(top)]
        return sorted({*folders, *(point for point in mount_points() if os.path.isdir(point))})

    def upper(self, path: str) -> str:
        """Return the place of a path in the upper folder of the overlay that holds it."""
        path = real_place(path)
        holders = [lower for lower in self.lowers if path == lower or path.startswith(lower + "/")]
        if not holders:
            return self.root + path
        lower = max(holders, key=len)
        return f"{self.uppers}/{lower[1:].replace('/', '%')}{path[len(lower) :]}"

    def make_parents(self, path: str) -> str:
        """Make the folders above a path in its layer, with the host's modes; return its place there."""
        place = self.upper(path)
        parents = list(Path(real_place(path)).parents)[:-1]
        for parent in reversed(parents):
            folder = self.upper(str(parent))
            if os.path.isdir(folder):
                continue
            os.makedirs(folder)
            if os.path.isdir(parent):
                os.chmod(folder, stat.S_IMODE(os.stat(parent).st_mode))
        return place

    def write(self, path: str, data: bytes, mode: int) -> None:
        """Put a file into its layer."""
        place = self.make_parents(path)
        Path(place).write_bytes(data)
        os.chmod(place, mode)
        self.written.append(path)

    def link(self, path: str, target: str) -> None:
        """Put a symbolic link into its layer."""
        os.symlink(target, self.make_parents(path))
        self.written.append(path)

    def folder(self, path: str, mode: int) -> None:
        """Put a folder into its layer."""
        place = self.make_parents(path)
        os.makedirs(place, exist_ok=True)
        os.chmod(place, mode)
        self.written.append(path)

    def hide(self, path: str) -> None:
        """Hide what the host has at a path, but not what the machine itself has there."""
        if not os.path.lexists(path) or (os.path.dirname(path) == "/" and not os.path.isdir(path)):
            return  # the new root holds no files of the old one
        place = self.make_parents(path)
        if os.path.isdir(place):
            os.setxattr(place, f"{self.extended_attribute}.overlay.opaque", b"y")
        elif not os.path.lexists(place):
            os.mknod(place, stat.S_IFCHR, os.makedev(0, 0))
        self.written.append(path)

    def mount(self) -> list[str]:
        """Mount every overlay below the new root; return their places."""
        places = []
        for lower in self.lowers:
            try:
                mode = stat.S_IMODE(os.stat(lower).st_mode)
            except FileNotFoundError:  # another program's mount, which has ended since they were listed
                continue
            place = self.root + lower
            upper = self.upper(lower)
            work = f"{self.uppers}-work/{os.path.basename(upper)}"
            for folder in (upper, work, place):
                os.makedirs(folder, exist_ok=True)
            os.chmod(upper, mode)
            self._mount_one(lower, upper, work, place)
            places.append(place)
        return places

    def _mount_one(self, lower: str, upper: str, work: str, place: str) -> None:
        options = f"lowerdir={lower},upperdir={upper},workdir={work}"
        if self.extended_attribute == "user":
            options += ",userxattr"
        try:
            kernel.mount("overlay", place, "overlay", 0, options)
        except OSError:
            # Some file systems cannot be a lower layer. Without files of the machine in it the folder itself
            # will do.
            if any(path == lower or path.startswith(lower + "/") for path in self.written):
                raise
            kernel.mount(lower, place, None, kernel.MS_BIND | kernel.MS_REC)


def build_root(plan: Plan) -> None:
    """Build the machine's file system and make it the root of this namespace."""
    kernel.mount(None, "/", None, kernel.MS_REC | kernel.MS_PRIVATE)
    kernel.mount("machine", plan.folder, "tmpfs", 0, "mode=755")
    layers = Layers(plan)
    os.makedirs(layers.root)
    kernel.mount(layers.root, layers.root, None, kernel.MS_BIND)
    for directory, mode in plan.directories:
        if not is_built(directory):
            layers.folder(directory, mode)
    for file in plan.files:
        if not is_built(file.path):
            layers.write(file.path, file.data(), file.mode)
    for path, target in plan.links:
        if not is_built(path):
            layers.link(path, target)
    for path in plan.hidden:
        if not is_built(path):
            layers.hide(path)
    for name in os.listdir("/"):
        if os.path.islink(f"/{name}") and not os.path.lexists(f"{layers.root}/{name}"):
            os.symlink(os.readlink(f"/{name}"), f"{layers.root}/{name}")
    places = layers.mount()
    places += compose.build(plan, layers.root)
    share(plan, layers.root)
    enter(layers.root)
    if plan.read_only:
        make_read_only([place[len(layers.root) :] for place in places])


def share(plan: Plan, root: str) -> None:
    """Let the machine see the host's own folder at these paths, for reading and writing."""
    for path in plan.shared:
        kernel.mount(path, root + path, None, kernel.MS_BIND | kernel.MS_REC)


def enter(root: str) -> None:
    """Make a folder the root and let go of the old one."""
    os.chdir(root)
    kernel.pivot_root(".", ".")
    kernel.unmount(".")
    os.chdir("/")


def make_read_only(places: list[str]) -> None:
    """Make the machine's own file systems read-only, the root last."""
    flags = kernel.MS_REMOUNT | kernel.MS_BIND | kernel.MS_RDONLY
    for place in [*places, "/"]:
        kernel.mount(None, place, None, flags)
