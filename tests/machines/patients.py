"""Recipes for the environments that the machines examine: real metadata of real releases, by name.

The libraries in them are stand-ins. The one through which a framework opens the CUDA libraries gets the
search path and the needs that the published one has (tools/update_tables.py measured them), so that the
loader trace has the same to work on as on a user's machine.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from gpudoctor.compatible import tomllib
from tests.harness.elf import place_standin
from tests.harness.patient import Patient

ROOT = Path(__file__).parents[2]
RECORDED = Path(__file__).parent / "recorded"
CPU_TORCH = "torch-2.13.0+cpu.json"
MEASURED = ("tensorflow", "torch")
ONLY_NVIDIA = r"(nvidia|cuda|triton).*"


@cache
def release(project: str, version: str) -> Mapping[str, Any]:
    """Return what the table of a framework's releases says of its Linux x86_64 wheel."""
    path = ROOT / "rules" / "tables" / f"{project}.toml"
    rows: list[Mapping[str, Any]] = tomllib.loads(path.read_text("utf-8"))["row"]
    return next(row for row in rows if (row["version"], row["platform"]) == (version, "linux_x86_64"))


def machine_code(named: str) -> tuple[str, set[str]]:
    """Return the CUDA of a build of torch and the cards that it has machine code for."""
    version, _, local = named.partition("+")
    if not local:
        row = release("torch", version)
        most = [one["sass"] for one in row["code"] if one["fat_binaries"] > row["fat_binaries"] * 0.8]
        return row["cuda"], {capability for sass in most for capability in sass}
    path = ROOT / "rules" / "tables" / "torch_indexes.toml"
    minor, cuda = ".".join(version.split(".")[:2]), f"{local[2:-1]}.{local[-1]}"
    row = next(one for one in tomllib.loads(path.read_text("utf-8"))["row"]
               if (one["torch"], one["cuda"], one["platform"]) == (minor, cuda, "linux_x86_64"))
    return cuda, {capability for one in row["code"] for capability in one["sass"]}


def place_loader(patient: Patient, project: str, version: str) -> None:
    """Give the stand-in of a framework's loading library the published one's search path and needs."""
    row = release(project, version)
    needed = tuple(row["loads"]) if project == "torch" else ()  # TensorFlow opens its libraries at run time
    place_standin(
        patient.site_packages / row["loader"], needed=needed, rpath=":".join(row.get("rpath", ())) or None,
        runpath=":".join(row.get("runpath", ())) or None)


def framework(
    project: str, version: str, *, extras: tuple[str, ...] = (), only: str = ONLY_NVIDIA,
) -> Callable[[Patient], None]:
    """Return a recipe: a release as pip installs it, with what it asks for of NVIDIA."""

    def make(patient: Patient) -> None:
        patient.install_with_dependencies(project, version, extras=extras, only=only)
        if project in MEASURED:
            place_loader(patient, project, version)

    return make


def plain(project: str, version: str) -> Callable[[Patient], None]:
    """Return a recipe: the release alone."""

    def make(patient: Patient) -> None:
        patient.install(project, version)

    return make


def cpu_torch(patient: Patient) -> None:
    """Install what is kept of the CPU build of torch, which no package index lists beside the CUDA builds."""
    patient.add_file("torch/__init__.py")
    for path, text in json.loads((RECORDED / CPU_TORCH).read_text("utf-8")).items():
        patient.add_file(path, text)
    for name in ("libtorch.so", "libtorch_cpu.so", "libtorch_python.so", "libc10.so"):
        place_standin(patient.site_packages / "torch" / "lib" / name)


def colliding(patient: Patient) -> None:
    """Install TensorFlow with its libraries, then the torch of another CUDA, which overwrites its cuDNN."""
    framework("tensorflow", "2.20.0", extras=("and-cuda",))(patient)
    framework("torch", "2.15.0")(patient)


def uninstall(patient: Patient, distribution: str) -> None:
    """Remove a distribution as pip does: every file that its record lists, whoever else needs it."""
    [folder] = patient.site_packages.glob(f"{distribution.replace('-', '_')}-*.dist-info")
    for line in (folder / "RECORD").read_text("utf-8").splitlines():
        (patient.site_packages / line.partition(",")[0]).unlink(missing_ok=True)
    shutil.rmtree(folder)


