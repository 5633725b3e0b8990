"""What is written of a wheel that was looked into by this machine, by an earlier one, or in part."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tools.framework_tables import PROJECTS, Release
from tools.table_file import Row
from tools.update_tables import (
    LOADER_OBSERVED, OBSERVED, complete_row, looked_into, measure, measuring_order, with_measured,
)
from tools.wheel_cache import WheelCache
from tools.wheel_index import WheelFile, WheelIndex

SHA256 = "ab" * 32
PLUGIN, LOADER = "jax_cuda12_plugin/_versions.so", "tensorflow/libtensorflow_framework.so.2"
SCAN = {"fat_binaries": 0, "code": [], "relocatable": [], "unreadable": 0, "error": None}
ANSWERED: Row = {"cuda": "12.9", "cuda_from": "build functions", "cudnn": "9.10.2",
                 "cudnn_from": "build functions", "loads": ["libcudnn.so.9"]}


def seen(member: str, **more: Any) -> dict[str, Any]:
    """Return what a look into one library keeps."""
    dynamic = {"machine": "x86_64", "needed": [], "rpath": ["$ORIGIN"], "runpath": None}
    return {"scans": {member: SCAN}, "dynamic": {member: dynamic}, "sha256": {member: "aa"}, "named": {},
            "compiled": {}, "linked": {}, "opened": {}, "built": {}} | more


@pytest.fixture
def wheel() -> WheelFile:
    return WheelFile(project="x", version="1.0", filename="x.whl", url="", sha256=SHA256, uploaded="",
                     platform="linux_x86_64", pythons=("cp312",), platform_tags=())


def cache(folder: Path, kind: str, observed: dict[str, Any]) -> WheelCache:
    """Return a cache that has looked into the one wheel."""
    member = next(iter(observed["scans"]))
    for name, answer in ((kind, observed), ("contents-3", {"libraries": {member: "aa"}})):
        (folder / name).mkdir()
        (folder / name / f"{SHA256}.json").write_text(json.dumps(answer))
    return WheelCache(folder)


@pytest.fixture
def unreachable() -> WheelIndex:
    """Return an index that is never asked."""
    return WheelIndex.__new__(WheelIndex)


def test_what_a_plugin_answered_stays_where_it_cannot_be_asked(
    wheel: WheelFile, unreachable: WheelIndex, tmp_path: Path
) -> None:
    """A machine without the plugin's Python looked anew, and what it had answered was lost."""
    committed = ANSWERED | {"wheel_sha256": SHA256, "fat_binaries": 0}
    known = looked_into(unreachable, cache(tmp_path, OBSERVED, seen(PLUGIN)), wheel, committed)
    assert {name: known[name] for name in ANSWERED} == ANSWERED


def test_an_answer_of_today_counts_before_one_of_then(
    wheel: WheelFile, unreachable: WheelIndex, tmp_path: Path
) -> None:
    built = {name: "13.0" if name == "cuda" else value for name, value in ANSWERED.items() if name != "loads"}
    observed = seen(PLUGIN, built=built, opened={"loads": ["libcudnn.so.10"]})
    committed = ANSWERED | {"wheel_sha256": SHA256, "fat_binaries": 0}
    known = looked_into(unreachable, cache(tmp_path, OBSERVED, observed), wheel, committed)
    assert (known["cuda"], known["loads"]) == ("13.0", ["libcudnn.so.10"])


def test_what_was_measured_in_another_wheel_is_not_written_of_this_one(
    wheel: WheelFile, unreachable: WheelIndex, tmp_path: Path
) -> None:
    committed = ANSWERED | {"wheel_sha256": "cd" * 32, "fat_binaries": 0}
    assert looked_into(unreachable, WheelCache(tmp_path), wheel, committed) == {}


