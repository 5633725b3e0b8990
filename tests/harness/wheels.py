"""Published wheels, cut down to what a doctor reads without importing: metadata and a few small files.

A cut-down wheel is fetched once by Range requests, a few hundred KB even for torch, and kept in the cache
folder.
"""

from __future__ import annotations

import csv
import functools
import io
import json
import os
import re
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from packaging.specifiers import SpecifierSet
from packaging.tags import Tag, compatible_tags, cpython_tags
from packaging.utils import canonicalize_name, parse_wheel_filename
from packaging.version import Version

from tests.shim.build import cache_folder
from tools.wheel_index import WheelFile, WheelIndex

METADATA_FILES = ("METADATA", "RECORD", "WHEEL", "entry_points.txt", "top_level.txt")
# Files beside the metadata that name versions, builds or architectures.
SMALL_FILES = re.compile(
    r"(.*/)?(build_info|_build_info|version|_version|versions|_info)\.py"
    r"|[^/]+/version/__init__\.py"
    r"|cupy/\.data/_wheel\.json"
)
SMALL_FILE_BYTES = 100_000
SMALL_FILE_DEPTH = 4


@dataclass(frozen=True, kw_only=True)
class CutWheel:
    """A cut-down wheel on this machine."""

    project: str
    version: str
    path: Path

    def files(self) -> dict[str, bytes]:
        """Return the files that were kept, by their path in the wheel."""
        with zipfile.ZipFile(self.path) as archive:
            return {name: archive.read(name) for name in archive.namelist()}

    def sizes(self) -> dict[str, int]:
        """Return every file of the whole wheel with its size in bytes, as RECORD lists them."""
        record = next(data for name, data in self.files().items() if name.endswith(".dist-info/RECORD"))
        rows = csv.reader(io.StringIO(record.decode()))
        return {row[0]: int(row[2]) for row in rows if len(row) == 3 and row[2]}

    def metadata(self) -> str:
        """Return METADATA."""
        return next(data for name, data in self.files().items() if name.endswith("/METADATA")).decode()


def supported_tags(python: tuple[int, int]) -> list[Tag]:
    """List what a CPython of this version installs on Linux here, best first."""
    interpreter = f"cp{python[0]}{python[1]}"
    return [*cpython_tags(python_version=python), *compatible_tags(python, interpreter)]


@functools.cache
def _index() -> WheelIndex:
    return WheelIndex()


@functools.cache
def _wheels(project: str) -> tuple[WheelFile, ...]:
    return tuple(_index().wheels(project))


def choose(wheels: Iterable[WheelFile], specifier: SpecifierSet, python: tuple[int, int]) -> WheelFile:
    """Return the wheel that pip would install: the newest version that fits, and of it the best tag."""
    rank = {tag: number for number, tag in reversed(list(enumerate(supported_tags(python))))}
    best: tuple[Version, int, WheelFile] | None = None
    for wheel in wheels:
        version = Version(wheel.version)
        ranks = [rank[tag] for tag in parse_wheel_filename(wheel.filename)[3] if tag in rank]
        if not ranks or not specifier.contains(version):
            continue
        if best is None or (version, -min(ranks)) > (best[0], -best[1]):
            best = (version, min(ranks), wheel)
    if best is None:
        raise LookupError(f"no wheel fits {specifier} on Python {python[0]}.{python[1]}")
    return best[2]


def _is_wanted(member: zipfile.ZipInfo) -> bool:
    folder, _, name = member.filename.rpartition("/")
    if folder.endswith(".dist-info") and "/" not in folder:
        return name in METADATA_FILES
    small = member.file_size < SMALL_FILE_BYTES and member.filename.count("/") <= SMALL_FILE_DEPTH
    return small and SMALL_FILES.fullmatch(member.filename) is not None


def _cut(wheel: WheelFile, target: Path) -> None:
    """Fetch the wanted members of a wheel into a small archive."""
    part = target.with_suffix(f".{os.getpid()}.part")  # another worker may be fetching the same
    with _index().open(wheel) as remote, zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as local:
        for member in remote.infolist():
            if _is_wanted(member):
                local.writestr(member.filename, remote.read(member))
    part.replace(target)


def fetch(project: str, requirement: str, python: tuple[int, int]) -> CutWheel:
    """Return the cut-down wheel for a requirement such as `==2.21.0` or `>=12.5,<13`.

    What was chosen once is remembered, so that a test sees the same wheel again until the cache is removed.
    Raises LookupError when the index has no wheel that this Python could install.
    """
    name = canonicalize_name(project)
    folder = cache_folder("wheels")
    safe = re.sub(r"[^\w.=<>!~,-]", "", requirement)
    choice = folder / f"{name}{safe}-cp{python[0]}{python[1]}.json"
    if choice.exists():
        chosen = json.loads(choice.read_text())
    else:
        wheel = choose(_wheels(name), SpecifierSet(requirement), python)
        chosen = {"filename": wheel.filename, "version": wheel.version}
        if not (folder / wheel.filename).exists():
            _cut(wheel, folder / wheel.filename)
        part = choice.with_suffix(f".{os.getpid()}.part")
        part.write_text(json.dumps(chosen))
        part.replace(choice)
    return CutWheel(project=name, version=chosen["version"], path=folder / chosen["filename"])
