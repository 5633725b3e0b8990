# /// script
# requires-python = ">=3.10"
# dependencies = ["packaging", "pip", "requests", "tomli; python_version < '3.11'", "urllib3>=2"]
# ///
"""Write the generated tables of rules/tables from the published wheels themselves; print what changed.

What wheels state (tags, requirements, build file, RECORD) is read for every row in minutes. Device code is
measured wheel by wheel, in the newest patch of each minor release, and the table is written after each: an
interrupted run goes on where it stopped. What was measured in one wheel is never written for another; what
the table already says of the same wheel is not measured again.
"""

import argparse
import re
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from packaging.version import Version  # noqa: E402 - the repository's root has to be on the path first

from tools import (  # noqa: E402
    error_codes, jax_versions, nvidia_code, nvidia_libraries, nvidia_releases, nvidia_requirements,
    shared_modules,
)
from tools.framework_tables import MEASURED, PROJECTS, TABLES_FOLDER, Project, Release, releases  # noqa: E402
from tools.table_file import Row, Table, changes, read_rows, write_table  # noqa: E402
from tools.wheel_cache import WheelCache, default_cache_folder  # noqa: E402
from tools.wheel_code import (  # noqa: E402
    LOADERS, declared_difference, loading_columns, measured_columns, observe, worth_observing,
)
from tools.wheel_facts import build_file, stated_columns, wheel_contents  # noqa: E402
from tools.wheel_index import CONNECTIONS, WheelFile, WheelIndex  # noqa: E402
from tools.wheel_requirements import extras_columns  # noqa: E402

# Raised when the way to look into a wheel changes: all are then looked into anew.
OBSERVED = "observed-4"
# Of a wheel that is not measured: what its loader alone says, a twentieth of it.
LOADER_OBSERVED = "loader-1"
# Where the versions of CUDA and cuDNN come from that only a look into a wheel tells.
FROM_A_LOOK = ("build functions", "compiled code")
# What a JAX plugin answers to a Python that can import it.
ANSWERED = ("cuda", "cuda_from", "cudnn", "cudnn_from", "loads")
# One wheel is unpacked while the next ones are fetched.
MEASURED_AT_A_TIME = 3


def complete_row(
    project: Project, index: WheelIndex, cache: WheelCache, release: Release, committed: Row
) -> Row:
    """Return the stated columns, and the measured ones where this wheel has been measured."""
    row = stated_columns(index, cache, release.chosen, release.wheels, extra=project.extra)
    if project.extras and release.chosen.platform == "any":
        row |= extras_columns(index, cache, release.chosen, names=project.extras)
    if row.get("cuda_from") == "build file" and not project.compact:
        row["build_file"] = build_file(index, cache, release.chosen)
    row = with_measured(row, looked_into(index, cache, release.chosen, committed))
    if library := row.get("code_library"):
        contents = [wheel_contents(index, cache, wheel) for wheel in release.wheels]
        row["library_sha256"] = sorted({content["libraries"].get(library) for content in contents} - {None})
    if row.get("declared") and "code" in row:
        row["declared_differs"] = declared_difference(row["declared"], row["code"])
    if committed.get("cuda_from") == "build functions" != row.get("cuda_from"):
        return committed  # what the plugin answered elsewhere is better than what can be told of it here
    return project.fitted(row)


def looked_into(index: WheelIndex, cache: WheelCache, wheel: WheelFile, committed: Row) -> Row:
    """Return the columns that were measured in a wheel: by this machine, else by whoever made the table."""
    names = set(MEASURED)
    for what in ("cuda", "cudnn"):
        if committed.get(f"{what}_from") in FROM_A_LOOK:
            names |= {what, f"{what}_from"}
    is_same = committed.get("wheel_sha256") == wheel.sha256 and not MEASURED.isdisjoint(committed)
    known = {name: value for name, value in committed.items() if is_same and name in names}
    if observed := cache.find(OBSERVED, wheel.sha256):
        measured = measured_columns(observed, wheel_contents(index, cache, wheel)["libraries"])
        answered = {} if observed["built"] or known.get("cuda_from") != "build functions" else known
        return measured | {name: answered[name] for name in ANSWERED if name in answered}
    if not known and (observed := cache.find(LOADER_OBSERVED, wheel.sha256)):
        return loading_columns(observed, wheel_contents(index, cache, wheel)["libraries"])
    return known