def test_of_a_loader_alone_it_is_told_what_it_opens_and_where(
    wheel: WheelFile, unreachable: WheelIndex, tmp_path: Path
) -> None:
    """Nothing of the device code, which a later look at the whole wheel tells."""
    observed = seen(LOADER, opened={"loads": ["libcudart.so.11.0"], "loads_optional": []})
    known = looked_into(unreachable, cache(tmp_path, LOADER_OBSERVED, observed), wheel, {})
    assert known == {"loader": LOADER, "rpath": ["$ORIGIN"], "loads": ["libcudart.so.11.0"],
                     "loads_optional": []}


LOOKED = {"cuda": "12.9", "cuda_from": "compiled code", "cudnn": "7.6.5", "cudnn_from": "compiled code"}


@pytest.mark.parametrize(
    ("stated", "counts"),
    [
        ({}, LOOKED),
        ({"cuda": "12", "cuda_from": "name"}, LOOKED),
        ({"cuda": "12.5.1", "cuda_from": "build file", "cudnn": "9", "cudnn_from": "requirements"}, {}),
    ],
)
def test_compiled_code_counts_where_a_wheel_does_not_tell(stated: Row, counts: Row) -> None:
    """A name such as cuda12 gives the major version alone; a build file is the maker's own word."""
    assert with_measured(stated, LOOKED) == stated | counts


def test_a_plugin_s_own_answer_counts_before_its_requirements() -> None:
    """They have the lowest that is admitted: 9.8 of a plugin that was built with 9.10.2."""
    told = {"cudnn": "9.10.2", "cudnn_from": "build functions"}
    assert with_measured({"cudnn": "9.8", "cudnn_from": "requirements"}, told) == told


def test_where_a_plugin_cannot_be_asked_the_row_of_an_older_wheel_stays(
    wheel: WheelFile, unreachable: WheelIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Without its Python "12" out of the name was written over 12.9 in silence; with it, it is asked."""
    monkeypatch.setenv("PATH", str(tmp_path))
    project = next(one for one in PROJECTS if one.name == "jax_distributions")
    plugin = replace(wheel, project="jax-cuda12-plugin", filename="jax_cuda12_plugin-9.9-cp312.whl",
                     version="9.9")
    own = Release(chosen=plugin, wheels=(plugin,))
    contents = {"libraries": {PLUGIN: "aa"}, "build": None, "bytes": 1}
    for name, answer in (("contents-3", contents), ("metadata", "Name: jax-cuda12-plugin")):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{SHA256}.json").write_text(json.dumps(answer))
    here = WheelCache(tmp_path)
    old = ANSWERED | {"wheel_sha256": "cd" * 32, "fat_binaries": 3, "build": "cuda"}
    assert complete_row(project, unreachable, here, own, old) == old
    weaker = complete_row(project, unreachable, here, own, {})
    assert (weaker["cuda"], weaker["cuda_from"]) == ("12", "name")
    (due,) = measuring_order([own], [old], every_patch=False)
    measure(project, unreachable, here, due, old, whole=True)
    assert "jax_cuda12_plugin-9.9-cp312.whl was not asked what it is built for" in capsys.readouterr().err
    assert here.find(OBSERVED, SHA256) is None  # so that it is asked as soon as it can be


def release(filename: str) -> Release:
    own = WheelFile(project="paddle", version="2.0", filename=filename, url="", sha256="", uploaded="",
                    platform="linux_x86_64", pythons=("cp312",), platform_tags=())
    return Release(chosen=own, wheels=(own,))


def test_named_wheels_are_measured_again_and_no_others() -> None:
    """A column that came later is had without looking into everything anew."""
    found = [release("paddle-2.0.whl"), release("paddle-2.1.whl"), release("paddle-3.0.whl")]
    rows: list[Row] = [{"build": "cuda", "fat_binaries": 1}, {"build": "cpu"}, {"build": "cuda"}]
    again = re.compile(r"paddle-2")
    assert list(measuring_order(found, rows, every_patch=False, again=again)) == found[:1]
    assert list(measuring_order(found, rows, every_patch=False)) == found[2:]
