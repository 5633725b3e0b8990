"""Engines of a newer Debian than the machine's, run out of its tree: a Docker and a Podman that know CDI.

The tree is made once by debootstrap and kept. A program of it is started in a mount namespace of its own
whose root is the tree, with the machine's kernel and two folders of the machine at their paths. (With chroot
alone a command in a running container would land in the machine's root.)
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
from dataclasses import dataclass, field
from pathlib import Path

from tests.harness import nvidia
from tests.harness.debootstrap import tree

_RELEASE = "trixie"  # Docker 26.1, Podman 5.4
_PACKAGES = "docker.io,podman,runc,ca-certificates"
_DRIVER, _CUDA = "580.95.05", 13000
_SPECIFICATIONS = "/etc/cdi"  # where every engine looks; Podman 5.4 heeds no other folder
_FOLDERS = ("/proc", "/sys", "/dev")
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def newer() -> Path:
    """Return the tree, made by debootstrap where it is not there yet."""
    made = tree("engine", _RELEASE, _PACKAGES)
    (made / _SPECIFICATIONS[1:]).mkdir(exist_ok=True)
    return made


class Specification:
    """A CDI specification in a folder: it mounts a scripted driver with a card, as NVIDIA's own lists one."""

    def __init__(self, folder: Path, card: nvidia.Card) -> None:
        self.folder = folder
        self._files = folder / "driver"
        self._files.mkdir(parents=True)
        script = self._files / "shim.cfg"
        script.write_text(nvidia.script(_DRIVER, _CUDA, [card]))
        mounts = [(script, "/run/gpudoctor-shim.cfg")]
        for path, library in nvidia.driver_libraries(_DRIVER, _CUDA).items():
            own = self._files / os.path.basename(path)
            shutil.copy(library, own)
            mounts.append((own, f"{path.removesuffix(_DRIVER)}1"))
        self._mounts = [{"hostPath": str(source), "containerPath": target,
                         "options": ["ro", "nosuid", "nodev", "bind"]} for source, target in mounts]
        self.there()

    @property
    def place(self) -> Path:
        """Return the folder in which an engine looks for specifications."""
        return self.folder / "cdi"

    def there(self) -> None:
        """Write it, for the driver that is there."""
        nodes = [{"path": f"/dev/{name}", "hostPath": "/dev/null"}
                 for name in ("nvidia0", "nvidiactl", "nvidia-uvm")]
        self._write({"cdiVersion": "0.5.0", "kind": "nvidia.com/gpu",
                     "devices": [{"name": "all", "containerEdits": {"deviceNodes": nodes}}],
                     "containerEdits": {"mounts": self._mounts}})

    def stale(self) -> None:
        """Let it name a library of the driver before, which is gone."""
        self.there()
        file = self.place / "nvidia.json"
        file.write_text(file.read_text().replace(f"libcuda.so.{_DRIVER}", "libcuda.so.570.133.07"))

    def gone(self) -> None:
        """Take it away."""
        (self.place / "nvidia.json").unlink(missing_ok=True)

    def _write(self, specification: dict[str, object]) -> None:
        self.place.mkdir(exist_ok=True)
        (self.place / "nvidia.json").write_text(json.dumps(specification, indent=1))


@dataclass(frozen=True)
class Newer:
    """The programs of the tree; they see a folder of the machine beside their own, at its path."""

    specification: Specification
    tree: Path = field(default_factory=newer)

    def command(self, own: Path, words: list[str]) -> list[str]:
        """Return the command line that runs a program of the tree."""
        root = shlex.quote(str(self.tree))
        mounts = [f"mount --bind {root} {root}", *(f"mount --rbind {one} {root}{one}" for one in _FOLDERS),
                  *(f"mount -t tmpfs -o mode=1777 tree {root}{one}" for one in ("/run", "/tmp", "/mnt")),
                  f"mkdir {root}/mnt/old",
                  f"mount --bind {shlex.quote(str(self.specification.place))} {root}{_SPECIFICATIONS}"]
        for folder in (shlex.quote(str(one)) for one in (own, self.specification.folder)):
            mounts += [f"mkdir -p {root}{folder}", f"mount --rbind {folder} {root}{folder}"]
        inside = f"umount --lazy /mnt/old && cd / && exec env PATH={_PATH} {shlex.join(words)}"
        enter = [f"cd {root}", "pivot_root . mnt/old", f"exec chroot . /bin/sh -c {shlex.quote(inside)}"]
        return ["unshare", "--mount", "--propagation", "private", "sh", "-c", " && ".join([*mounts, *enter])]
