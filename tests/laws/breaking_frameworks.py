"""One thing that is broken in the patient: a library, a package, a plugin, a build, a variable."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping

from gpudoctor import versions
from gpudoctor.derive.view import as_texts, text_in
from gpudoctor.model import Record
from tests.laws.breaking import HOST, Breakage, where
from tests.laws.described import NOT_THERE, SYSTEM, Facts, packaged_facts
from tests.laws.working import Machine, at_least, major, own_libraries, packages, table

Broken = tuple[Facts, str] | None
NOT_INSTALLED, CUDNN_MISSING = "pip-nvidia-libs-not-installed", "cudnn-missing"
BEFORE = "/usr/local/lib/before"


# -- libraries that come as Python packages ----------------------------------------------------------


def _files(machine: Machine) -> Mapping[str, Record]:
    """Return the packages' files by path, but only where the framework takes them from there."""
    return packages(machine.build) if machine.packaged else {}


def _one_of(machine: Machine, number: int) -> tuple[str, str]:
    """Return one of the libraries that it needs, and the distribution that brings it."""
    names = own_libraries(machine.build)
    soname = names[number % len(names)]
    owner = next(text_in(record, "distribution") for path, record in _files(machine).items()
                 if posixpath.basename(path) == soname)
    return soname, owner


def _no_packages(machine: Machine) -> Facts | None:
    return packaged_facts(machine.build, {}, installed={}) if machine.packaged else None


def _one_package(machine: Machine, number: int) -> Broken:
    """Return the patient without one package: pip knows nothing of it."""
    if not machine.packaged:
        return None
    _, gone = _one_of(machine, number)
    files = {path: record for path, record in _files(machine).items() if record["distribution"] != gone}
    cause = CUDNN_MISSING if gone.startswith("nvidia-cudnn") else NOT_INSTALLED
    return packaged_facts(machine.build, files, without=gone), cause


def _robbed(machine: Machine, number: int) -> Broken:
    """Return the patient with a package of which pip says that it is installed, and whose files are gone."""
    if not machine.packaged:
        return None
    _, gone = _one_of(machine, number)
    files = {path: record for path, record in _files(machine).items() if record["distribution"] != gone}
    facts = {**packaged_facts(machine.build, files), "python.incomplete_distributions": (gone,)}
    return facts, "wheel-file-collision"


def _cut_short(machine: Machine, number: int) -> Broken:
    """Return the patient with a library as a download leaves it that broke off."""
    if not machine.packaged:
        return None
    cut, _ = _one_of(machine, number)
    files = {path: {**record, "error": "file too short"} if posixpath.basename(path) == cut else record
             for path, record in _files(machine).items()}
    return packaged_facts(machine.build, files), NOT_INSTALLED


def _with_cudnn(machine: Machine, version: str) -> Facts:
    files = {path: {**record, "version": version} if "cudnn" in text_in(record, "distribution") else record
             for path, record in _files(machine).items()}
    return packaged_facts(machine.build, files, installed={"nvidia-cudnn": version})


def _wants_cudnn(machine: Machine) -> str | None:
    """Return the oldest cuDNN that it asks for, None where it does not say or has it of the system."""
    if not machine.packaged:
        return None
    for text in as_texts(machine.build.row.get("requires_nvidia")):
        if text.startswith("nvidia-cudnn-"):
            return text.replace("==", ">=").partition(">=")[2].partition(",")[0] or None
    return None


def _old_cudnn(machine: Machine) -> Facts | None:
    """Return a cuDNN of the right major version that is older than the one the build asks for."""
    floor = _wants_cudnn(machine)
    if floor is None or floor.split(".")[1] == "0":
        return None
    return _with_cudnn(machine, f"{major(floor)}.0.0.312")


def _newer_cudnn(machine: Machine) -> Facts | None:
    """Return a cuDNN that has dropped the card."""
    floor = _wants_cudnn(machine)
    newest = max(table("cudnn_architectures").rows, key=lambda row: versions.parse(str(row["since"])))
    if floor is None or major(floor) != major(newest["since"]):
        return None
    served = at_least(machine.card.capability, newest["oldest_card"])
    return None if served else _with_cudnn(machine, str(newest["since"]))


def _put_before(machine: Machine, number: int, **what: str) -> Facts | None:
    """Return the patient with a folder on LD_LIBRARY_PATH that has one of its libraries."""
    if not machine.packaged or not machine.build.row.get("runpath"):
        return None  # with RPATH its own come first
    soname, _ = _one_of(machine, number)
    path = f"{BEFORE}/{soname}"
    record: Record = {"path": path, "soname": soname, "error": "", "machine": _architecture(machine), **what}
    facts = packaged_facts(machine.build, {**_files(machine), path: record})
    return {**facts, "loader.library_path": (BEFORE,)}


def _architecture(machine: Machine) -> str:
    return machine.build.platform.partition("_")[2]


def _broken_before(machine: Machine, number: int) -> Broken:
    facts = _put_before(machine, number, error="file too short")
    return None if facts is None else (facts, "ld-library-path-shadows")


def _old_cudnn_before(machine: Machine, _: int) -> Broken:
    floor, names = _wants_cudnn(machine), own_libraries(machine.build)
    if floor is None or floor.split(".")[1] == "0":
        return None
    number = next(place for place, name in enumerate(names) if name.startswith("libcudnn.so"))
    facts = _put_before(machine, number, version=f"{major(floor)}.0.0")
    return None if facts is None else (facts, "ld-library-path-shadows")


# -- libraries of the system -------------------------------------------------------------------------


def _of_system(machine: Machine) -> tuple[str, ...]:
    """Return its libraries, where the system has them; what Paddle opens nobody knows without running it."""
    return () if machine.packaged or machine.build.framework == "paddle" else own_libraries(machine.build)


