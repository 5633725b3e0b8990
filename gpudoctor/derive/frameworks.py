"""Facts of a framework computed from others: the driver it needs, the packages it asks for, its libraries."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from packaging.requirements import InvalidRequirement, Requirement

from gpudoctor import versions
from gpudoctor.derive import commands
from gpudoctor.derive import libraries as trace
from gpudoctor.derive.releases import Row, cuda_version, own_row
from gpudoctor.derive.view import View, as_records, as_texts, text_in
from gpudoctor.model import Absent, Fact, Known, Unknown

def has_gpu_build(view: View) -> Fact:
    """Return whether the build on disk can use an NVIDIA GPU."""
    return Known(value=view.need_text("framework.build") == "cuda", source="build information on disk")


def _compatibility_row(view: View) -> Row | None:
    cuda = cuda_version(view)
    major = str(versions.parse(cuda).major)
    rows = view.table("minor_version_compatibility").rows
    return next((row for row in rows if row["cuda_major"] == major), None)


def cuda_floor(view: View) -> Fact:
    """Return the oldest driver ceiling that runs this build's machine code."""
    if view.need("framework.has_gpu_build") is False:
        return Absent(source="this build uses no NVIDIA GPU")
    cuda = cuda_version(view)
    row = _compatibility_row(view)
    if row is None:
        return Unknown(reason=f"the rule database says nothing about CUDA {cuda}")
    if "floor_cuda" not in row:
        return Known(value=cuda, source=f"{row['source']}: no minor-version compatibility before CUDA 11")
    return Known(value=row["floor_cuda"], source=str(row["source"]))


def minimum_driver(view: View) -> Fact:
    """Return the oldest driver for that floor on Linux."""
    floor = view.need_text("framework.cuda_floor")
    row = _compatibility_row(view)
    if row is not None and "minimum_driver" in row:
        return Known(value=row["minimum_driver"], source=str(row["source"]))
    for row in view.table("cuda_toolkits").rows:
        if versions.parse(str(row["cuda"])) == versions.parse(floor):
            return Known(value=row["minimum_driver"], source=str(row["source"]))
    return Unknown(reason=f"the rule database has no driver for CUDA {floor}")


def _names(requirements: tuple[str, ...]) -> tuple[str, ...]:
    names: dict[str, None] = {}
    for text in requirements:
        try:
            names[Requirement(text).name.lower()] = None
        except InvalidRequirement:
            continue
    return tuple(names)


def _installed(view: View) -> frozenset[str]:
    present = {text_in(r, "name").lower() for r in as_records(view.need("python.nvidia_distributions"))}
    return frozenset(present | set(view.texts("python.planned_distributions")))


def requires_missing(view: View) -> Fact:
    """Return the nvidia-* distributions that the framework always requires and that are not installed."""
    wanted = _names(as_texts(view.need("framework.requires_nvidia")))
    here = _installed(view)
    return Known(value=tuple(name for name in wanted if name not in here), source="installed distributions")


def cuda_distributions(view: View) -> Fact:
    """Return the nvidia-* distributions that the CUDA extra (or the framework itself) would bring."""
    wanted = view.texts("framework.extra_requires_nvidia") or view.texts("framework.requires_nvidia")
    if not wanted:
        wanted = as_texts((own_row(view) or {}).get("requires_nvidia"))
    if not wanted:
        return Absent(source="this release has no extra with CUDA libraries")
    return Known(value=_names(wanted), source="requirements of the release")


def python_versions(view: View) -> Fact:
    """Return the Python versions that this release has wheels for on this platform."""
    row = own_row(view)
    if row is None or "python" not in row:
        return Unknown(reason="the rule database does not know this release")
    return Known(value=row["python"], source=str(row["source"]))


FRAMEWORK_DERIVATIONS: Mapping[str, Callable[[View], Fact]] = {
    "framework.has_gpu_build": has_gpu_build,
    "framework.cuda_floor": cuda_floor,
    "framework.minimum_driver": minimum_driver,
    "framework.driver_command": commands.framework_driver_command,
    "framework.libraries": trace.libraries,
    "framework.libraries_missing": trace.libraries_missing,
    "framework.libraries_off_path": trace.libraries_off_path,
    "framework.libraries_off_path_folders": trace.libraries_off_path_folders,
    "framework.libraries_broken": trace.libraries_broken,
    "framework.libraries_shadowed": trace.libraries_shadowed,
    "framework.library_path_needed": trace.library_path_needed,
    "framework.library_path_clean": trace.library_path_clean,
    "framework.cudnn_found": trace.cudnn_found,
    "framework.requires_missing": requires_missing,
    "framework.cuda_distributions": cuda_distributions,
    "framework.python_versions": python_versions,
}
