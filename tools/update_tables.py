# /// script
# requires-python = ">=3.10"
# dependencies = ["packaging", "pip", "requests", "tomli; python_version < '3.11'", "urllib3>=2"]
# ///
"""Write rules/tables/{tensorflow,torch,nvidia_libraries}.toml from the published wheels themselves.

What wheels state (tags, requirements, build file, RECORD) is read for every row in minutes. Device code is
measured wheel by wheel, the newest patch of each minor release first, and the table is written after each:
an interrupted run goes on where it stopped. What was measured in one wheel is never written for another.
"""

import argparse
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from packaging.version import Version  # noqa: E402 - the repository's root has to be on the path first

from tools.nvidia_libraries import TABLE as NVIDIA_TABLE  # noqa: E402
from tools.nvidia_libraries import distributions_required, nvidia_rows  # noqa: E402
from tools.table_file import Row, Table, read_rows, render_table, write_table  # noqa: E402
from tools.wheel_cache import WheelCache, default_cache_folder  # noqa: E402
from tools.wheel_code import measured_columns, observe  # noqa: E402
from tools.wheel_facts import stated_columns, wheel_contents  # noqa: E402
from tools.wheel_index import CONNECTIONS, WheelFile, WheelIndex  # noqa: E402

TABLES_FOLDER = ROOT / "rules" / "tables"
# Raised when the way to look into a wheel changes: all are then looked into anew.
OBSERVED = "observed-2"
COLUMNS = {
    "version": "package_version",
    "platform": "text",
    "build": "text",
    "tensorrt_build": "flag",
    "cuda": "cuda_version",
    "cudnn": "cudnn_version",
    "python": "texts",
    "glibc": "glibc_version",
    "uploaded": "text",
    "delegates_to": "text",
    "requires": "texts",
    "requires_nvidia": "texts",
    "loader": "text",
    "loads": "texts",
    "loads_optional": "texts",
    "runpath": "texts",
    "rpath": "texts",
    "code_library": "text",
    "library_sha256": "texts",
    "measured_library_sha256": "text",
    "record_differs": "texts",
    "fat_binaries": "integer",
    "code": "records",
    "relocatable": "records",
    "wheel_sha256": "text",
    "measured_from": "text",
}


@dataclass(frozen=True, kw_only=True)
class Project:
    """A framework and the releases that get a row: final ones from `oldest` on, and a newer pre-release."""

    name: str
    oldest: str

    @property
    def table(self) -> Table:
        return Table(
            summary=f"Wheels of {self.name}: a row for each version and platform, read from one wheel.",
            key=("version", "platform"),
            columns=COLUMNS,
        )

    @property
    def path(self) -> Path:
        return TABLES_FOLDER / f"{self.name}.toml"


PROJECTS = (Project(name="tensorflow", oldest="2.0"), Project(name="torch", oldest="1.8"))


@dataclass(frozen=True, kw_only=True)
class Release:
    """One row to be: the wheels of a version for a platform, and the one of them that is read."""

    chosen: WheelFile
    wheels: tuple[WheelFile, ...]


def releases(project: Project, index: WheelIndex) -> list[Release]:
    """Return the releases that get a row, newest version last; the wheel for the newest Python is read."""
    wheels = sorted(
        (wheel for wheel in index.wheels(project.name) if wheel.platform != "any"),
        key=lambda wheel: (Version(wheel.version), wheel.platform, _python_order(wheel), wheel.filename),
    )
    newest_final = max(Version(wheel.version) for wheel in wheels if not Version(wheel.version).is_prerelease)
    newest = Version(wheels[-1].version)
    found = []
    for (version, _), group in groupby(wheels, key=lambda wheel: (Version(wheel.version), wheel.platform)):
        passing = version.is_prerelease and (version != newest or version < newest_final)
        if version < Version(project.oldest) or passing:
            continue
        members = tuple(group)
        found.append(Release(chosen=members[-1], wheels=members))
    return found


def _python_order(wheel: WheelFile) -> tuple[int, ...]:
    """Order wheels by Python; those for free-threaded Python, which list none, come first."""
    return tuple(int(tag[2:].lstrip("p") or 0) for tag in wheel.pythons if tag[2:].isdigit())


def complete_row(index: WheelIndex, cache: WheelCache, release: Release) -> Row:
    """Return the stated columns, and the measured ones where this wheel has been measured."""
    row = stated_columns(index, cache, release.chosen, release.wheels)
    observed = cache.find(OBSERVED, release.chosen.sha256)
    if observed:
        row |= measured_columns(observed, wheel_contents(index, cache, release.chosen)["libraries"])
        library = row.get("code_library")
        contents = [wheel_contents(index, cache, wheel) for wheel in release.wheels] if library else []
        hashes = {content["libraries"].get(library) for content in contents} - {None}
        row["library_sha256"] = sorted(hashes) if library else None
    return row


