"""Run the driver-asking collectors for real, against scripted libraries or NVIDIA's own."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import gpudoctor
from gpudoctor import child
from gpudoctor.probes.raw import Answer
from tests.harness.interpreters import need_python
from tests.shim import build

DRIVER = "570.86.15"
PAYLOADS = Path(gpudoctor.__file__).parent / "payloads" / "__main__.py"

TWO_CARDS = """\
driver=570.86.15
cuda=12080
count=2
gpu.0.name=NVIDIA A100-SXM4-80GB
gpu.0.uuid=GPU-00000000-1111-2222-3333-444444444440
gpu.0.cc=8.0
gpu.0.brand=2
gpu.0.pci=00000000:1B:00.0
gpu.0.pci_id=0x20B210DE
gpu.0.mem_total=85899345920
gpu.0.mem_used=1073741824
gpu.0.mig=0
gpu.0.mig_max=7
gpu.0.ecc=1
gpu.0.ecc.1.0=3
gpu.0.pcie_gen=1
gpu.0.pcie_gen_max=4
gpu.0.pcie_width=8
gpu.0.pcie_width_max=16
gpu.0.throttle=0x48
gpu.0.persistence=1
gpu.0.compute_mode=0
gpu.0.processes=4711:1048576,4712:2097152
gpu.1.name=NVIDIA L4
gpu.1.uuid=GPU-00000000-1111-2222-3333-444444444441
gpu.1.cc=8.9
gpu.1.brand=14
gpu.1.pci=00000000:AF:00.0
gpu.1.pci_id=0x27B810DE
gpu.1.mem_total=24152899584
gpu.1.compute_mode=0
"""


def machine(
    folder: Path, script: str, *, nvml: Path | None = None, cuda: Path | None = None, with_cuda: bool = True
) -> Path:
    """Lay out driver libraries and the script that they follow; return the folder for LD_LIBRARY_PATH."""
    nvml = nvml or build.nvml(driver_version=DRIVER)
    build.place(nvml, folder, soname=build.NVML_SONAME, version=DRIVER)
    if with_cuda:
        cuda = cuda or build.cuda(driver_version=DRIVER)
        build.place(cuda, folder, soname=build.CUDA_SONAME, version=DRIVER)
    (folder / "script").write_text(script)
    return folder


def ask(
    collector: str,
    folder: Path,
    *,
    interpreter: str = sys.executable,
    request: dict[str, object] | None = None,
    environment: dict[str, str] | None = None,
    timeout_seconds: float = 30.0,
) -> Answer:
    """Run a collector in a child, as `gpudoctor check` does, with `folder` first on the loader's path."""
    variables = {name: value for name, value in os.environ.items() if name != "CUDA_VISIBLE_DEVICES"}
    variables |= {"LD_LIBRARY_PATH": str(folder), "GPUDOCTOR_SHIM": str(folder / "script")}
    variables |= environment or {}
    argv = [interpreter, str(PAYLOADS), collector, child.ANSWER, json.dumps(request or {})]
    run = child.run(argv, timeout_seconds=timeout_seconds, environment=variables)
    return Answer(outcome=run.outcome.value, seconds=run.seconds, detail=run.detail, data=run.answer)


def old_interpreter(version: str) -> str:
    """Return the path of an interpreter of that version, or skip."""
    return str(need_python(version))


@contextlib.contextmanager
def no_node_left_behind() -> Iterator[None]:
    """Remove what NVIDIA's libraries, asked by root on a machine without a driver, leave in /dev."""
    before = set(Path("/dev").glob("nvidia*"))
    yield
    for node in set(Path("/dev").glob("nvidia*")) - before:
        node.unlink(missing_ok=True)


def real_libraries() -> Path:
    """Return a folder with NVIDIA's own libraries from Debian's non-free section, or skip."""
    folder = build.cache_folder("nvidia-libraries")
    if not list(folder.glob("usr/lib/*/nvidia/current/libcuda.so.1")):
        try:
            _fetch(folder)
        except (OSError, subprocess.SubprocessError) as error:
            pytest.skip(f"NVIDIA's libraries cannot be had from Debian's non-free section: {error}")
    return next(folder.glob("usr/lib/*/nvidia/current"))


def _fetch(folder: Path) -> None:
    """Fetch and unpack, with apt sources of our own: the system's, with non-free in the place of main."""
    system = Path("/etc/apt/sources.list.d/debian.sources")
    work = folder / "apt"
    for part in ("lists/partial", "cache/archives/partial"):
        (work / part).mkdir(parents=True, exist_ok=True)
    lines = ("Components: non-free" if line.startswith("Components:") else line
             for line in system.read_text().splitlines())
    (work / "nonfree.sources").write_text("\n".join(lines) + "\n")
    options = (f"Dir::Etc::sourcelist={work}/nonfree.sources", "Dir::Etc::sourceparts=-",
               f"Dir::State::lists={work}/lists", f"Dir::Cache={work}/cache", "APT::Sandbox::User=root")
    apt = ["apt-get", "-q", *(part for option in options for part in ("-o", option))]
    for command in ([*apt, "update"], [*apt, "download", "libcuda1", "libnvidia-ml1"]):
        subprocess.run(command, check=True, cwd=work, capture_output=True, timeout=120)
    for package in work.glob("*.deb"):
        subprocess.run(["dpkg", "-x", str(package), str(folder)], check=True, capture_output=True, timeout=60)


def single_file_binding(folder: Path) -> Path:
    """Return a folder with nvidia-ml-py's single file and nothing else, for interpreters that lack it."""
    import pynvml

    folder.mkdir(exist_ok=True)
    shutil.copy(pynvml.__file__, folder / "pynvml.py")
    return folder
