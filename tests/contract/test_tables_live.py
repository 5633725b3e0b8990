"""The committed tables against the wheels of today's index; skipped only where no index is reachable."""

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import requests
from packaging.requirements import Requirement

from gpudoctor.payloads.fatbin import scan_buffer
from tools import error_codes, jax_versions
from tools.compiled_code import compiled_with
from tools.framework_tables import PROJECTS, TABLES_FOLDER, Project, Release, releases_of
from tools.nvidia_libraries import elsewhere_rows, nvidia_rows, shared_rows
from tools.nvidia_releases import release_rows
from tools.nvidia_requirements import requirement_rows
from tools.shared_modules import FAMILIES, module_rows
from tools.table_file import Row, read_rows
from tools.update_tables import FROM_A_LOOK
from tools.wheel_cache import WheelCache
from tools.wheel_code import measured_columns, observe, worth_observing
from tools.wheel_facts import stated_columns, wheel_contents
from tools.wheel_index import WheelFile, WheelIndex

# One of each kind: ranges as requirements, DLL suffixes as versions, a wheel that only requires another one,
# the meta package of the toolkit, exact pins; other build files, a build that only its name tells, none.
ROWS = [
    ("tensorflow", "tensorflow", "2.21.0", "linux_x86_64"),
    ("tensorflow", "tensorflow", "2.9.3", "windows_x86_64"),
    ("tensorflow", "tensorflow", "2.15.1", "windows_x86_64"),
    ("torch", "torch", "2.15.0", "linux_x86_64"),
    ("torch", "torch", "1.13.1", "linux_x86_64"),
    ("tensorflow_distributions", "tensorflow-gpu", "2.10.1", "windows_x86_64"),
    ("tensorflow_distributions", "tensorflow-macos", "2.16.2", "macos_arm64"),
    ("jax_distributions", "jax-cuda12-pjrt", "0.12.0.1", "linux_x86_64"),
    ("jax_distributions", "jaxlib", "0.12.0.1", "windows_x86_64"),
    ("paddle_distributions", "paddlepaddle-gpu", "2.6.2", "linux_x86_64"),
    ("paddle_distributions", "paddlepaddle-gpu", "1.8.5.post107", "windows_x86_64"),
    ("cupy_distributions", "cupy-cuda102", "12.3.0", "linux_x86_64"),
    ("cupy_distributions", "cupy-cuda112", "10.6.0", "linux_x86_64"),
    ("cupy_distributions", "cupy-cuda11x", "13.6.0", "linux_x86_64"),
]
# An ELF file, and a PE file of Windows.
SMALL_LIBRARIES = [
    ("torch", "torch", "2.15.0", "linux_x86_64", r"torch/lib/libtorch_cuda_linalg\.so"),
    ("cupy_distributions", "cupy-cuda13x", "14.2.0", "windows_x86_64", r"cupy/random/_generator_api\..*pyd"),
]


@pytest.fixture(scope="module")
def index() -> WheelIndex:
    """Open the index, or skip with what stood in the way."""
    opened = WheelIndex()
    try:
        # Not by the session, which would try again and again.
        requests.head(f"{opened.base_url}/tensorflow/", timeout=20, verify=opened.session.verify)
    except (requests.ConnectionError, requests.Timeout) as problem:
        pytest.skip(f"no package index: {type(problem).__name__}")
    return opened


@pytest.fixture
def empty_cache(tmp_path: Path) -> WheelCache:
    """Return a cache that knows nothing, so that everything is asked for."""
    return WheelCache(tmp_path / "cache")


def project_of(table: str) -> Project:
    return next(project for project in PROJECTS if project.name == table)


@cache
def live_releases(index: WheelIndex, table: str, distribution: str) -> tuple[Release, ...]:
    oldest = project_of(table).distributions[distribution]
    return tuple(releases_of(index.wheels(distribution), oldest))


def live_release(index: WheelIndex, table: str, distribution: str, version: str, platform: str) -> Release:
    return next(
        release
        for release in live_releases(index, table, distribution)
        if (release.chosen.version, release.chosen.platform) == (version, platform)
    )


def committed(name: str, **wanted: str) -> Row:
    rows = read_rows(TABLES_FOLDER / f"{name}.toml")
    return next(row for row in rows if all(row[column] == value for column, value in wanted.items()))