def with_measured(row: Row, measured: Row) -> Row:
    """Add what was measured; what a wheel states of its CUDA and cuDNN counts before what its code tells."""
    guessed = [what for what in ("cuda", "cudnn") if row.get(f"{what}_from") not in (None, "name")
               and measured.get(f"{what}_from") == "compiled code"]
    left = {*guessed, *(f"{what}_from" for what in guessed)}
    return row | {name: value for name, value in measured.items() if name not in left}


def all_rows(project: Project, index: WheelIndex, cache: WheelCache, found: list[Release]) -> list[Row]:
    """Return the rows of all releases, asking over a few connections at a time."""
    rows = read_rows(project.path)
    committed = {row.get("wheel_sha256"): row for row in rows}
    of_release = {(row["source"], row["platform"]): row for row in rows}

    def complete(release: Release) -> Row:
        wheel = release.chosen
        own = of_release.get((f"pypi:{wheel.project}=={wheel.version}", wheel.platform), {})
        return complete_row(project, index, cache, release, committed.get(wheel.sha256, own))

    with ThreadPoolExecutor(CONNECTIONS) as pool:
        return list(pool.map(complete, found))


def measuring_order(
    found: list[Release], rows: list[Row], *, every_patch: bool, again: re.Pattern[str] | None = None
) -> Iterator[Release]:
    """Yield the CUDA builds not measured yet, or those whose files `again` finds, measured or not.

    Linux x86_64 comes first, in it newest patches first.
    """
    pending = [
        release
        for release, row in zip(found, rows, strict=True)
        if row.get("build") == "cuda"
        and (again.match(release.chosen.filename) if again else "fat_binaries" not in row
             or row.get("wheel_sha256", release.chosen.sha256) != release.chosen.sha256)
    ]
    newest_patch: dict[tuple[str, str, tuple[int, ...]], Version] = {}
    for release in found:
        version = Version(release.chosen.version)
        newest_patch[release.chosen.project, release.chosen.platform, version.release[:2]] = version

    def rank(release: Release) -> tuple[bool, bool, tuple[int, ...]]:
        version = Version(release.chosen.version)
        own = (release.chosen.project, release.chosen.platform, version.release[:2])
        age = tuple(-number for number in (*version.release, version.post or 0))
        return newest_patch[own] != version, release.chosen.platform != "linux_x86_64", age

    each = every_patch or again is not None
    yield from (release for release in sorted(pending, key=rank) if each or not rank(release)[0])


def update_framework(
    project: Project, index: WheelIndex, cache: WheelCache, arguments: argparse.Namespace
) -> bool:
    """Bring one table up to date, return whether it differs from the file that was there."""
    found = releases(project, index)
    before = read_rows(project.path)
    rows = all_rows(project, index, cache, found)
    if not arguments.check:
        write_table(project.path, project.table, rows)
        look_into(project, index, cache, found, rows, arguments)
    return report(project.path, project.table, before, rows)


def look_into(
    project: Project, index: WheelIndex, cache: WheelCache, found: list[Release], rows: list[Row],
    arguments: argparse.Namespace,
) -> None:
    """Measure what is to be measured, and of what is not the loader; write the table after each wheel."""
    if arguments.stated_only:
        return
    whole = list(measuring_order(found, rows, every_patch=arguments.every_patch, again=arguments.again))
    places = [found.index(release) for release in whole]
    loaders = [place for place, row in enumerate(rows)
               if row.get("build") == "cuda" and "loads" not in row and place not in places]

    def look(place: int) -> None:
        anew = arguments.again is not None and place in places
        measure(project, index, cache, found[place], rows[place], whole=place in places, anew=anew)

    with ThreadPoolExecutor(MEASURED_AT_A_TIME) as pool:
        for place, _ in zip([*places, *loaders], pool.map(look, [*places, *loaders]), strict=True):
            rows[place] = complete_row(project, index, cache, found[place], rows[place])
            write_table(project.path, project.table, rows)


def measure(
    project: Project, index: WheelIndex, cache: WheelCache, release: Release, row: Row, *, whole: bool,
    anew: bool = False,
) -> None:
    """Look into the libraries of a release's wheel, or into TensorFlow's loader alone; keep what was seen."""
    libraries = worth_observing(wheel_contents(index, cache, release.chosen)["libraries"])
    if not whole:
        libraries = {member: sha256 for member, sha256 in libraries.items()
                     if Path(member).name == LOADERS[0]}
    if why := jax_versions.cannot_ask(release.chosen, libraries):
        print(f"{project.name}: {release.chosen.filename} was not asked what it is built for, {why}: a row "
              "that it has stays as it is, a new one says less", file=sys.stderr, flush=True)
    elif libraries:
        print(f"{project.name}: measuring {release.chosen.filename}", file=sys.stderr, flush=True)
        cache.get(
            OBSERVED if whole else LOADER_OBSERVED, release.chosen.sha256,
            lambda: observe(index, release.chosen, libraries, tensorrt=bool(row.get("tensorrt_build"))),
            anew=anew,
        )


