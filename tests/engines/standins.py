"""What stands in for an image registry and a package index: a small Debian with wheels in it."""

from __future__ import annotations

import fcntl
import hashlib
import subprocess
import sys
import zipfile
from pathlib import Path

import gpudoctor
from tests.contract.checkout import ROOT
from tests.harness.engine import Engine
from tests.shim.build import cache_folder

PYTHON = "3.11"  # of the small Debian
BASE = "gpudoctor-test/base:bookworm"
WHEEL = f"gpudoctor_cli-{gpudoctor.__version__}-py3-none-any.whl"
CONSTRAINTS = ROOT / "constraints" / "development.txt"
# pip in the image knows these wheels and nothing else
_PIP = "[global]\nno-index = true\nfind-links = /wheels\ndisable-pip-version-check = true\n"
_DOCKERFILE = "FROM gpudoctor-test/system\nCOPY wheels /wheels\nCOPY pip.conf /etc/pip.conf\n"
# what pip is told to install, and nothing of it but the name, the version and the extra
FRAMEWORKS = (("tensorflow", "and-cuda"), ("torch", ""))


def own_wheel(folder: Path) -> Path:
    """Build gpudoctor's wheel from the checkout."""
    ran = subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return folder / WHEEL


def needed_wheels(own: Path) -> Path:
    """Return the folder with the wheels that gpudoctor needs, fetched once for each set of versions."""
    key = hashlib.sha256(CONSTRAINTS.read_bytes() + (ROOT / "pyproject.toml").read_bytes()).hexdigest()[:16]
    folder = cache_folder("engine") / f"wheels-{key}"
    with (cache_folder("engine") / "wheels.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "complete").exists():
            ran = subprocess.run(
                [sys.executable, "-m", "pip", "download", "--quiet", "--dest", str(folder),
                 "--python-version", PYTHON, "--platform", "manylinux2014_x86_64",
                 "--platform", "manylinux_2_28_x86_64", "--only-binary", ":all:",
                 "--constraint", str(CONSTRAINTS), str(own)],
                stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
            assert ran.returncode == 0, ran.stderr
            (folder / WHEEL).unlink(missing_ok=True)
            (folder / "complete").touch()
    return folder


def standin(folder: Path, name: str, version: str, extra: str) -> None:
    """Write a wheel that has a framework's name and is empty."""
    path = folder / f"{name}-{version}-py3-none-any.whl"
    info = f"{name}-{version}.dist-info"
    files = {
        f"{name}/__init__.py": f"__version__ = {version!r}\n",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
                            + (f"Provides-Extra: {extra}\n" if extra else ""),
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: gpudoctor-tests\nRoot-Is-Purelib: true\n"
                         "Tag: py3-none-any\n"}
    record = "".join(f"{member},,\n" for member in (*files, f"{info}/RECORD"))
    with zipfile.ZipFile(path, "w") as archive:
        for member, text in {**files, f"{info}/RECORD": record}.items():
            archive.writestr(member, text)


def make_base(engine: Engine, folder: Path, own: Path, releases: dict[str, str]) -> None:
    """Build the image that stands in for python:...-slim, with these releases to be had by pip."""
    wheels = folder / "wheels"
    wheels.mkdir()
    for wheel in (own, *needed_wheels(own).glob("*.whl")):
        (wheels / wheel.name).write_bytes(wheel.read_bytes())
    extras = dict(FRAMEWORKS)
    for name, version in releases.items():
        standin(wheels, name, version, extras[name])
    (folder / "pip.conf").write_text(_PIP)
    engine.load_system("gpudoctor-test/system")
    engine.build(_DOCKERFILE, folder, BASE, {})