def committed_release(table: str, distribution: str, version: str, platform: str) -> Row:
    own = {"distribution": distribution} if project_of(table).compact else {}
    return committed(table, version=version, platform=platform, **own)


@pytest.mark.parametrize(("table", "distribution", "version", "platform"), ROWS)
def test_what_the_wheel_states_is_what_the_table_says(
    index: WheelIndex, empty_cache: WheelCache, table: str, distribution: str, version: str, platform: str
) -> None:
    """Tags, size, build file and requirements, extracted anew, equal the committed row column by column."""
    release = live_release(index, table, distribution, version, platform)
    project = project_of(table)
    live = project.fitted(
        stated_columns(index, empty_cache, release.chosen, release.wheels, extra=project.extra)
    )
    row = committed_release(table, distribution, version, platform)
    live = {name: value for name, value in live.items()
            if row.get(f"{name.removesuffix('_from')}_from") not in FROM_A_LOOK}
    assert {column: row.get(column) for column in live} == live


def test_measured_columns_of_a_plugin_are_measured_anew(index: WheelIndex, empty_cache: WheelCache) -> None:
    """A wheel of 8 MB: its device code, search path, and what its own functions say that it was built for."""
    place = ("jax_distributions", "jax-cuda13-plugin", "0.12.0.1", "linux_x86_64")
    release, row = live_release(index, *place), committed_release(*place)
    libraries = wheel_contents(index, empty_cache, release.chosen)["libraries"]
    observed = observe(index, release.chosen, worth_observing(libraries), tensorrt=False)
    measured = measured_columns(observed, libraries)
    names = ["code", "fat_binaries", "rpath", "code_library"]
    if jax_versions.interpreter(release.chosen):
        names += ["cuda", "cudnn", "loads"]
    assert {name: measured[name] for name in names} == {name: row[name] for name in names}


def test_recorded_hashes_are_those_of_every_wheel_of_the_row(
    index: WheelIndex, empty_cache: WheelCache
) -> None:
    """The library's hash in each wheel's RECORD is in the row, and the row has no other."""
    row = committed("torch", version="2.1.2", platform="linux_x86_64")
    release = live_release(index, "torch", "torch", "2.1.2", "linux_x86_64")
    contents = [wheel_contents(index, empty_cache, wheel) for wheel in release.wheels]
    hashes = {content["libraries"][row["code_library"]] for content in contents}
    assert row["library_sha256"] == sorted(hashes)
    assert row["measured_library_sha256"] in hashes


@pytest.mark.parametrize(("table", "distribution", "version", "platform", "library"), SMALL_LIBRARIES)
def test_device_code_of_a_library_is_part_of_its_row(
    index: WheelIndex, table: str, distribution: str, version: str, platform: str, library: str
) -> None:
    """No CUDA wheel is small, but one library is: the sum holds its signatures at least as often."""
    release = live_release(index, table, distribution, version, platform)
    row = committed_release(table, distribution, version, platform)
    with index.open(release.chosen) as archive:
        (member,) = [name for name in archive.namelist() if re.fullmatch(library, name)]
        found = scan_buffer(archive.read(member))
    counted: dict[str, int] = {signature(record): record["fat_binaries"] for record in row["code"]}
    assert found["fat_binaries"] > 0
    for record in found["code"]:
        assert record["fat_binaries"] <= counted[signature(record)]


def test_machine_code_says_the_cuda_that_the_build_file_says(index: WheelIndex, tmp_path: Path) -> None:
    """What is read of wheels that say nothing, read of one that does."""
    place = ("cupy_distributions", "cupy-cuda112", "10.6.0", "linux_x86_64")
    row, library = committed_release(*place), tmp_path / "generator.so"
    with index.open(live_release(index, *place).chosen) as archive:
        (member,) = [name for name in archive.namelist() if re.search(r"_generator_api\..*so$", name)]
        library.write_bytes(archive.read(member))
    assert (row["cuda"], row["cuda_from"]) == (compiled_with(library), "build file")


def signature(record: dict[str, Any]) -> str:
    return json.dumps([record["sass"], record["ptx"]])


