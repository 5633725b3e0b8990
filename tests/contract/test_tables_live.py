"""The committed tables against the wheels of today's index; skipped only where no index is reachable."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import requests

from gpudoctor.payloads.fatbin import scan_buffer
from tools.nvidia_libraries import nvidia_rows
from tools.table_file import Row, read_rows
from tools.update_tables import COLUMNS, PROJECTS, TABLES_FOLDER, Release, releases
from tools.wheel_cache import WheelCache
from tools.wheel_facts import stated_columns, wheel_contents
from tools.wheel_index import WheelIndex

# One of each kind: ranges as requirements, DLL suffixes as versions, a wheel that only requires another one,
# the meta package of the toolkit, exact pins.
ROWS = [
    ("tensorflow", "2.21.0", "linux_x86_64"),
    ("tensorflow", "2.9.3", "windows_x86_64"),
    ("tensorflow", "2.15.1", "windows_x86_64"),
    ("torch", "2.15.0", "linux_x86_64"),
    ("torch", "1.13.1", "linux_x86_64"),
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


@cache
def live_releases(index: WheelIndex, name: str) -> tuple[Release, ...]:
    project = next(project for project in PROJECTS if project.name == name)
    return tuple(releases(project, index))


def live_release(index: WheelIndex, name: str, version: str, platform: str) -> Release:
    return next(
        release
        for release in live_releases(index, name)
        if (release.chosen.version, release.chosen.platform) == (version, platform)
    )


def committed(name: str, **wanted: str) -> Row:
    rows = read_rows(TABLES_FOLDER / f"{name}.toml")
    return next(row for row in rows if all(row[column] == value for column, value in wanted.items()))


@pytest.mark.parametrize(("name", "version", "platform"), ROWS)
def test_what_the_wheel_states_is_what_the_table_says(
    index: WheelIndex, empty_cache: WheelCache, name: str, version: str, platform: str
) -> None:
    """Tags, build file and requirements, extracted anew, equal the committed row column by column."""
    release = live_release(index, name, version, platform)
    live = stated_columns(index, empty_cache, release.chosen, release.wheels)
    row = committed(name, version=version, platform=platform)
    assert {column: row.get(column) for column in live} == live


def test_recorded_hashes_are_those_of_every_wheel_of_the_row(
    index: WheelIndex, empty_cache: WheelCache
) -> None:
    """The library's hash in each wheel's RECORD is in the row, and the row has no other."""
    row = committed("torch", version="2.1.2", platform="linux_x86_64")
    release = live_release(index, "torch", "2.1.2", "linux_x86_64")
    contents = [wheel_contents(index, empty_cache, wheel) for wheel in release.wheels]
    hashes = {content["libraries"][row["code_library"]] for content in contents}
    assert row["library_sha256"] == sorted(hashes)
    assert row["measured_library_sha256"] in hashes


def test_device_code_of_a_library_is_part_of_its_row(index: WheelIndex) -> None:
    """No CUDA wheel is small, but one library is: the sum holds its signatures at least as often."""
    release = live_release(index, "torch", "2.15.0", "linux_x86_64")
    row = committed("torch", version="2.15.0", platform="linux_x86_64")
    with index.open(release.chosen) as archive:
        found = scan_buffer(archive.read("torch/lib/libtorch_cuda_linalg.so"))
    counted: dict[str, int] = {signature(record): record["fat_binaries"] for record in row["code"]}
    assert found["fat_binaries"] > 0
    for record in found["code"]:
        assert record["fat_binaries"] <= counted[signature(record)]


def signature(record: dict[str, Any]) -> str:
    return json.dumps([record["sass"], record["ptx"]])


def test_nvidia_library_files_are_those_of_the_wheel(index: WheelIndex, empty_cache: WheelCache) -> None:
    """Every span of versions with the same files, found anew, is in the table."""
    rows = nvidia_rows(index, empty_cache, ["nvidia-cuda-runtime"])
    assert rows
    for row in rows:
        held = committed("nvidia_libraries", distribution=row["distribution"], since=row["since"])
        assert (held["folder"], held["libraries"]) == (row["folder"], row["libraries"])


@pytest.mark.parametrize("name", [project.name for project in PROJECTS])
def test_every_row_is_whole(name: str) -> None:
    """Each row's columns are known ones, and the signatures of its device code add up to its fat binaries."""
    for row in read_rows(TABLES_FOLDER / f"{name}.toml"):
        assert set(row) <= {*COLUMNS, "source"}
        assert row["source"] == f"pypi:{name}=={row['version']}"
        if "code" in row:
            assert sum(record["fat_binaries"] for record in row["code"]) == row["fat_binaries"]
