"""The table of the device code in NVIDIA's own libraries: for which cards each release has machine code."""

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import PurePosixPath
from typing import Any

from packaging.version import Version

from tools.table_file import Row, Table
from tools.wheel_cache import WheelCache
from tools.wheel_code import observe
from tools.wheel_facts import wheel_contents
from tools.wheel_index import WheelFile, WheelIndex, preference

DISTRIBUTIONS = (
    "nvidia-cudnn-cu13",
    "nvidia-cudnn-cu12",
    "nvidia-cudnn-cu11",
    "nvidia-cublas",
    "nvidia-cublas-cu12",
    "nvidia-cublas-cu11",
    "nvidia-cusolver",
    "nvidia-cusolver-cu12",
    "nvidia-cusolver-cu11",
    "nvidia-nccl-cu13",
    "nvidia-nccl-cu12",
    "nvidia-nccl-cu11",
)
TABLE = Table(
    summary="Device code in NVIDIA's library wheels (Linux x86_64), from the fat binaries of one library: "
    "cards with machine code (SASS) and with PTX (with its ISA version).",
    key=("distribution", "version"),
    columns={
        "distribution": "text",
        "version": "package_version",
        "library": "text",
        "library_sha256": "text",
        "wheel_sha256": "text",
        "sass": "compute_capabilities",
        "ptx": "texts",
        "fat_binaries": "integer",
        "uploaded": "text",
    },
)
# One of each distribution tells which cards it serves; the others of cuDNN are held back by it.
LIBRARY = re.compile(r"lib(cudnn_ops(_infer)?|cublas|cusolver|nccl)\.so\.\d+")
OBSERVED = "observed-nvidia-1"
# One library is unpacked while the next ones are fetched.
AT_A_TIME = 3


def published(index: WheelIndex, distribution: str) -> list[WheelFile]:
    """Return the wheels of a distribution, the newest last, of one release the one that pip takes last."""
    wheels = [wheel for wheel in index.wheels(distribution) if wheel.platform == "linux_x86_64"]
    return sorted(wheels, key=lambda wheel: (Version(wheel.version), preference(wheel)))


def newest_patches(wheels: list[WheelFile]) -> list[WheelFile]:
    """Return the wheel of the newest patch of each minor release, newest release first."""
    newest: dict[tuple[int, ...], WheelFile] = {}
    for wheel in wheels:
        if not Version(wheel.version).is_prerelease and not wheel.yanked:
            newest[Version(wheel.version).release[:2]] = wheel
    return list(reversed(newest.values()))


def code_rows(
    index: WheelIndex, cache: WheelCache, known: list[Row], *, measure: bool
) -> Iterator[list[Row]]:
    """Yield the table's rows after each release that is looked into; those already known are not again."""
    listed = {name: published(index, name) for name in DISTRIBUTIONS}
    rows = {
        (row["distribution"], row["version"]): _with_wheel(index, cache, row, listed[row["distribution"]])
        for row in known
    }
    wheels = [wheel for name in DISTRIBUTIONS for wheel in newest_patches(listed[name])]
    order = {(wheel.project, wheel.version): place for place, wheel in enumerate(wheels)}
    pending = [wheel for wheel in wheels if measure and (wheel.project, wheel.version) not in rows]
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        found = pool.map(lambda wheel: _row(index, cache, wheel), pending)
        for wheel, row in zip(pending, found, strict=True):
            rows[wheel.project, wheel.version] = row
            yield _in_order(rows, order)
    yield _in_order(rows, order)


def _with_wheel(index: WheelIndex, cache: WheelCache, row: Row, wheels: list[WheelFile]) -> Row:
    """Return a row with the hash of the wheel that lists its library; without it where none does any more."""
    if "wheel_sha256" in row:
        return row
    own = (wheel for wheel in reversed(wheels) if wheel.version == row["version"])
    listing = (
        wheel.sha256
        for wheel in own
        if row["library_sha256"] in wheel_contents(index, cache, wheel)["libraries"].values()
    )
    return {**row, "wheel_sha256": next(listing, None)}


def _in_order(rows: dict[tuple[str, str], Row], order: dict[tuple[str, str], int]) -> list[Row]:
    """Put the rows in order; a release measured before a newer patch came out stays, after the others."""
    return [rows[key] for key in sorted(rows, key=lambda key: (order.get(key, len(order)), key))]


def _row(index: WheelIndex, cache: WheelCache, wheel: WheelFile) -> Row:
    libraries = wheel_contents(index, cache, wheel)["libraries"]
    (member,) = [name for name in libraries if LIBRARY.fullmatch(PurePosixPath(name).name)]
    wanted = {member: libraries[member]}
    observed: Any = cache.get(OBSERVED, wheel.sha256, lambda: observe(index, wheel, wanted, tensorrt=False))
    scan = observed["scans"][member]
    if scan["error"] or scan["unreadable"]:
        raise ValueError(f"{wheel.filename}: {member}: {scan['error'] or 'unreadable fat binaries'}")
    return {
        "distribution": wheel.project,
        "version": wheel.version,
        "library": PurePosixPath(member).name,
        "library_sha256": observed["sha256"][member],
        "wheel_sha256": wheel.sha256,
        "sass": _all_of(scan["code"], "sass"),
        "ptx": _all_of(scan["code"], "ptx"),
        "fat_binaries": scan["fat_binaries"],
        "uploaded": wheel.uploaded,
        "source": f"pypi:{wheel.project}=={wheel.version}",
    }


def _all_of(code: list[dict[str, Any]], kind: str) -> list[str]:
    """Return what any of the fat binaries has: "9.0" before "9.0a" before "10.0"."""
    found = {text for record in code for text in record[kind]}
    return sorted(found, key=lambda text: ([int(number) for number in re.findall(r"\d+", text)[:2]], text))
