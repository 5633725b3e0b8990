"""Read what a framework was built for out of the constants of its own build file."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from gpudoctor.frozen import frozen
from gpudoctor.model import Absent, Fact, Known, Unknown
from gpudoctor.probes.calls import mapping
from gpudoctor.probes.python import text, version_fact

_WINDOWS_CUDA = re.compile(r"64_([0-9]+)([0-9])")  # what Windows wheels state: the suffix of a DLL's name
_JAX_CUDA = re.compile(r"jax-cuda([0-9]+)-(?:plugin|pjrt)")
_CONDA_CUDA = re.compile(r"cuda(?:_?([0-9]{2})([0-9]))?(?![0-9])")  # conda: cuda112py39h..., cuda120py311...


@frozen
class Build:
    """What the files say of a build: cuda, cpu, rocm or xpu; its CUDA and cuDNN; the version they state."""

    kind: Fact
    cuda: Fact
    cudnn: Fact
    version: Fact


def read(
    framework: str, answer: Mapping[str, Any], plugins: Mapping[str, str], conda: Sequence[str] = ()
) -> Build:
    """Return what `framework` was built for.

    For JAX its `plugins` (name -> version, also jaxlib) decide, and the names of `conda`'s packages.
    """
    path = text(answer.get("path")) or "its build file"
    values = answer.get("values")
    if framework == "jax":
        return _jax(mapping(values), path, plugins, conda)
    if not isinstance(values, Mapping):
        said = "missing" if answer.get("missing") else text(answer.get("error")) or "not read"
        unknown = Unknown(reason=f"{path}: {said}")
        return Build(kind=unknown, cuda=unknown, cudnn=unknown, version=unknown)
    reader = {"tensorflow": _tensorflow, "torch": _torch, "paddle": _paddle}.get(framework)
    if reader is None:
        unknown = Unknown(reason=f"nobody knows how {framework} states its build")
        return Build(kind=unknown, cuda=unknown, cudnn=unknown, version=unknown)
    build = reader(values, path)
    if isinstance(build.kind, Known) and build.kind.value != "cuda":
        return replace(build, cuda=Absent(source=path), cudnn=Absent(source=path))
    return build


def cudnn(build: Build, requires: Sequence[str]) -> Fact:
    """Return the cuDNN of a build: its own word, else the version that its metadata pins (torch)."""
    if isinstance(build.kind, Known) and build.kind.value == "cuda" and isinstance(build.cudnn, Absent):
        for requirement in requires:
            pinned = _pinned(requirement)
            if pinned is not None:
                return Known(value=pinned, source=f"the requirement {requirement}")
    return build.cudnn


def _pinned(requirement: str) -> str | None:
    from packaging.requirements import InvalidRequirement, Requirement  # slow; needed for frameworks alone

    try:
        parsed = Requirement(requirement)
    except InvalidRequirement:
        return None
    pins = [part.version for part in parsed.specifier if part.operator == "==" and "*" not in part.version]
    return pins[0] if parsed.name.startswith("nvidia-cudnn") and pins else None


def _tensorflow(values: Mapping[str, Any], path: str) -> Build:
    is_cuda, is_rocm = values.get("is_cuda_build"), values.get("is_rocm_build")
    kind: Fact = Unknown(reason=f"{path} does not say is_cuda_build")
    if isinstance(is_cuda, bool):
        kind = Known(value="cuda" if is_cuda else "rocm" if is_rocm is True else "cpu", source=path)
    cuda = text(values.get("cuda_version")) or text(values.get("cuda_version_number")) or ""
    suffix = _WINDOWS_CUDA.fullmatch(cuda)
    cudnn_version = text(values.get("cudnn_version")) or text(values.get("cudnn_version_number")) or ""
    return Build(
        kind=kind,
        cuda=version_fact(f"{suffix[1]}.{suffix[2]}" if suffix else cuda, path),
        cudnn=version_fact(cudnn_version.removeprefix("64_"), path),
        version=Unknown(reason=f"{path} states no version"),
    )


def _torch(values: Mapping[str, Any], path: str) -> Build:
    kinds = {"cuda": "cuda", "hip": "rocm", "rocm": "rocm", "xpu": "xpu"}
    kind: Fact = Unknown(reason=f"{path} does not say which CUDA it was built for")
    if "cuda" in values:
        kind = Known(value=next((kinds[key] for key in kinds if text(values.get(key))), "cpu"), source=path)
    return Build(
        kind=kind,
        cuda=version_fact(values.get("cuda"), path),
        cudnn=Absent(source=path),
        version=version_fact(values.get("__version__"), path),
    )


def _paddle(values: Mapping[str, Any], path: str) -> Build:
    """Read Paddle's constants, which say 'False' where there is none."""
    stated = {
        key: None if values.get(key) in ("False", "None", "0") else values.get(key)
        for key in ("cuda_version", "cudnn_version", "full_version")
    }
    kind: Fact = Unknown(reason=f"{path} does not say cuda_version")
    if "cuda_version" in values:
        kind = Known(value="cuda" if text(stated["cuda_version"]) else "cpu", source=path)
    return Build(
        kind=kind,
        cuda=version_fact(stated["cuda_version"], path),
        cudnn=version_fact(stated["cudnn_version"], path),
        version=version_fact(stated["full_version"], path),
    )


def _jax(values: Mapping[str, Any], path: str, plugins: Mapping[str, str], conda: Sequence[str]) -> Build:
    """Decide by the plugins: only a plugin's name says its CUDA, and that only to the major version."""
    version = version_fact(values.get("_version"), path)
    absent = Absent(source="the installed JAX plugins")
    for plugin in sorted(plugins, reverse=True):
        match = _JAX_CUDA.fullmatch(plugin)
        if match is not None:
            kind = Known(value="cuda", source=f"the distribution {plugin}")
            cuda = Known(value=match[1], source=f"the name of {plugin}")
            return Build(kind=kind, cuda=cuda, cudnn=absent, version=version)
    jaxlib = plugins.get("jaxlib", "")
    if "+cuda" in jaxlib:  # before there were plugins
        kind = Known(value="cuda", source=f"jaxlib {jaxlib}")
        return Build(kind=kind, cuda=absent, cudnn=absent, version=version)
    packaged = next((name for name in conda if name.startswith("jaxlib-")), None)
    if packaged is not None:
        return _conda_jaxlib(packaged, version)
    is_rocm = any(plugin.startswith("jax-rocm") for plugin in plugins)
    kind = Known(value="rocm" if is_rocm else "cpu", source="the installed JAX plugins")
    return Build(kind=kind, cuda=absent, cudnn=absent, version=version)


def _conda_jaxlib(package: str, version: Fact) -> Build:
    """Decide by the build string of conda's jaxlib, which has CUDA inside and needs no plugin."""
    source = f"conda-meta/{package}.json"
    built = package.split("-", 2)[2] if package.count("-") >= 2 else ""
    absent = Absent(source=source)
    match = _CONDA_CUDA.search(built)
    if match is not None:
        cuda: Fact = Known(value=f"{match[1]}.{match[2]}", source=source) if match[1] else absent
        return Build(kind=Known(value="cuda", source=source), cuda=cuda, cudnn=absent, version=version)
    if built.startswith("cpu"):
        return Build(kind=Known(value="cpu", source=source), cuda=absent, cudnn=absent, version=version)
    unknown = Unknown(reason=f"{source} does not say for which devices it was built", asked=False)
    return Build(kind=unknown, cuda=unknown, cudnn=unknown, version=version)