def test_nvidia_library_files_are_those_of_the_wheel(index: WheelIndex, empty_cache: WheelCache) -> None:
    """Every span of versions with the same files, found anew, is in the table."""
    rows = nvidia_rows(index, empty_cache, ["nvidia-cuda-runtime"])
    assert rows
    for row in rows:
        held = committed("nvidia_libraries", distribution=row["distribution"], since=row["since"])
        assert (held["folder"], held["libraries"]) == (row["folder"], row["libraries"])


def test_wheels_for_other_platforms_are_those_of_the_index(
    index: WheelIndex, empty_cache: WheelCache
) -> None:
    """Folder, files and hash of wheels for aarch64 and Windows, found anew, are in the table."""
    rows = elsewhere_rows(index, empty_cache, ["nvidia-cuda-runtime-cu12"])
    assert {row["platform"] for row in rows} == {"linux_aarch64", "windows_x86_64"}
    for row in rows:
        own = {name: row[name] for name in ("distribution", "platform", "since")}
        held = committed("nvidia_libraries_elsewhere", **own)
        assert (held.get("folder"), held["libraries"]) == (row["folder"], row["libraries"])


@pytest.mark.parametrize("distribution", ["nvidia-cudnn-cu11", "nvidia-cudnn-cu12"])
def test_releases_are_those_of_the_index(distribution: str, index: WheelIndex) -> None:
    """Of each platform and glibc all that were there when the table was made, newer ones may have come.

    cuDNN for CUDA 11 has no wheel for aarch64; of both a release was withdrawn.
    """
    def key(row: dict[str, Any]) -> tuple[str, str]:
        return row["platform"], row["glibc"]

    live = {key(row): row["versions"] for row in release_rows(index, [distribution])}
    held = {key(row): row["versions"] for row in read_rows(TABLES_FOLDER / "nvidia_releases.toml")
            if row["distribution"] == distribution}
    assert held.keys() <= live.keys()
    assert {place: versions[:len(held[place])] for place, versions in live.items() if place in held} == held
    withdrawn = {wheel.version for wheel in index.wheels(distribution) if wheel.yanked}
    assert withdrawn
    assert withdrawn.isdisjoint(version for versions in live.values() for version in versions)
    has_arm = "linux_aarch64" in {platform for platform, _ in held}
    assert has_arm is (distribution == "nvidia-cudnn-cu12")


def test_rows_do_not_depend_on_the_order_of_the_index(empty_cache: WheelCache, index: WheelIndex) -> None:
    """Releases for CUDA 11 have two wheels for one platform; the row was of whichever was listed last."""

    class Backwards(WheelIndex):
        def wheels(self, project: str) -> list[WheelFile]:
            return super().wheels(project)[::-1]

    names = ["nvidia-cuda-runtime-cu11"]
    assert nvidia_rows(Backwards(), empty_cache, names) == nvidia_rows(index, empty_cache, names)


def test_nvidia_libraries_that_share_a_place_are_those_of_the_wheels(
    index: WheelIndex, empty_cache: WheelCache
) -> None:
    """NCCL for CUDA 12 and for 13 are two distributions that write the same file."""
    rows = nvidia_rows(index, empty_cache, ["nvidia-nccl-cu12", "nvidia-nccl-cu13"])
    (live,) = shared_rows(rows)
    held = committed("nvidia_shared_files", folder=live["folder"], library=live["library"])
    names = [{Requirement(text).name for text in row["distributions"]} for row in (live, held)]
    assert names[0] <= names[1]


def test_distributions_that_fill_one_module_are_those_of_the_wheels(
    index: WheelIndex, empty_cache: WheelCache
) -> None:
    """Found anew: who fills the module, since which release, in which wheel; newer ones may have come."""
    for module in ("onnxruntime", "tensorflow"):
        (live,) = module_rows(index, empty_cache, {module: FAMILIES[module]})
        held = committed("shared_modules", module=module)
        since = [[text.partition(",")[0] for text in row["distributions"]] for row in (live, held)]
        assert since[0] == since[1]
        distribution, _, version = held["source"].removeprefix("pypi:").partition("==")
        hashes = {wheel.sha256 for wheel in index.wheels(distribution) if wheel.version == version}
        assert held["wheel_sha256"] in hashes
        assert live["files"] == held["files"] or live["source"] != held["source"]


@pytest.mark.parametrize("name", [
    "cuda_errors", "cuda_runtime_errors", "nccl_errors", "cusolver_errors", "nvrtc_errors"])