def all_rows(index: WheelIndex, cache: WheelCache, found: list[Release]) -> list[Row]:
    """Return the rows of all releases, asking over a few connections at a time."""
    with ThreadPoolExecutor(CONNECTIONS) as pool:
        return list(pool.map(lambda release: complete_row(index, cache, release), found))


def measuring_order(found: list[Release], rows: list[Row], cache: WheelCache) -> Iterator[Release]:
    """Yield the CUDA builds for Linux not measured yet: x86_64 first, in it newest patches first."""
    pending = [
        release
        for release, row in zip(found, rows, strict=True)
        if row["build"] == "cuda"
        and release.chosen.platform.startswith("linux")
        and cache.find(OBSERVED, release.chosen.sha256) is None
    ]
    newest_patch: dict[tuple[str, tuple[int, ...]], Version] = {}
    for release in found:
        version = Version(release.chosen.version)
        newest_patch[release.chosen.platform, version.release[:2]] = version

    def rank(release: Release) -> tuple[bool, bool, tuple[int, ...]]:
        version = Version(release.chosen.version)
        is_newest = newest_patch[release.chosen.platform, version.release[:2]] == version
        age = tuple(-number for number in (*version.release, version.post or 0))
        return release.chosen.platform != "linux_x86_64", not is_newest, age

    yield from sorted(pending, key=rank)


def update_framework(
    project: Project, index: WheelIndex, cache: WheelCache, arguments: argparse.Namespace
) -> bool:
    """Bring one table up to date, return whether it differs from the file that was there."""
    found = releases(project, index)
    rows = all_rows(index, cache, found)
    if arguments.check:
        return report_changes(project.path, project.table, rows)
    before = read_rows(project.path)
    write_table(project.path, project.table, rows)
    for release in measuring_order(found, rows, cache) if not arguments.stated_only else ():
        contents = wheel_contents(index, cache, release.chosen)
        position = found.index(release)
        tensorrt = bool(rows[position].get("tensorrt_build"))
        cache.get(
            OBSERVED,
            release.chosen.sha256,
            lambda: observe(index, release.chosen, contents["libraries"], tensorrt=tensorrt),  # noqa: B023
        )
        rows[position] = complete_row(index, cache, release)
        write_table(project.path, project.table, rows)
        print(f"{release.chosen.filename}: {rows[position]['fat_binaries']} fat binaries", flush=True)
    return before != read_rows(project.path)


def update_nvidia(index: WheelIndex, cache: WheelCache, arguments: argparse.Namespace) -> bool:
    """Bring the table of NVIDIA's library wheels up to date, for what the other tables require."""
    frameworks = [row for project in PROJECTS for row in read_rows(project.path)]
    rows = nvidia_rows(index, cache, distributions_required(frameworks))
    path = TABLES_FOLDER / "nvidia_libraries.toml"
    if arguments.check:
        return report_changes(path, NVIDIA_TABLE, rows)
    before = read_rows(path)
    write_table(path, NVIDIA_TABLE, rows)
    return before != read_rows(path)


def report_changes(path: Path, table: Table, rows: list[Row]) -> bool:
    """Print what a new table would change, a line for each row and column."""
    text = render_table(table, rows)
    if path.exists() and path.read_text(encoding="utf-8") == text:
        return False
    before = {tuple(row[name] for name in table.key): row for row in read_rows(path)}
    after = {tuple(row[name] for name in table.key): _without_none(row) for row in rows}
    for key in sorted(before.keys() | after.keys()):
        old, new = before.get(key, {}), after.get(key, {})
        for column in sorted(old.keys() | new.keys()):
            if old.get(column) != new.get(column):
                print(f"{path.stem} {' '.join(key)}: {column}: {old.get(column)!r} -> {new.get(column)!r}")
    return True


def _without_none(row: Row) -> Row:
    return {name: value for name, value in row.items() if value is not None}


def main() -> int:
    """Update the tables that the command line names, all of them by default."""
    names = [*(project.name for project in PROJECTS), "nvidia_libraries"]
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", choices=names, help="update one table")
    parser.add_argument(
        "--check", action="store_true", help="write nothing, print what would change; exit 1 if any"
    )
    parser.add_argument("--stated-only", action="store_true", help="measure no more device code")
    parser.add_argument(
        "--cache", type=Path, default=default_cache_folder(), help="where to keep what was read"
    )
    arguments = parser.parse_args()
    index, cache = WheelIndex(), WheelCache(arguments.cache)
    changed = False
    for project in PROJECTS:
        if arguments.only in (None, project.name):
            changed |= update_framework(project, index, cache, arguments)
    if arguments.only in (None, "nvidia_libraries"):
        changed |= update_nvidia(index, cache, arguments)
    return 1 if arguments.check and changed else 0


if __name__ == "__main__":
    sys.exit(main())