def _cache(*names: str) -> Facts:
    return {"loader.cache": tuple({"soname": name, "path": f"{SYSTEM}/{name}"} for name in names)}


def _asks_packages(machine: Machine) -> bool:
    return bool(machine.build.row.get("requires_nvidia"))


def _nothing_in_system(machine: Machine, _: int) -> Broken:
    cause = NOT_INSTALLED if _asks_packages(machine) else "cudart-missing"
    return (_cache(), cause) if _of_system(machine) else None


def _one_of_system(machine: Machine, number: int) -> Broken:
    names = _of_system(machine)
    if not names:
        return None
    gone = names[number % len(names)]
    others = NOT_INSTALLED if _asks_packages(machine) else "cudart-missing"
    cause = CUDNN_MISSING if gone.startswith("libcudnn") else others
    return _cache(*(name for name in names if name != gone)), cause


def _other_cudnn(machine: Machine) -> Facts | None:
    """Return the system with the next major version of cuDNN in place of the right one."""
    names = _of_system(machine)
    mine = next((name for name in names if name.startswith("libcudnn.so.")), None)
    if mine is None:
        return None
    other = f"libcudnn.so.{int(mine.rpartition('.')[2]) + 1}"
    return _cache(*(name for name in names if name != mine), other)


def _other_cuda(machine: Machine) -> Facts | None:
    """Return the system with the CUDA of another day, of which nothing has the right name but cuDNN."""
    if not _of_system(machine) or _asks_packages(machine):
        return None
    return _cache(*(name for name in _of_system(machine) if name.startswith("libcudnn")),
                  "libcudart.so.99", "libcublas.so.99")


def _off_path(machine: Machine) -> Facts | None:
    """Return the system's libraries where the loader does not look."""
    records: tuple[Record, ...] = tuple(
        {"path": f"/usr/local/cuda/lib64/{name}", "soname": name, "machine": _architecture(machine)}
        for name in _of_system(machine))
    return {**_cache(), "loader.files": records} if records else None


# -- the build ---------------------------------------------------------------------------------------


def _cpu_build(machine: Machine, _: int) -> Broken:
    facts: Facts = {"framework.build": "cpu", "framework.loader": NOT_THERE,
                    "framework.loader_needed": NOT_THERE, "framework.cuda": NOT_THERE}
    if machine.build.framework != "jax":
        return facts, "cpu-only-build"
    jaxlib: Record = {"name": "jaxlib", "version": str(machine.build.row["version"])}
    return {**facts, "framework.plugins": (jaxlib,)}, "jax-cuda-plugin-missing"


def _other_jaxlib(machine: Machine) -> Facts | None:
    if machine.build.framework != "jax":
        return None
    name, version = str(machine.build.row["distribution"]), str(machine.build.row["version"])
    return {"framework.plugins": ({"name": "jaxlib", "version": "0.4.1"}, {"name": name, "version": version},
                                  {"name": name.replace("-pjrt", "-plugin"), "version": version})}


def _jax_on_cpu(machine: Machine) -> Facts | None:
    return {"environment.JAX_PLATFORMS": "cpu"} if machine.build.framework == "jax" else None


FRAMEWORK: Mapping[str, Breakage] = {
    "a CPU build": _cpu_build,
    "a jaxlib that is not the plugin's": where(_other_jaxlib, "jax-plugin-version-mismatch"),
    "JAX told to compute on the CPU": where(_jax_on_cpu, "ran-on-cpu"),
    "none of NVIDIA's packages": where(_no_packages, NOT_INSTALLED),
    "one of NVIDIA's packages too few": _one_package,
    "a package whose files are gone": _robbed,
    "a library that is cut short": _cut_short,
    "a cuDNN older than the build's": where(_old_cudnn, "cudnn-runtime-older-than-compiled"),
    "a cuDNN that dropped the card": where(_newer_cudnn, "cudnn-dropped-gpu"),
    "a broken library on LD_LIBRARY_PATH": _broken_before,
    "an old cuDNN on LD_LIBRARY_PATH": _old_cudnn_before,
    "nothing of CUDA in the system": _nothing_in_system,
    "one library of the system too few": _one_of_system,
    "cuDNN of another major version": where(_other_cudnn, "cudnn-wrong-major"),
    "CUDA of another major version": where(_other_cuda, "cuda-version-mismatch"),
    "libraries where the loader does not look": where(_off_path, "ld-library-path-not-set"),
}
BREAKAGES: Mapping[str, Breakage] = {**HOST, **FRAMEWORK}


# -- a machine on which the frameworks were run ------------------------------------------------------


def seen_by_running(machine: Machine, **outcomes: str) -> Facts:
    """Return what the smoke stages leave behind; all of them passed but those that are named."""
    stages: tuple[Record, ...] = tuple(
        {"stage": stage, "card": "0", "outcome": outcomes.get(stage, "passed"), "device": "cuda:0"}
        for stage in ("matmul", "convolution", "compiled"))
    loaded: tuple[Record, ...] = tuple(
        {"path": path, "soname": posixpath.basename(path)} for path in _files(machine)
        if posixpath.basename(path) in own_libraries(machine.build))
    real: tuple[Record, ...] = tuple({"path": text_in(one, "path"), "real": text_in(one, "path")}
                                     for one in loaded)
    return {"gpu.driver_kernel": "passed", "framework.import_outcome": "passed", "framework.seen_gpus": 1,
            "framework.import_words": (), "framework.import_seconds": 2.5, "framework.stages": stages,
            "framework.loaded_libraries": loaded, "framework.resolved_libraries": real, "framework.log": ()}
