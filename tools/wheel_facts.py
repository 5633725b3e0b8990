"""Columns that a wheel states about itself: tags, build file, size and the hashes in its RECORD."""

import ast
import base64
import json
import os
import re
from collections.abc import Iterable, Iterator
from typing import Any

from packaging.version import Version

from tools import torch_declared
from tools.table_file import Row
from tools.wheel_cache import WheelCache
from tools.wheel_index import WheelFile, WheelIndex, dist_info_member, read_text
from tools.wheel_requirements import lowest_admitted, required_columns

BUILD_FILE = re.compile(
    r"tensorflow(_core)?/python/platform/build_info\.py|torch/version\.py|paddle/version(/__init__)?\.py"
    r"|cupy/\.data/_wheel\.json"
)
LIBRARY = re.compile(r".*\.(so(\.\d+)*|pyd|dll)")
LEGACY_GLIBC_FLOORS = {"manylinux1": "2.5", "manylinux2010": "2.12", "manylinux2014": "2.17"}
CUDA_RUNTIME = re.compile(r"nvidia-cuda-runtime(-cu\d+)?")
CUDNN = re.compile(r"nvidia-cudnn-cu\d+")
# Names that give away the CUDA they were built for: jax-cuda12-pjrt, cupy-cuda102, cupy-cuda12x.
CUDA_IN_NAME = re.compile(r"(?:jax-|cupy-)cuda(\d+)(?:x|-pjrt|-plugin)?")
PADDLE_SUFFIX = re.compile(r"\.post(\d+)$")


def wheel_contents(index: WheelIndex, cache: WheelCache, wheel: WheelFile) -> dict[str, Any]:
    """Return `build` (the build file's text, or None), `bytes`, `libraries` (member -> RECORD's sha256).

    A library that RECORD does not list has None: RECORD of tensorflow-gpu 2.1 to 2.3 for Windows names
    nearly every file below a folder that the wheel does not have.
    """

    def ask() -> dict[str, Any]:
        with index.open(wheel) as archive:
            build = next((name for name in archive.namelist() if BUILD_FILE.fullmatch(name)), None)
            record = read_text(archive, dist_info_member(archive, "RECORD"))
            assert archive.fp is not None  # it has just been opened
            return {
                "build": read_text(archive, build) if build else None,
                "libraries": dict(sorted(libraries_of(archive.namelist(), record).items())),
                "bytes": archive.fp.seek(0, os.SEEK_END),
            }

    contents: dict[str, Any] = cache.get("contents-3", wheel.sha256, ask)
    return contents


def build_file(index: WheelIndex, cache: WheelCache, wheel: WheelFile) -> str | None:
    """Return which member of a wheel is its build file."""

    def ask() -> str | None:
        with index.open(wheel) as archive:
            return next((name for name in archive.namelist() if BUILD_FILE.fullmatch(name)), None)

    member: str | None = cache.get("build-file-1", wheel.sha256, ask)
    return member


def stated_columns(
    index: WheelIndex, cache: WheelCache, wheel: WheelFile, wheels: Iterable[WheelFile], *, extra: str
) -> Row:
    """Return the columns of one row (all wheels of a version and platform), read from one of its wheels.

    `extra` is the one that brings NVIDIA's libraries.
    """
    wheels = list(wheels)
    contents = wheel_contents(index, cache, wheel)
    own_python = python_versions([wheel])
    row: Row = {
        "version": wheel.version,
        "platform": wheel.platform,
        "python": python_versions(wheels),
        "glibc": glibc_floor(wheel.platform_tags),
        **build_columns(contents["build"]),
        "uploaded": min(file.uploaded for file in wheels),
        "wheel_bytes": contents["bytes"],
        **required_columns(index, cache, wheel, python=own_python[-1] if own_python else None, extra=extra),
        "wheel_sha256": wheel.sha256,
        "measured_from": wheel.filename,
        "source": f"pypi:{wheel.project}=={wheel.version}",
    }
    row |= _build_of_name(wheel, row)
    if row["build"] == "cuda" and torch_declared.MEMBER in contents["libraries"]:
        row["declared"] = torch_declared.declared_architectures(index, cache, wheel)
    for member in contents["libraries"].keys() & set(torch_declared.MEMBERS):
        row["numpy"] = torch_declared.numpy_of(index, cache, wheel, member)
    return row | _versions_of_pins(row)


def python_versions(wheels: Iterable[WheelFile]) -> list[str]:
    """Return the CPython versions that have a wheel: cp310 -> 3.10, oldest first."""
    tags = {tag for wheel in wheels for tag in wheel.pythons if re.fullmatch(r"cp\d{2,}", tag)}
    return sorted({f"{tag[2]}.{tag[3:]}" for tag in tags}, key=Version)


def glibc_floor(platform_tags: Iterable[str]) -> str | None:
    """Return the oldest glibc that the manylinux tags admit, None without such a tag."""
    floors = []
    for tag in platform_tags:
        if match := re.match(r"manylinux_(\d+)_(\d+)_", tag):
            floors.append(f"{match[1]}.{match[2]}")
        elif (legacy := tag.split("_")[0]) in LEGACY_GLIBC_FLOORS:
            floors.append(LEGACY_GLIBC_FLOORS[legacy])
    return min(floors, key=Version, default=None)


