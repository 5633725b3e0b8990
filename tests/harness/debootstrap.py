"""A small Debian, made from the mirror that apt here uses, and kept."""

from __future__ import annotations

import fcntl
import shutil
import subprocess
from pathlib import Path

from tests.shim.build import cache_folder

_NOT_NEEDED = ("var/cache/apt/archives", "var/lib/apt/lists", "usr/share/doc")


def debootstrap(release: str, packages: str, root: Path) -> None:
    """Make a tree of a release with these packages, without what no program reads."""
    ran = subprocess.run(["debootstrap", "--variant=minbase", f"--include={packages}", release, str(root),
                          *_mirror()], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, f"debootstrap: {ran.stdout[-1000:]}{ran.stderr[-1000:]}"
    for below in _NOT_NEEDED:
        shutil.rmtree(root / below, ignore_errors=True)


def tree(cache: str, release: str, packages: str) -> Path:
    """Return a kept tree of a release with these packages, made where it is not there yet."""
    folder = cache_folder(cache)
    made = folder / f"{release}-{packages.replace(',', '-')}"
    with (folder / "tree.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            part = folder / "tree.part"
            shutil.rmtree(part, ignore_errors=True)
            debootstrap(release, packages, part)
            part.rename(made)
    return made


def _mirror() -> list[str]:
    """Return the first mirror of apt's own sources, none where debootstrap's default has to do."""
    places = [Path("/etc/apt/sources.list"), *sorted(Path("/etc/apt/sources.list.d").glob("*"))]
    for place in (place for place in places if place.is_file()):
        lines = [line for line in place.read_text(errors="replace").splitlines() if not line.startswith("#")]
        for word in " ".join(lines).split():
            if word.startswith(("http://", "https://")):
                return [word]
    return []
