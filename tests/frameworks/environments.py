"""Real environments, with the gigabytes: looked for in a folder that is named, else made once and kept.

    patient = Environments()("tensorflow-2.21")

GPUDOCTOR_TEST_ENVIRONMENTS names a folder that holds them by the short names below. Otherwise uv makes them
in the cache folder (pip where there is no uv), from the index that pip is configured with and at the versions
of constraints/frameworks.txt. Nobody may write into them: a test that breaks one does so in a machine of its
own.
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.frameworks import installing
from tests.harness.interpreters import find_python
from tests.harness.patient import Patient
from tests.shim.build import cache_folder

ROOT = Path(__file__).parents[2]
CONSTRAINTS = ROOT / "constraints" / "frameworks.txt"
FOLDER_VARIABLE = "GPUDOCTOR_TEST_ENVIRONMENTS"
# The versions in the constraints have wheels for these.
PYTHONS = ("3.11", "3.12", "3.13")
COMPLETE = "gpudoctor-complete"
GIB = 1 << 30


class Unavailable(Exception):
    """An environment cannot be had here; the message says why."""


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """How an environment is made.

    folder: its short name. room_gib: what it needs on disk with nothing cached. build: the local version that
    must come, where the index may also offer another build of several gigabytes under the same name. pinned:
    whether the versions of the constraints hold; where not, every requirement names its own.
    """

    folder: str
    requirements: tuple[str, ...]
    room_gib: float
    build: str = ""
    pinned: bool = True

    @property
    def constraints(self) -> Path | None:
        """The file with the versions of all that is not named here."""
        return CONSTRAINTS if self.pinned else None


RECIPES: Mapping[str, Recipe] = {
    "tensorflow-2.21": Recipe(folder="tf221", requirements=("tensorflow[and-cuda]==2.21.0",), room_gib=8),
    "tensorflow-2.20": Recipe(folder="tf220", requirements=("tensorflow[and-cuda]==2.20.0",), room_gib=8),
    "cpu": Recipe(folder="cpu", requirements=("tensorflow-cpu==2.21.0", "jax"), room_gib=3),
    "torch-cpu": Recipe(
        folder="torchcpu", requirements=("torch==2.13.0", "numpy"), room_gib=2, build="2.13.0+cpu"),
    "paddle-cpu": Recipe(folder="paddle", requirements=("paddlepaddle==3.3.1", "setuptools"), room_gib=2),
    "jax-cuda": Recipe(folder="jaxcuda", requirements=("jax[cuda12]==0.10.2",), room_gib=7),
    "libraries of CUDA 12.1": Recipe(
        folder="cuda121", room_gib=0.2, pinned=False,
        requirements=("nvidia-cuda-runtime-cu12==12.1.105", "nvidia-nvjitlink-cu12==12.1.105")),
}


class Environments:
    """Real environments by the names of RECIPES, each found or made when it is first asked for."""

    def __init__(self) -> None:
        self._known: dict[str, Patient] = {}

    def __call__(self, name: str) -> Patient:
        """Return an environment; raises Unavailable."""
        if name not in self._known:
            self._known[name] = ready_made(RECIPES[name]) or made(RECIPES[name])
        return self._known[name]


def ready_made(recipe: Recipe) -> Patient | None:
    """Return the environment that lies in the folder of GPUDOCTOR_TEST_ENVIRONMENTS, if there is one."""
    folder = os.environ.get(FOLDER_VARIABLE)
    prefix = Path(folder or "/nowhere") / recipe.folder
    if not folder or not (prefix / "bin" / "python").exists():
        return None
    return as_patient(prefix, recipe)


def as_patient(prefix: Path, recipe: Recipe) -> Patient:
    """Return an environment that exists; raises Unavailable for another build than the recipe's."""
    site_packages = next(prefix.glob("lib/python3.*/site-packages"))
    major, minor = site_packages.parent.name.removeprefix("python").split(".")
    project = recipe.requirements[0].partition("==")[0]
    if recipe.build and not (site_packages / f"{project}-{recipe.build}.dist-info").is_dir():
        raise Unavailable(f"{prefix} holds another build than {project} {recipe.build}")
    return Patient(prefix=prefix, version=(int(major), int(minor)))


def made(recipe: Recipe) -> Patient:
    """Make the environment unless an earlier run has; one that was not finished is made anew."""
    python = base_python()
    versions = recipe.constraints.read_text("utf-8") if recipe.constraints else ""
    identity = "\n".join([str(python), *recipe.requirements, versions])
    key = hashlib.sha256(identity.encode()).hexdigest()[:16]
    folder = cache_folder("frameworks")
    prefix = folder / f"{recipe.folder}-{key}"
    with locked(folder / f"{recipe.folder}-{key}.lock"):
        if not (prefix / COMPLETE).is_file():
            shutil.rmtree(prefix, ignore_errors=True)
            make(recipe, python, prefix)
            (prefix / COMPLETE).touch()
    return as_patient(prefix, recipe)


def make(recipe: Recipe, python: Path, prefix: Path) -> None:
    """Make an environment in an empty place."""
    free = shutil.disk_usage(prefix.parent).free
    if free < recipe.room_gib * GIB:
        raise Unavailable(
            f"{recipe.room_gib} GiB are needed below {prefix.parent}, {free / GIB:.1f} are free")
    try:
        installer = installing.installer(python, prefix)
        if recipe.build:
            would_come = installer.install(recipe.requirements, recipe.constraints, dry_run=True)
            if recipe.build not in would_come:
                raise Unavailable(
                    f"the package index offers no {recipe.build} of {recipe.requirements[0]}: name one that "
                    f"does in PIP_EXTRA_INDEX_URL, or a folder with it in PIP_FIND_LINKS")
        installer.install(recipe.requirements, recipe.constraints)
    except subprocess.CalledProcessError as error:
        shutil.rmtree(prefix, ignore_errors=True)
        said = f"{error.stdout}\n{error.stderr}".strip()
        raise Unavailable(f"{recipe.requirements} cannot be installed: {said[-600:]}") from error
    except subprocess.TimeoutExpired as error:
        shutil.rmtree(prefix, ignore_errors=True)
        raise Unavailable(f"{recipe.requirements}: not installed within {error.timeout} s") from error


@functools.cache
def base_python() -> Path:
    """Return the interpreter that environments are made with."""
    found = next((python for version in PYTHONS if (python := find_python(version))), None)
    if found is None:
        raise Unavailable(f"none of Python {', '.join(PYTHONS)} is installed here")
    return found


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Let one test worker in at a time; the kernel lets go when a worker dies."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
