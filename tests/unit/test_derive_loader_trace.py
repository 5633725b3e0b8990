"""Which file the dynamic loader takes: the order of places, RPATH and RUNPATH, files that stop the search."""

from __future__ import annotations

import pytest

from gpudoctor.derive.loader_trace import Inputs, Step, elsewhere, expand, trace
from gpudoctor.model import Record

SONAME = "libcudnn.so.9"


def inputs(
    *paths: str,
    rpath: str = "",
    runpath: str = "",
    library_path: str = "",
    default: str = "",
    cache: str = "",
    records: tuple[Record, ...] = (),
) -> Inputs:
    """Return a loader's world with a good library at each of `paths`, and `records` beside them."""
    files: dict[str, Record] = {path: {"path": path, "machine": "x86_64", "error": ""} for path in paths}
    files.update({str(record["path"]): record for record in records})

    def folder(text: str) -> tuple[str, ...]:
        return (text,) if text else ()

    return Inputs(
        files=files,
        rpath=folder(rpath),
        runpath=folder(runpath),
        library_path=folder(library_path),
        cache=({"soname": SONAME, "path": cache},) if cache else (),
        default_folders=folder(default),
        machine="x86_64",
    )


def everywhere(*left_out: str) -> Inputs:
    """Return a world with the library in each place but those left out; the opener has no RUNPATH."""
    places = {"rpath": "/rpath", "library_path": "/ld", "default": "/usr/lib", "cache": "/cached"}
    paths = [f"{folder}/{SONAME}" for name, folder in places.items() if name not in left_out]
    cache = "" if "cache" in left_out else f"/cached/{SONAME}"
    return inputs(*paths, rpath="/rpath", library_path="/ld", default="/usr/lib", cache=cache)


@pytest.mark.parametrize(
    ("left_out", "why"),
    [
        ((), "RPATH"),
        (("rpath",), "LD_LIBRARY_PATH"),
        (("rpath", "library_path"), "ld.so.cache"),
        (("rpath", "library_path", "cache"), "default folder"),
        (("rpath", "library_path", "cache", "default"), "not found"),
    ],
)
def test_the_places_are_searched_in_the_order_of_ld_so(left_out: tuple[str, ...], why: str) -> None:
    """RPATH, LD_LIBRARY_PATH, the cache, the default folders; the first that has the library wins."""
    assert why == trace(SONAME, everywhere(*left_out)).why


def test_runpath_comes_after_ld_library_path() -> None:
    """TensorFlow's wheels have RUNPATH, so LD_LIBRARY_PATH shadows their own libraries."""
    world = inputs(f"/ld/{SONAME}", f"/own/{SONAME}", runpath="/own", library_path="/ld")
    assert Step(soname=SONAME, path=f"/ld/{SONAME}", why="LD_LIBRARY_PATH") == trace(SONAME, world)


def test_rpath_comes_before_ld_library_path() -> None:
    """torch's and JAX's wheels have RPATH, so LD_LIBRARY_PATH does not shadow their own libraries."""
    world = inputs(f"/ld/{SONAME}", f"/own/{SONAME}", rpath="/own", library_path="/ld")
    assert Step(soname=SONAME, path=f"/own/{SONAME}", why="RPATH") == trace(SONAME, world)


def test_rpath_is_ignored_where_there_is_runpath() -> None:
    """A library with both has no RPATH as far as the loader is concerned."""
    world = inputs(f"/rpath/{SONAME}", rpath="/rpath", runpath="/elsewhere")
    assert trace(SONAME, world).path is None


def test_a_broken_file_ends_the_search_with_its_error() -> None:
    """The loader does not go on to the good file behind an empty one."""
    broken: Record = {"path": f"/ld/{SONAME}", "machine": "", "error": "file too short"}
    world = inputs(f"/own/{SONAME}", runpath="/own", library_path="/ld", records=(broken,))
    assert Step(soname=SONAME, path=f"/ld/{SONAME}", why="LD_LIBRARY_PATH", error="file too short") == trace(
        SONAME, world
    )


def test_a_file_for_another_machine_is_passed_over() -> None:
    """An aarch64 library in front is skipped, on LD_LIBRARY_PATH and in the cache alike."""
    foreign: Record = {"path": f"/ld/{SONAME}", "machine": "aarch64", "error": ""}
    assert (
        trace(SONAME, inputs(f"/own/{SONAME}", runpath="/own", library_path="/ld", records=(foreign,))).why
        == "RUNPATH"
    )
    cached: Record = {"path": f"/cached/{SONAME}", "machine": "aarch64", "error": ""}
    world = inputs(f"/usr/lib/{SONAME}", cache=f"/cached/{SONAME}", default="/usr/lib", records=(cached,))
    assert trace(SONAME, world).why == "default folder"


def test_a_cached_file_that_nobody_described_still_counts() -> None:
    """The cache is the system's own word; its file need not have been looked at."""
    assert trace(SONAME, inputs(cache=f"/cached/{SONAME}")).path == f"/cached/{SONAME}"


def test_origin_is_the_folder_of_the_opening_library() -> None:
    """$ORIGIN and ${ORIGIN} are replaced, the dots resolved, empty entries dropped."""
    folders = expand(["$ORIGIN/../nvidia/cudnn/lib", "", "${ORIGIN}/"], "/site/tensorflow")
    assert folders == ("/site/nvidia/cudnn/lib", "/site/tensorflow")


def test_copies_near_the_framework_come_first_and_broken_ones_never() -> None:
    """Where a library is not found, the copy beside the framework is the one to name."""
    broken: Record = {"path": f"/site/a/{SONAME}", "machine": "x86_64", "error": "file too short"}
    world = inputs(f"/opt/{SONAME}", f"/site/nvidia/cudnn/lib/{SONAME}", records=(broken,))
    assert (f"/site/nvidia/cudnn/lib/{SONAME}", f"/opt/{SONAME}") == elsewhere(SONAME, world, "/site")
