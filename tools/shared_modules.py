"""The table of distributions that install the same modules, read from their published wheels."""

import re
from collections.abc import Mapping

from packaging.version import Version

from tools.nvidia_libraries import contents
from tools.table_file import Row, Table
from tools.wheel_cache import WheelCache
from tools.wheel_index import WheelFile, WheelIndex, preference

_FOLDER = re.compile(r"\A[^/]+\.data/(?:purelib|platlib)/")  # of a wheel
TABLE = Table(
    summary="Distributions whose wheels hold the same files: the last installed wins, and removing one "
    "removes them for all; each with the oldest and the newest release for Linux that was read. "
    "The hash is of the wheel of `source`.",
    key=("module",),
    columns={"module": "text", "distributions": "texts", "files": "integer", "wheel_sha256": "text"},
)
# a module, and the distributions that are known by it; which of them share files is read, not stated
FAMILIES = {
    "cv2": ("opencv-python", "opencv-python-headless", "opencv-contrib-python",
            "opencv-contrib-python-headless"),
    "onnxruntime": ("onnxruntime", "onnxruntime-gpu", "onnxruntime-openvino"),
    "tensorflow": ("tensorflow", "tensorflow-gpu"),
}


def module_rows(
    index: WheelIndex, cache: WheelCache, families: Mapping[str, tuple[str, ...]] = FAMILIES
) -> list[Row]:
    """Return a row for each module that the newest wheels of two or more distributions fill alike."""
    return [row for module, names in sorted(families.items())
            if (row := _row(module, names, index, cache)) is not None]


def _row(module: str, names: tuple[str, ...], index: WheelIndex, cache: WheelCache) -> Row | None:
    read = {name: found for name in names if (found := _ends(name, module, index, cache)) is not None}
    files = [_files(module, index, cache, latest) for _, latest in read.values()]
    shared = set.intersection(*files) if len(files) > 1 else set()
    if not shared:
        return None
    newest = sorted(read)[-1]
    return {
        "module": module,
        "distributions": [f"{name}>={oldest.version},<={latest.version}"
                          for name, (oldest, latest) in sorted(read.items())],
        "files": len(shared),
        "wheel_sha256": read[newest][1].sha256,
        "source": f"pypi:{newest}=={read[newest][1].version}",
    }


def _ends(
    name: str, module: str, index: WheelIndex, cache: WheelCache
) -> tuple[WheelFile, WheelFile] | None:
    """Return the wheels of the oldest and of the newest release that have the module."""
    wheels = {Version(wheel.version): wheel for wheel in sorted(index.wheels(name), key=preference)
              if wheel.platform == "linux_x86_64" and not Version(wheel.version).is_prerelease}
    in_order = sorted(wheels)
    oldest, newest = (
        next((wheels[one] for one in listed if _files(module, index, cache, wheels[one])), None)
        for listed in (in_order, in_order[::-1])
    )
    return None if oldest is None or newest is None else (oldest, newest)


def _files(module: str, index: WheelIndex, cache: WheelCache, wheel: WheelFile) -> set[str]:
    members = [(_FOLDER.sub("", name), size) for name, size in contents(index, cache, wheel)["members"]]
    return {name for name, _ in members if name.startswith(f"{module}/") and not name.endswith("/")}
