"""Small shared libraries that stand in for large ones.

They are real ELF files with the SONAME, the search path and the needs of the original, and nothing in them.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tempfile
from pathlib import Path

from tests.shim.build import cache_folder

SOURCE = "int gpudoctor_standin(void) { return 1; }\n"


def standin(
    soname: str, *, runpath: str | None = None, rpath: str | None = None, needed: tuple[str, ...] = ()
) -> Path:
    """Compile a stand-in unless the cache has it; `runpath` and `rpath` exclude one another, as in a real
    file."""
    if runpath is not None and rpath is not None:
        raise ValueError("a library has a RUNPATH or an RPATH")
    key = hashlib.sha256(repr((SOURCE, soname, runpath, rpath, needed)).encode()).hexdigest()[:24]
    finished = cache_folder("standins") / f"{key}-{soname}"
    if finished.exists():
        return finished
    options = [f"-Wl,-soname,{soname}"]
    if runpath is not None:
        options += ["-Wl,--enable-new-dtags", f"-Wl,-rpath,{runpath}"]
    if rpath is not None:
        options += ["-Wl,--disable-new-dtags", f"-Wl,-rpath,{rpath}"]
    with tempfile.TemporaryDirectory(dir=finished.parent) as folder:
        source = Path(folder) / "standin.c"
        source.write_text(SOURCE)
        output = Path(folder) / "library"
        others = [str(standin(name)) for name in needed]
        command = [
            "gcc",
            "-shared",
            "-fPIC",
            "-O1",
            "-s",
            str(source),
            "-Wl,--no-as-needed",
            *others,
            *options,
        ]
        # Without the C library among the needs, the NEEDED entries are exactly those asked for.
        subprocess.run([*command, "-nostdlib", "-o", str(output)], check=True)
        output.replace(finished)
    return finished


def place_standin(
    target: Path,
    *,
    soname: str | None = None,
    runpath: str | None = None,
    rpath: str | None = None,
    needed: tuple[str, ...] = (),
    size_bytes: int | None = None,
) -> None:
    """Put a stand-in at a path; `size_bytes` stretches it to the original's size without using disk space."""
    library = standin(soname or target.name, runpath=runpath, rpath=rpath, needed=needed)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.unlink(missing_ok=True)
    shutil.copyfile(library, target)
    target.chmod(0o755)
    if size_bytes is not None and size_bytes > target.stat().st_size:
        with target.open("r+b") as file:
            file.truncate(size_bytes)
