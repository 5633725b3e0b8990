"""The driver release in the bytes of its libraries, NVIDIA's own among them."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from gpudoctor.payloads import library_version
from tests.unit.driver_answers import real_libraries


def test_versions_in_the_bytes_of_nvidias_own_libraries(tmp_path: Path) -> None:
    """Under names that give nothing away."""
    folder = real_libraries()
    for soname in ("libcuda.so.1", "libnvidia-ml.so.1"):
        release = (folder / soname).resolve().name.partition(".so.")[2]
        anonymous = tmp_path / soname
        shutil.copy(folder / soname, anonymous)
        answer = library_version.read_version(str(anonymous))
        assert (answer["version"], answer["version_source"], answer["error"]) == (release, "bytes", None)


@pytest.mark.parametrize("before", [0, library_version.PIECE_BYTES - 40, library_version.PIECE_BYTES - 30])
def test_a_mark_across_two_pieces_is_found(tmp_path: Path, before: int) -> None:
    """Wherever it lies in the file."""
    path = tmp_path / "libcuda.so.1"
    path.write_bytes(b"x" * before + b"/nvidia-application-profiles-580.65.06-rc\0" + b"y" * 99)
    assert library_version.read_version(str(path))["version"] == "580.65.06"


def test_other_releases_named_in_the_bytes_are_not_the_version(tmp_path: Path) -> None:
    """Drivers carry numbers of releases whose bugs they work around; then the name is all there is."""
    path = tmp_path / "libcuda.so.570.86.15"
    path.write_bytes(b"\x00470.57.01\x00525.65\x00")
    answer = library_version.read_version(str(path))
    assert (answer["version"], answer["version_source"]) == ("570.86.15", "name")


def test_what_is_no_library_never_blocks_or_raises(tmp_path: Path) -> None:
    """An empty file, a folder, a pipe nobody writes to, nothing at all."""
    empty, folder, pipe = tmp_path / "libcuda.so.570.86.15", tmp_path / "folder", tmp_path / "pipe"
    empty.touch()
    folder.mkdir()
    os.mkfifo(pipe)
    paths = (empty, folder, pipe, tmp_path / "nothing")
    answers = [library_version.read_version(str(path)) for path in paths]
    assert [answer["version"] for answer in answers] == [None] * 4
    assert [answer["error"] for answer in answers] == [
        "empty file", "not a regular file", "not a regular file", "No such file or directory"]