def test_codes_are_those_of_the_header_that_the_row_names(index: WheelIndex, name: str) -> None:
    """Read anew from the wheel of the rows: all codes, their names, and what is said of their age."""
    codes = next(codes for codes in error_codes.ALL if codes.name == name)
    rows = read_rows(TABLES_FOLDER / f"{name}.toml")
    (hashed, source, member), = {(row["wheel_sha256"], row["source"], row["member"]) for row in rows}
    listed = index.wheels(source.removeprefix("pypi:").partition("==")[0])
    with index.open(next(wheel for wheel in listed if wheel.sha256 == hashed)) as archive:
        live = error_codes.codes_in(archive.read(member).decode(), codes.success)
    assert {(one["code"], one["name"], one["deprecated"]) for one in live if not one["alias"]} == {
        (row["code"], row["name"], row.get("deprecated")) for row in rows}


@pytest.mark.parametrize("requirement", ["nvidia-cudnn-cu12<10.0,>=9.3.0.75", "nvidia-cublas==13.4.1.3.*"])
def test_a_requirement_resolves_to_a_release_that_it_admits(index: WheelIndex, requirement: str) -> None:
    """Ranges with an upper bound that no later release can change; == with .* at its end is one, too."""
    (live,) = requirement_rows(index, [{"requires_nvidia": [requirement]}])
    held = committed("nvidia_requirements", requirement=requirement)
    newest = tuple(int(part) for part in live["resolves_to"].split("."))
    assert tuple(int(part) for part in held["resolves_to"].split(".")) <= newest
    assert held["resolves_to"] in {wheel.version for wheel in index.wheels(Requirement(requirement).name)}


def test_device_code_of_an_nvidia_library_has_the_hash_that_its_wheel_records(
    index: WheelIndex, empty_cache: WheelCache
) -> None:
    """The library was not read from another wheel: RECORD of the one named lists the row's hash."""
    row = read_rows(TABLES_FOLDER / "nvidia_code.toml")[0]
    (wheel,) = [wheel for wheel in index.wheels(row["distribution"]) if wheel.sha256 == row["wheel_sha256"]]
    recorded = wheel_contents(index, empty_cache, wheel)["libraries"]
    assert row["library_sha256"] in recorded.values()


@pytest.mark.parametrize(
    "name", ["nvidia_libraries", "nvidia_libraries_elsewhere", "nvidia_code", "nvidia_shared_files",
             "nvidia_releases", "nvidia_requirements", "shared_modules",
             *(codes.name for codes in error_codes.ALL)],
)
def test_every_row_about_packages_names_its_wheel(name: str) -> None:
    """By its hash: a version may have two wheels."""
    rows = read_rows(TABLES_FOLDER / f"{name}.toml")
    assert rows
    assert [row for row in rows if not re.fullmatch(r"[0-9a-f]{64}", row.get("wheel_sha256", ""))] == []


@pytest.mark.parametrize("project", PROJECTS, ids=lambda project: project.name)
def test_every_row_is_whole(project: Project) -> None:
    """Each row's columns are known ones, and the signatures of its device code add up to its fat binaries."""
    for row in read_rows(project.path):
        assert set(row) <= {*project.table.columns, "source"}
        distribution = row.get("distribution", project.name)
        assert row["source"] == f"pypi:{distribution}=={row['version']}"
        assert ("cuda" in row) == ("cuda_from" in row)
        stated = row.get("cuda_from") == "build file"
        assert ("build_file" in row) == (stated and not project.compact)
        if "code" in row:
            assert sum(record["fat_binaries"] for record in row["code"]) == row["fat_binaries"]


@pytest.mark.parametrize("project", PROJECTS, ids=lambda project: project.name)
def test_device_code_is_measured_in_each_minor_release(project: Project) -> None:
    """Of each distribution with CUDA and each platform some patch of each minor release was looked into."""
    measured: dict[tuple[str, ...], bool] = {}
    for row in read_rows(project.path):
        if row.get("build") == "cuda":
            minor = (row.get("distribution", project.name), row["platform"], *row["version"].split(".")[:2])
            measured[minor] = measured.get(minor, False) or "fat_binaries" in row
    assert measured
    assert [minor for minor, is_measured in measured.items() if not is_measured] == []