def update_nvidia(index: WheelIndex, cache: WheelCache, arguments: argparse.Namespace) -> bool:
    """Bring the tables of NVIDIA's library wheels up to date, for what the other tables require."""
    frameworks = [row for project in PROJECTS for row in read_rows(project.path)]
    distributions = nvidia_libraries.distributions_required(frameworks)
    libraries = nvidia_libraries.nvidia_rows(index, cache, distributions)
    wanted = {
        "nvidia_libraries": (nvidia_libraries.TABLE, libraries),
        "nvidia_libraries_elsewhere": (
            nvidia_libraries.ELSEWHERE_TABLE,
            nvidia_libraries.elsewhere_rows(index, cache, distributions),
        ),
        "nvidia_shared_files": (nvidia_libraries.SHARED_TABLE, nvidia_libraries.shared_rows(libraries)),
        "nvidia_releases": (nvidia_releases.TABLE, nvidia_releases.release_rows(index, distributions)),
        "nvidia_requirements": (
            nvidia_requirements.TABLE,
            nvidia_requirements.requirement_rows(index, frameworks),
        ),
    }
    changed = [update(name, table, rows, arguments) for name, (table, rows) in wanted.items()]
    return any(changed)


def update_shared_modules(index: WheelIndex, cache: WheelCache, arguments: argparse.Namespace) -> bool:
    """Bring the table of the distributions that install the same modules up to date."""
    rows = shared_modules.module_rows(index, cache)
    return update("shared_modules", shared_modules.TABLE, rows, arguments)


def update_error_codes(index: WheelIndex, cache: WheelCache, arguments: argparse.Namespace) -> bool:
    """Bring the tables of return codes up to date."""
    tables = error_codes.code_tables(index, cache)
    changed = [update(name, table, rows, arguments) for name, (table, rows) in tables.items()]
    return any(changed)


def update(name: str, table: Table, rows: list[Row], arguments: argparse.Namespace) -> bool:
    """Write a table that is had in one go, return whether it differs from the file that was there."""
    path = TABLES_FOLDER / f"{name}.toml"
    before = read_rows(path)
    if not arguments.check:
        write_table(path, table, rows)
    return report(path, table, before, rows)


def update_nvidia_code(index: WheelIndex, cache: WheelCache, arguments: argparse.Namespace) -> bool:
    """Bring the table of the device code in NVIDIA's libraries up to date."""
    path = TABLES_FOLDER / "nvidia_code.toml"
    before = rows = read_rows(path)
    measure = not (arguments.check or arguments.stated_only)
    for rows in nvidia_code.code_rows(index, cache, before, measure=measure):
        if not arguments.check:
            write_table(path, nvidia_code.TABLE, rows)
    return report(path, nvidia_code.TABLE, before, rows)


def report(path: Path, table: Table, before: list[Row], after: list[Row]) -> bool:
    """Print what changed since last time, return whether anything did."""
    lines = list(changes(table, before, after))
    for line in lines:
        print(f"{path.stem} {line}")
    if not lines:
        print(f"{path.stem}: {len(after)} rows, nothing changed")
    return bool(lines)


def main() -> int:
    """Update the tables that the command line names, all of them by default."""
    names = [*(project.name for project in PROJECTS), "nvidia_libraries", "nvidia_code", "shared_modules",
             "error_codes"]
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", choices=names, help="update one table")
    parser.add_argument(
        "--check", action="store_true", help="write nothing, print what would change; exit 1 if any"
    )
    parser.add_argument("--stated-only", action="store_true", help="measure no more device code")
    parser.add_argument(
        "--every-patch", action="store_true", help="measure each release, not one of each minor release"
    )
    parser.add_argument(
        "--again", type=re.compile, metavar="REGEX",
        help="measure anew, whole, the wheels whose file name begins like this, and no others (interrupted, "
             "it begins with them again)"
    )
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
    if arguments.only in (None, "nvidia_code"):
        changed |= update_nvidia_code(index, cache, arguments)
    if arguments.only in (None, "shared_modules"):
        changed |= update_shared_modules(index, cache, arguments)
    if arguments.only in (None, "error_codes"):
        changed |= update_error_codes(index, cache, arguments)
    return 1 if arguments.check and changed else 0


if __name__ == "__main__":
    sys.exit(main())
