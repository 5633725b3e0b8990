"""Columns that a wheel states about itself: tags, build file, requirements and the hashes in its RECORD."""

import ast
import base64
import re
from collections.abc import Iterable, Iterator
from email.parser import HeaderParser
from typing import Any

from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tools.table_file import Row
from tools.wheel_cache import WheelCache
from tools.wheel_index import WheelFile, WheelIndex, dist_info_member, read_text

BUILD_FILE = re.compile(r"tensorflow(_core)?/python/platform/build_info\.py|torch/version\.py")
LIBRARY = re.compile(r".*\.(so(\.\d+)*|pyd|dll)")
NVIDIA_PREFIXES = ("nvidia-", "cuda-", "tensorrt")
BOUNDS = ("numpy", "protobuf", "keras")
# A wheel of 2 kB that only requires another distribution of the same version, which holds the build.
DELEGATES = ("tensorflow-intel", "tensorflow-cpu-aws", "tensorflow-macos")
LEGACY_GLIBC_FLOORS = {"manylinux1": "2.5", "manylinux2010": "2.12", "manylinux2014": "2.17"}


def wheel_contents(index: WheelIndex, cache: WheelCache, wheel: WheelFile) -> dict[str, Any]:
    """Return `build` (the build file's text, or None) and `libraries` (member -> sha256 of RECORD in hex)."""

    def ask() -> dict[str, Any]:
        with index.open(wheel) as archive:
            build = next((name for name in archive.namelist() if BUILD_FILE.fullmatch(name)), None)
            record = read_text(archive, dist_info_member(archive, "RECORD"))
            return {
                "build": read_text(archive, build) if build else None,
                "libraries": dict(sorted(library_hashes(record))),
            }

    contents: dict[str, Any] = cache.get("contents", wheel.sha256, ask)
    return contents


def wheel_requirements(index: WheelIndex, cache: WheelCache, wheel: WheelFile) -> list[Requirement]:
    """Return a wheel's Requires-Dist lines."""
    text = cache.get("metadata", wheel.sha256, lambda: index.metadata_text(wheel))
    lines = HeaderParser().parsestr(text).get_all("Requires-Dist") or []
    return [Requirement(line) for line in lines]


def stated_columns(
    index: WheelIndex, cache: WheelCache, wheel: WheelFile, wheels: Iterable[WheelFile]
) -> Row:
    """Return the columns of one row (all wheels of a version and platform), read from one of its wheels."""
    wheels = list(wheels)
    build_text = wheel_contents(index, cache, wheel)["build"]
    applying = list(_applying(wheel_requirements(index, cache, wheel), wheel, extra="and-cuda"))
    required = _expand_toolkit(index, cache, wheel, [r for r in applying if _is_nvidia(r)])
    delegate = next((r for r in applying if canonicalize_name(r.name) in DELEGATES), None)
    row: Row = {
        "version": wheel.version,
        "platform": wheel.platform,
        "python": python_versions(wheels),
        "glibc": glibc_floor(wheel.platform_tags),
        **build_columns(build_text),
        "uploaded": min(file.uploaded for file in wheels),
        "requires_nvidia": sorted({_bare(requirement) for requirement in required}),
        "requires": sorted({_bare(r) for r in applying if canonicalize_name(r.name) in BOUNDS}),
        "delegates_to": _bare(delegate) if delegate else None,
        "wheel_sha256": wheel.sha256,
        "measured_from": wheel.filename,
        "source": f"pypi:{wheel.project}=={wheel.version}",
    }
    row.setdefault("build", "cpu" if delegate else None)
    if row["build"] == "cuda":
        row.setdefault("cudnn", _pinned_cudnn(required))
    return row


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
                    if isinstance(key, ast.Constant) and isinstance(item, ast.Constant):
                        found[str(key.value)] = item.value
            case ast.Tuple(elts=[ast.Constant(value=str(key)), ast.Constant(value=value)]):
                found[key] = value
    return found


