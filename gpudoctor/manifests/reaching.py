"""What of the driver reaches a container: less by its capabilities, another libcuda by a search path."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from gpudoctor import versions
from gpudoctor.candidates.ground import Ground
from gpudoctor.manifests.images import Base
from gpudoctor.manifests.starting import is_consumers
from gpudoctor.manifests.statements import Environment, Setting
from gpudoctor.model import Absent, Fact, Known, Tables, Unknown, row_of

SEARCHED = "LD_LIBRARY_PATH"
CAPABILITIES = "NVIDIA_DRIVER_CAPABILITIES"
# what the container runtime mounts for a capability; without it nothing of this is there
_MOUNTED = {
    "compute": ("cuda.library", "cuda.library_version", "cuda.init_code", "cuda.ceiling", "cuda.device_count",
                "driver.libcuda_files", "driver.libcuda_file_version"),
    "utility": ("nvml.library", "nvml.init_code", "nvml.driver_version", "nvml.gpu_count",
                "driver.libnvidia_ml_files", "driver.libnvidia_ml_file_version")}
# where the runtime lays the driver's libraries: what is searched behind them is not found first
_OF_DRIVER = frozenset({
    "/usr/lib/x86_64-linux-gnu", "/lib/x86_64-linux-gnu", "/usr/lib64", "/lib64", "/usr/local/nvidia/lib64"})
_LIBCUDA = "libcuda.so.1"
_MISMATCH, _UNSUPPORTED, _STUB = 803, 804, 34
_NAMES = {_MISMATCH: "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", _STUB: "CUDA_ERROR_STUB_LIBRARY",
          _UNSUPPORTED: "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE"}


def obstacles(environment: Environment, base: Base | None, ground: Ground) -> Iterator[dict[str, Fact]]:
    """Yield the facts of each thing that keeps a container from the driver's own libraries."""
    if not environment.in_container:
        return
    gone = _withheld(environment)
    if gone:
        yield gone
    shadowed = _shadowed(environment, base, ground)
    if shadowed:
        yield shadowed


def _withheld(environment: Environment) -> dict[str, Fact]:
    """Return what is not there where the container gets the GPU without a capability that it needs."""
    setting = environment.settings.get(CAPABILITIES)
    if setting is None or setting.value is None:
        return {}
    given = {part.strip() for part in setting.value.split(",")}
    source = str(setting.place)
    gone: dict[str, Fact] = {name: Absent(source=source) for capability, mounted in _MOUNTED.items()
                             if not given & {capability, "all"} for name in mounted}
    return {"container.runtime": Known(value="docker", source=source), **gone} if gone else {}


def _shadowed(environment: Environment, base: Base | None, ground: Ground) -> dict[str, Fact]:
    """Return what a libcuda of the image answers that is searched before the driver's own."""
    setting = environment.settings.get(SEARCHED)
    first = first_libcuda(environment, base)
    if setting is None or first is None or ground.driver is None:
        return {}
    folder, branch = first, compat_branch(base, ground.database.tables)
    if f"{folder}/{_LIBCUDA}" in environment.stubs:
        return _answered(setting, folder, _STUB, None)
    if branch is None:
        return {}
    own = versions.parse(ground.driver).major
    if own > branch:
        return _answered(setting, folder, _MISMATCH, branch)
    if own < branch and _is_refused(ground):
        return _answered(setting, folder, _UNSUPPORTED, branch)
    return {}


def _answered(setting: Setting, folder: str, code: int, branch: int | None) -> dict[str, Fact]:
    source = str(setting.place)
    path = f"{folder}/{_LIBCUDA}"
    file = {"path": path, "soname": _LIBCUDA, "machine": "", "error": "", "version": ""}
    folders = tuple(one for one in setting.stated.split(":") if one)
    facts: dict[str, Fact] = {
        "container.runtime": Known(value="docker", source=source),
        "loader.library_path": Known(value=folders, source=source),
        "loader.files": Known(value=(file,), source=source),
        "cuda.library": Known(value=path, source=source), "cuda.init_code": Known(value=code, source=source),
        "cuda.init_name": Known(value=_NAMES[code], source=source),
        "cuda.device_count": Unknown(reason="libcuda does not start", asked=False)}
    if branch is not None:
        facts["cuda.library_version"] = Known(value=str(branch), source=source)
        facts["container.compat_folders"] = Known(value=(folder,), source=source)
    return facts


def first_libcuda(environment: Environment, base: Base | None) -> str | None:
    """Return the folder with a libcuda of the image that LD_LIBRARY_PATH has before the driver."""
    setting = environment.settings.get(SEARCHED)
    compat = base.compat_folders if base is not None else ()
    for folder in setting.stated.split(":") if setting is not None else ():
        plain = posixpath.normpath(folder) if folder else ""
        if plain in _OF_DRIVER:
            return None
        if plain in compat or f"{plain}/{_LIBCUDA}" in environment.stubs:
            return plain
    return None


def compat_branch(base: Base | None, tables: Tables) -> int | None:
    """Return the driver branch that the libcuda of an image's compatibility package is of."""
    row = row_of(tables, "cuda_toolkits", cuda=base.compat) if base is not None and base.compat else None
    return versions.parse(str(row["minimum_driver"])).major if row is not None else None


def _is_refused(ground: Ground) -> bool:
    """Return whether every card is known to be one that forward compatibility does not serve."""
    cards = () if isinstance(ground.snapshot.gpus, Unknown) else ground.snapshot.gpus
    return bool(cards) and all(isinstance(name := card.get("gpu.name"), Known)
                               and is_consumers(str(name.value), ground) for card in cards)