def ast_constants(source: str) -> dict[str, object]:
    """Return every name and key that a build file gives a constant: assignments, dicts, lists of pairs."""
    found: dict[str, object] = {}
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=value)):
                found[name] = value
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.Constant(value=value)):
                found[name] = value
            case ast.Dict(keys=keys, values=values):
                for key, item in zip(keys, values, strict=True):
                    if isinstance(key, ast.Constant):
                        found |= _constant(str(key.value), item)
            case ast.Tuple(elts=[ast.Constant(value=str(key)), item]):
                found |= _constant(key, item)
    return found


def _constant(name: str, node: ast.expr) -> dict[str, object]:
    match node:
        case ast.Constant(value=value):
            return {name: value}
        case ast.List(elts=items) if all(isinstance(item, ast.Constant) for item in items):
            return {name: [item.value for item in items if isinstance(item, ast.Constant)]}
    return {}


def build_columns(build_text: str | None) -> Row:
    """Return what a wheel's build file says (TensorFlow, torch, Paddle, CuPy); nothing without one."""
    if build_text and build_text.startswith("{"):  # CuPy
        stated = json.loads(build_text)
        cudnn = stated.get("cudnn", {}).get("version")
        version, _, _ = stated["cuda"].partition("-")  # "12.x-aarch64": the platform has a column of its own
        return _cuda_columns(version.removesuffix(".x"), cudnn)
    constants = ast_constants(build_text or "")
    if "is_cuda_build" in constants:  # TensorFlow
        cuda = constants.get("cuda_version") or constants.get("cuda_version_number")
        cudnn = constants.get("cudnn_version") or constants.get("cudnn_version_number")
        is_cuda, is_rocm = constants["is_cuda_build"], constants.get("is_rocm_build")
    elif "git_version" in constants:  # torch
        cuda, cudnn = constants.get("cuda"), None
        is_cuda, is_rocm = cuda, constants.get("hip")
    elif "cuda_version" in constants and "full_version" in constants:  # Paddle from 2.1 on
        cuda, cudnn = constants["cuda_version"], constants.get("cudnn_version")
        is_cuda, is_rocm = cuda != "False", False
    else:
        return {}
    if not is_cuda:
        return {"build": "rocm" if is_rocm else "cpu", "cudnn": None}
    columns = _cuda_columns(str(cuda) if cuda else None, str(cudnn) if cudnn else None)
    if "is_tensorrt_build" in constants:
        columns["tensorrt_build"] = constants["is_tensorrt_build"]
    declared = constants.get("cuda_compute_capabilities")
    return columns | ({"declared": declared} if isinstance(declared, list) else {})


def _cuda_columns(cuda: str | None, cudnn: str | None) -> Row:
    columns: Row = {"build": "cuda"}
    if cuda:
        columns |= {"cuda": _plain_version(cuda, digits_of_minor=1), "cuda_from": "build file"}
    if cudnn:
        columns |= {"cudnn": _plain_version(cudnn, digits_of_minor=0), "cudnn_from": "build file"}
    return columns


def _build_of_name(wheel: WheelFile, row: Row) -> Row:
    """Return the build, where no file states it, by the distribution's name and version."""
    if "build" in row:
        return {}
    if match := CUDA_IN_NAME.fullmatch(wheel.project):
        digits = match[1]
        cuda = digits if int(digits) < 80 else f"{digits[:-1]}.{digits[-1]}"
        return {"build": "cuda", "cuda": cuda, "cuda_from": "name"}
    if wheel.project == "paddlepaddle-gpu":
        # 1.8.5.post107 is built for CUDA 10 and cuDNN 7.
        suffix = PADDLE_SUFFIX.search(wheel.version)
        named = {"cuda": suffix[1][:-1], "cudnn": suffix[1][-1]} if suffix else {}
        return {"build": "cuda", **named, **{f"{name}_from": "name" for name in named}}
    if row["delegates_to"] or wheel.project in ("paddlepaddle", "jaxlib"):
        return {"build": "cpu"}
    return {"build": None}


def _versions_of_pins(row: Row) -> Row:
    """Return, for a CUDA build that states no versions, the lowest that its requirements admit."""
    if row["build"] != "cuda":
        return {}
    found: Row = {}
    if "cuda" not in row and (runtime := lowest_admitted(row["requires_nvidia"], CUDA_RUNTIME)):
        found |= {"cuda": ".".join(runtime.split(".")[:2]), "cuda_from": "requirements"}
    if "cudnn" not in row and (cudnn := lowest_admitted(row["requires_nvidia"], CUDNN)):
        found |= {"cudnn": cudnn, "cudnn_from": "requirements"}
    return found


def _plain_version(stated: str, *, digits_of_minor: int) -> str:
    """Translate what Windows wheels state, the suffix of a DLL's name (64_112, 64_8), into 11.2 and 8."""
    digits = stated.removeprefix("64_")
    if digits == stated or not digits_of_minor:
        return digits
    return f"{digits[:-digits_of_minor]}.{digits[-digits_of_minor:]}"


def libraries_of(members: Iterable[str], record: str) -> dict[str, str | None]:
    """Return the wheel's libraries, each with the sha256 that RECORD lists for it, or None."""
    listed = dict(library_hashes(record))
    return {member: listed.get(member) for member in members if LIBRARY.fullmatch(member)}


def library_hashes(record: str) -> Iterator[tuple[str, str]]:
    """Yield (member, sha256 in hex) of the libraries; RECORD has it in unpadded URL-safe base64."""
    for line in record.splitlines():
        member, _, digest = line.rpartition(",")[0].rpartition(",")
        if LIBRARY.fullmatch(member) and digest.startswith("sha256="):
            encoded = digest.removeprefix("sha256=")
            yield member, base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)).hex()
