"""Write the table of distributions that install the same modules, read from their published wheels.

`python -m tools.shared_modules` asks the index that pip is configured with.
"""

import argparse
import re
from pathlib import Path

from packaging.version import Version

from tools.framework_tables import TABLES_FOLDER
from tools.nvidia_libraries import contents
from tools.table_file import Row, Table, write_table
from tools.wheel_cache import WheelCache, default_cache_folder
from tools.wheel_index import WheelFile, WheelIndex, preference

_FOLDER = re.compile(r"\A[^/]+\.data/(?:purelib|platlib)/")  # of a wheel
TABLE = Table(
    summary="Distributions whose wheels hold the same files: the last installed wins, and removing one "
    "removes them for all; each with the oldest and the newest release for Linux that was read.",
    key=("module",),
    columns={"module": "text", "distributions": "texts", "files": "integer"},
    generated_by="tools/shared_modules.py",
)
# a module, and the distributions that are known by it; which of them share files is read, not stated
FAMILIES = {
    "cv2": ("opencv-python", "opencv-python-headless", "opencv-contrib-python",
            "opencv-contrib-python-headless"),
    "onnxruntime": ("onnxruntime", "onnxruntime-gpu", "onnxruntime-openvino"),
    "tensorflow": ("tensorflow", "tensorflow-gpu"),
}


def rows(index: WheelIndex, cache: WheelCache) -> list[Row]:
    """Return a row for each module that the newest wheels of two or more distributions fill alike."""
    return [row for module, names in sorted(FAMILIES.items())
            if (row := _row(module, names, index, cache)) is not None]


def _row(module: str, names: tuple[str, ...], index: WheelIndex, cache: WheelCache) -> Row | None:
    read = {name: found for name in names if (found := _ends(name, module, index, cache)) is not None}
    files = [newest for _, _, newest in read.values()]
    shared = set.intersection(*files) if len(files) > 1 else set()
    if not shared:
        return None
    newest = sorted(read)[-1]
    return {
        "module": module,
        "distributions": [f"{name}>={oldest},<={latest}"
                          for name, (oldest, latest, _) in sorted(read.items())],
        "files": len(shared),
        "source": f"pypi:{newest}=={read[newest][1]}",
    }


def _ends(
    name: str, module: str, index: WheelIndex, cache: WheelCache
) -> tuple[str, str, set[str]] | None:
    """Return the oldest and the newest release whose wheel has the module, and its files in the newest."""
    wheels = {Version(wheel.version): wheel for wheel in sorted(index.wheels(name), key=preference)
              if wheel.platform == "linux_x86_64" and not Version(wheel.version).is_prerelease}
    in_order = sorted(wheels)
    ends = [next((version for version in listed if _files(module, index, cache, wheels[version])), None)
            for listed in (in_order, in_order[::-1])]
    if ends[0] is None or ends[1] is None:
        return None
    return str(ends[0]), str(ends[1]), _files(module, index, cache, wheels[ends[1]])


def _files(module: str, index: WheelIndex, cache: WheelCache, wheel: WheelFile) -> set[str]:
    members = [(_FOLDER.sub("", name), size) for name, size in contents(index, cache, wheel)["members"]]
    return {name for name, _ in members if name.startswith(f"{module}/") and not name.endswith("/")}


def main() -> int:
    """Write the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--cache", type=Path, default=default_cache_folder(), help="where to keep what was read"
    )
    arguments = parser.parse_args()
    found = rows(WheelIndex(), WheelCache(arguments.cache))
    write_table(TABLES_FOLDER / "shared_modules.toml", TABLE, found)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