def robbed(patient: Patient) -> None:
    """Install TensorFlow with its libraries, and install and remove the cuDNN of another CUDA."""
    framework("tensorflow", "2.20.0", extras=("and-cuda",))(patient)
    patient.install("nvidia-cudnn-cu13", "9.26.0.51")
    uninstall(patient, "nvidia-cudnn-cu13")


def with_newer_cudnn(patient: Patient) -> None:
    """Install a TensorFlow for cuDNN 8, and cuDNN 9 in its place, as another package's wish may do."""
    framework("tensorflow", "2.17.1", extras=("and-cuda",))(patient)
    uninstall(patient, "nvidia-cudnn-cu12")
    patient.install("nvidia-cudnn-cu12", "9.11.0.98")


def split(patient: Patient) -> None:
    """Install torch, and NVIDIA's packages in another folder of sys.path, as Bazel does."""
    framework("torch", "2.10.0")(patient)
    other = patient.prefix / "shared"
    other.mkdir()
    for found in [*patient.site_packages.glob("nvidia"), *patient.site_packages.glob("nvidia_*.dist-info")]:
        shutil.move(found, other / found.name)
    patient.add_file("shared.pth", f"{other}\n")


def nothing(_: Patient) -> None:
    """Leave the environment empty."""


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """How to make one environment."""

    make: Callable[[Patient], None] = nothing
    python: str | None = None


RECIPES: Mapping[str, Recipe] = {
    "nothing": Recipe(),
    "nothing, Python 3.8": Recipe(python="3.8"),
    "torch for CUDA 13.2": Recipe(make=framework("torch", "2.15.0")),
    "torch for CUDA 13.2, Python 3.13": Recipe(make=framework("torch", "2.15.0"), python="3.13"),
    "torch for CUDA 12.8": Recipe(make=framework("torch", "2.10.0")),
    "torch for CUDA 12.4": Recipe(make=framework("torch", "2.6.0")),
    "torch without CUDA": Recipe(make=cpu_torch, python="3.11"),
    "tensorflow-cpu": Recipe(make=plain("tensorflow-cpu", "2.20.0")),
    "tensorflow 2.21": Recipe(make=framework("tensorflow", "2.21.0")),
    "tensorflow 2.21 and its libraries": Recipe(make=framework("tensorflow", "2.21.0", extras=("and-cuda",))),
    "tensorflow 2.20": Recipe(make=framework("tensorflow", "2.20.0")),
    "tensorflow 2.20 and its libraries": Recipe(make=framework("tensorflow", "2.20.0", extras=("and-cuda",))),
    "tensorflow 2.17 with cuDNN 9": Recipe(make=with_newer_cudnn, python="3.11"),
    "jax alone": Recipe(make=framework("jax", "0.10.2", only=r"jaxlib")),
    "jax and its plugin": Recipe(
        make=framework("jax", "0.10.2", extras=("cuda13",), only=r"jaxlib|jax-cuda.*|nvidia.*")),
    "jax and its plugin alone": Recipe(
        make=framework("jax", "0.10.2", extras=("cuda13",), only=r"jaxlib|jax-cuda.*")),
    "torch and its libraries apart": Recipe(make=split),
    "tensorflow 2.20 and torch 2.15": Recipe(make=colliding),
    "tensorflow 2.20 without its cuDNN files": Recipe(make=robbed),
}


# Patients have no pip, as environments that uv made: it is on the PATH of whoever has such a one.
WITH_UV = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}


class Patients:
    """Makes each environment once, when it is first asked for."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._made: dict[str, Patient] = {}

    def __call__(self, name: str) -> Patient:
        """Return the environment of that name; the test is skipped where its Python is not installed."""
        if name not in self._made:
            recipe = RECIPES[name]
            prefix = self._folder / name.replace(" ", "-").replace(",", "")
            patient = Patient.create(prefix, python=recipe.python)
            recipe.make(patient)
            self._made[name] = patient
        return self._made[name]
