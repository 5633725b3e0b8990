"""NVIDIA's own user-space driver out of Debian's non-free section: downloaded and unpacked, never installed.

apt runs with lists, cache and sources of its own in the cache folder; the mirror is the one that this machine
is configured with.
"""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.frameworks.environments import COMPLETE, Unavailable, locked
from tests.shim.build import cache_folder

# Which release of Debian has which branch of the driver.
SUITES = {"535": "bookworm", "550": "trixie"}
PACKAGES = ("libcuda1", "libnvidia-ml1", "nvidia-smi")
LIBRARIES = "usr/lib/x86_64-linux-gnu/nvidia/current"
KEY = "/usr/share/keyrings/debian-archive-keyring.gpg"
APT_SECONDS = 180
SOURCES = """\
Types: deb
URIs: {mirror}
Suites: {suite}
Components: non-free
Architectures: amd64
Signed-By: {key}
"""


@dataclass(frozen=True, kw_only=True)
class Driver:
    """The unpacked packages of one release."""

    version: str
    folder: Path

    def library(self, stem: str) -> Path:
        """Return a library: `libcuda` or `libnvidia-ml`."""
        return self.folder / LIBRARIES / f"{stem}.so.{self.version}"

    @property
    def nvidia_smi(self) -> Path:
        """The program."""
        return self.folder / "usr/lib/nvidia/current/nvidia-smi"


def driver(branch: str) -> Driver:
    """Return the driver of a branch, fetched when it is first asked for; raises Unavailable."""
    folder = cache_folder("nvidia-packages")
    target = folder / branch
    with locked(folder / f"{branch}.lock"):
        if not (target / COMPLETE).is_file():
            shutil.rmtree(target, ignore_errors=True)
            try:
                _fetch(SUITES[branch], target)
            except (OSError, subprocess.SubprocessError) as error:
                said = getattr(error, "stderr", None) or ""
                raise Unavailable(f"driver {branch} of Debian's non-free section: {error} {said}") from error
            (target / COMPLETE).touch()
    library = next((target / LIBRARIES).glob("libcuda.so.[0-9]*.*"))
    return Driver(version=library.name.removeprefix("libcuda.so."), folder=target)


def _mirror() -> str:
    """Return the address of Debian's packages that this machine is configured with."""
    listed = _run(["apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages"], Path("/"))
    for address in listed.splitlines():
        if "debian" in address.split("/"):
            return address
    raise OSError("apt is configured with no mirror of Debian")


def _fetch(suite: str, target: Path) -> None:
    sources = SOURCES.format(mirror=_mirror(), suite=suite, key=KEY)
    work = target / "apt"
    for part in ("sources", "lists/partial", "cache/archives/partial"):
        (work / part).mkdir(parents=True)
    (work / "sources" / "non-free.sources").write_text(sources)
    options = (
        "Dir::Etc::SourceList=/dev/null", f"Dir::Etc::SourceParts={work}/sources",
        f"Dir::State::Lists={work}/lists", f"Dir::Cache={work}/cache", "APT::Sandbox::User=root")
    apt = ["apt-get", "--quiet", *(word for option in options for word in ("-o", option))]
    _run([*apt, "update"], work)
    _run([*apt, "download", *(f"{package}/{suite}" for package in PACKAGES)], work)
    for package in sorted(work.glob("*.deb")):
        _run(["dpkg-deb", "-x", str(package), str(target)], work)
    shutil.rmtree(work)


def _run(command: list[str], folder: Path) -> str:
    done = subprocess.run(
        command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=APT_SECONDS,
        check=True)
    return done.stdout