def build_columns(build_text: str | None) -> Row:
    """Return what TensorFlow's build_info.py or torch's version.py says; nothing for a wheel without one."""
    constants = ast_constants(build_text or "")
    if "is_cuda_build" in constants:  # TensorFlow
        cuda = constants.get("cuda_version") or constants.get("cuda_version_number")
        cudnn = constants.get("cudnn_version") or constants.get("cudnn_version_number")
        is_cuda, is_rocm = constants["is_cuda_build"], constants.get("is_rocm_build")
    elif "git_version" in constants:  # torch
        cuda, cudnn = constants.get("cuda"), None
        is_cuda, is_rocm = cuda, constants.get("hip")
    else:
        return {}
    if not is_cuda:
        return {"build": "rocm" if is_rocm else "cpu", "cudnn": None}
    columns: Row = {"build": "cuda", "tensorrt_build": constants.get("is_tensorrt_build")}
    if cuda:
        columns["cuda"] = _plain_version(str(cuda), digits_of_minor=1)
    if cudnn:
        columns["cudnn"] = _plain_version(str(cudnn), digits_of_minor=0)
    return columns


def _plain_version(stated: str, *, digits_of_minor: int) -> str:
    """Translate what Windows wheels state, the suffix of a DLL's name (64_112, 64_8), into 11.2 and 8."""
    digits = stated.removeprefix("64_")
    if digits == stated or not digits_of_minor:
        return digits
    return f"{digits[:-digits_of_minor]}.{digits[-digits_of_minor:]}"


def library_hashes(record: str) -> Iterator[tuple[str, str]]:
    """Yield (member, sha256 in hex) of the libraries; RECORD has it in unpadded URL-safe base64."""
    for line in record.splitlines():
        member, _, digest = line.rpartition(",")[0].rpartition(",")
        if LIBRARY.fullmatch(member) and digest.startswith("sha256="):
            encoded = digest.removeprefix("sha256=")
            yield member, base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)).hex()


def _applying(requirements: Iterable[Requirement], wheel: WheelFile, *, extra: str) -> Iterator[Requirement]:
    """Yield what is installed with the wheel on its own platform, with that extra."""
    system, _, machine = wheel.platform.partition("_")
    python = python_versions([wheel])
    environment = {key: str(value) for key, value in default_environment().items()} | {
        "extra": extra,
        "platform_machine": "AMD64" if system == "windows" and machine == "x86_64" else machine,
        "platform_system": {"linux": "Linux", "windows": "Windows", "macos": "Darwin"}.get(system, system),
        "sys_platform": {"windows": "win32", "macos": "darwin"}.get(system, system),
        "os_name": "nt" if system == "windows" else "posix",
    }
    if python:
        environment |= {"python_version": python[-1], "python_full_version": f"{python[-1]}.0"}
    for requirement in requirements:
        if requirement.marker is None or requirement.marker.evaluate(environment):
            yield requirement


def _expand_toolkit(
    index: WheelIndex, cache: WheelCache, wheel: WheelFile, requirements: list[Requirement]
) -> list[Requirement]:
    """Replace the meta package cuda-toolkit[...] by what its extras require."""
    expanded = []
    for requirement in requirements:
        if canonicalize_name(requirement.name) != "cuda-toolkit":
            expanded.append(requirement)
            continue
        toolkits = [file for file in index.wheels("cuda-toolkit") if file.version in requirement.specifier]
        newest = max(toolkits, key=lambda file: Version(file.version))
        inner = wheel_requirements(index, cache, newest)
        for extra in sorted(requirement.extras):
            expanded += _expand_toolkit(index, cache, wheel, list(_applying(inner, wheel, extra=extra)))
    return expanded


def _is_nvidia(requirement: Requirement) -> bool:
    return canonicalize_name(requirement.name).startswith(NVIDIA_PREFIXES)


def _bare(requirement: Requirement) -> str:
    """Write a requirement without its marker."""
    extras = f"[{','.join(sorted(requirement.extras))}]" if requirement.extras else ""
    return f"{canonicalize_name(requirement.name)}{extras}{requirement.specifier}"


def _pinned_cudnn(requirements: Iterable[Requirement]) -> str | None:
    for requirement in requirements:
        if canonicalize_name(requirement.name).startswith("nvidia-cudnn"):
            for specifier in requirement.specifier:
                if specifier.operator == "==":
                    return specifier.version
    return None
