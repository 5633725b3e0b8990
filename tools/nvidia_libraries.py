"""Tables of NVIDIA's library wheels: which folder each fills with which libraries, and who shares one."""

import os
import re
from collections.abc import Container, Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from pathlib import PurePosixPath
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tools.table_file import Row, Table
from tools.wheel_cache import WheelCache
from tools.wheel_index import CONNECTIONS, WheelFile, WheelIndex, preference

TABLE = Table(
    summary="Files of NVIDIA's library wheels (Linux x86_64), unchanged from `since` to `version`.",
    key=("distribution", "version"),
    columns={
        "distribution": "text",
        "version": "package_version",
        "since": "package_version",
        "cuda_major": "integer",
        "folder": "text",
        "libraries": "texts",
        "wheel_bytes": "integer",
        "wheel_sha256": "text",
    },
)
ELSEWHERE = ("linux_aarch64", "windows_x86_64", "windows_arm64")
ELSEWHERE_TABLE = Table(
    summary="Files of NVIDIA's library wheels for other platforms, unchanged from `since` to `version`.",
    key=("distribution", "platform", "version"),
    columns={"platform": "text", **TABLE.columns},
)
SHARED_TABLE = Table(
    summary="Libraries that several of NVIDIA's distributions install in one place: the last installed wins, "
    "and removing one removes them for all; each with the oldest and the newest release that does. "
    "The hash is of the wheel of `source`.",
    key=("folder", "library"),
    columns={"folder": "text", "library": "text", "distributions": "texts", "wheel_sha256": "text"},
)
SHARED_LIBRARY = re.compile(r"lib[^/]+\.so(\.\d+)*|[^/]+\.dll")


def distributions_required(rows: Iterable[Row]) -> list[str]:
    """Return the distributions of NVIDIA that the rows of other tables require."""
    texts = {text for row in rows for text in row.get("requires_nvidia", [])}
    names = {str(canonicalize_name(Requirement(text).name)) for text in texts}
    return sorted(name for name in names if name.startswith("nvidia-"))


def nvidia_rows(index: WheelIndex, cache: WheelCache, distributions: Iterable[str]) -> list[Row]:
    """Return a row for each distribution and each change of its folder or files, newest last."""
    return [
        row
        for name in distributions
        for row in _rows_of(index, cache, index.wheels(name), ("linux_x86_64", "any"))
    ]


def elsewhere_rows(index: WheelIndex, cache: WheelCache, distributions: Iterable[str]) -> list[Row]:
    """Return the same of the wheels for other platforms than Linux x86_64."""
    return [
        {"platform": platform, **row}
        for wheels in map(index.wheels, distributions)
        for platform in ELSEWHERE
        for row in _rows_of(index, cache, wheels, (platform,))
    ]


def _rows_of(
    index: WheelIndex, cache: WheelCache, listed: Iterable[WheelFile], platforms: Container[str]
) -> list[Row]:
    wheels = {
        Version(wheel.version): wheel
        for wheel in sorted(listed, key=preference)
        if wheel.platform in platforms and not Version(wheel.version).is_prerelease
    }
    versions = sorted(wheels)
    with ThreadPoolExecutor(CONNECTIONS) as pool:
        layouts = list(pool.map(lambda version: _layout(index, cache, wheels[version]), versions))
    rows = []
    for (folder, libraries), group in groupby(zip(versions, layouts, strict=True), key=lambda pair: pair[1]):
        span = [version for version, _ in group]
        distribution = wheels[span[-1]].project
        rows.append(
            {
                "distribution": distribution,
                "version": wheels[span[-1]].version,
                "since": wheels[span[0]].version,
                "cuda_major": _cuda_major(distribution, folder),
                "folder": folder or None,
                "libraries": list(libraries),
                "wheel_bytes": contents(index, cache, wheels[span[-1]])["bytes"],
                "wheel_sha256": wheels[span[-1]].sha256,
                "source": f"pypi:{distribution}=={wheels[span[-1]].version}",
            }
        )
    return rows


def shared_rows(rows: Iterable[Row]) -> list[Row]:
    """Return the libraries that some releases of two or more distributions put in the same place.

    Each distribution is named with the oldest and the newest release that does, written as a requirement.
    """
    owners: dict[tuple[str, str], dict[str, list[Row]]] = {}
    for row in rows:
        for library in row["libraries"] if "folder" in row else ():
            place = owners.setdefault((row["folder"], library), {})
            place.setdefault(row["distribution"], []).append(row)
    return [
        {
            "folder": folder,
            "library": library,
            "distributions": [_span(name, spans) for name, spans in sorted(named.items())],
            "wheel_sha256": named[max(named)][-1]["wheel_sha256"],
            "source": named[max(named)][-1]["source"],
        }
        for (folder, library), named in sorted(owners.items())
        if len(named) > 1
    ]


def _span(distribution: str, rows: list[Row]) -> str:
    oldest = min((row["since"] for row in rows), key=Version)
    newest = max((row["version"] for row in rows), key=Version)
    return f"{distribution}=={newest}" if oldest == newest else f"{distribution}>={oldest},<={newest}"


def contents(index: WheelIndex, cache: WheelCache, wheel: WheelFile) -> Any:
    """Return a wheel's size (`bytes`) and its `members` with theirs."""

    def ask() -> Any:
        with index.open(wheel) as archive:
            assert archive.fp is not None  # it has just been opened
            members = [[entry.filename, entry.file_size] for entry in archive.infolist()]
            return {"bytes": archive.fp.seek(0, os.SEEK_END), "members": members}

    return cache.get("members-2", wheel.sha256, ask)


def _layout(index: WheelIndex, cache: WheelCache, wheel: WheelFile) -> tuple[str, tuple[str, ...]]:
    """Return the folder with most bytes of libraries and the names in it; stubs do not count."""
    folders: dict[str, dict[str, int]] = {}
    for filename, size in contents(index, cache, wheel)["members"]:
        path = PurePosixPath(filename)
        if SHARED_LIBRARY.fullmatch(path.name) and "stubs" not in path.parts:
            folders.setdefault(str(path.parent), {})[path.name] = size
    if not folders:
        return "", ()
    folder = max(sorted(folders), key=lambda name: sum(folders[name].values()))
    return folder, tuple(sorted(folders[folder]))


def _cuda_major(distribution: str, folder: str) -> int | None:
    match = re.search(r"-cu(\d+)$", distribution) or re.match(r"nvidia/cu(\d+)(/|$)", folder)
    return int(match[1]) if match else None
