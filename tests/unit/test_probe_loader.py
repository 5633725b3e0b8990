"""The loader probe, held against the machine's own loader and ldconfig."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudoctor.model import Absent, Fact, Unknown
from gpudoctor.payloads import ldcache
from gpudoctor.payloads import loader as payload
from gpudoctor.probes import loader
from gpudoctor.probes.raw import Answer
from tests.shim import build
from tests.unit.file_answers import JSON, OUTCOMES, ask, assert_total, good, interpreter, spoiled, value

LDCONFIG = shutil.which("ldconfig", path="/sbin:/usr/sbin:/usr/bin")
FILE: dict[str, Any] = {
    "path": "/usr/lib64/libcudnn.so.9", "real_path": "/usr/lib64/libcudnn.so.9.5.1", "size_bytes": 100,
    "machine": "x86_64", "elf_class": 64, "soname": "libcudnn.so.9", "error": None}
SAMPLE: dict[str, Any] = {
    "machine": "x86_64",
    "loader": "/lib64/ld-linux-x86-64.so.2",
    "default_folders": ["/lib64", "/usr/lib64"],
    "default_error": None,
    "cache": {"path": "/etc/ld.so.cache", "total": 9, "entries": [
        {"soname": "libcuda.so.1", "path": "/usr/lib64/libcuda.so.1", "flags": 771}]},
    "library_path": [{"written": "/secret", "folder": "/secret"}],
    "folders": [{"path": "/secret", "error": "PermissionError: Permission denied"},
                {"path": "/lib64", "missing": True}, {"path": "/usr/lib64", "files": [FILE], "left_out": 3}],
    "cached_files": [{**FILE, "path": "/opt/libcudart.so.12", "real_path": "/opt/libcudart.so.12"}],
}
# Below each folder the loader tries sub-folders for the processor first; GPU libraries have none there.
_PROCESSOR_FOLDER = re.compile(r"(^|/)(glibc-hwcaps/[^/]+|tls|x86_64|haswell|avx512_1|atomics)$")


def _said_by_the_loader(value: str | None) -> dict[str, list[str]]:
    """Return the search path of each kind, as this machine's loader prints it for a missing library."""
    environment = {**os.environ, "LD_DEBUG": "libs", "LD_PRELOAD": "libgpudoctor-nowhere.so"}
    environment.pop("LD_LIBRARY_PATH", None)
    if value is not None:
        environment["LD_LIBRARY_PATH"] = value
    command = [sys.executable, "-c", ""]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    said: dict[str, list[str]] = {}
    looking = False
    for line in run.stderr.splitlines():
        if "find library=" in line:
            looking = "libgpudoctor-nowhere.so" in line
        found = re.search(r"search path=(.*?)\t+\((.*)\)", line)
        if looking and found:
            folders = [folder for folder in found.group(1).split(":") if not _PROCESSOR_FOLDER.search(folder)]
            said.setdefault(found.group(2), folders)
    return said


def test_the_built_in_folders_are_those_of_this_machines_loader() -> None:
    """Read from the loader's bytes, and as it says itself."""
    said = _said_by_the_loader(None)
    if "system search path" not in said:
        pytest.skip("this machine's loader does not print its search path")
    assert payload.default_folders()["folders"] == said["system search path"]


@pytest.mark.parametrize("value", [
    "/a:/b", "/a;/b/", "/a::/b", "/a:", "$ORIGIN/x:${ORIGIN}/y", "$LIB/q:/r/${LIB}", "/p/$PLATFORM/z",
    "rel:./rel/", "/a:/b:/a"])
def test_the_library_path_is_expanded_as_by_this_machines_loader(value: str) -> None:
    """Separators, empty and relative entries, tokens."""
    said = _said_by_the_loader(value)
    if "LD_LIBRARY_PATH" not in said:
        pytest.skip("this machine's loader does not print its search path")
    expected = [os.path.join(os.getcwd(), folder).rstrip("/") for folder in said["LD_LIBRARY_PATH"]]
    entries = payload.expand_library_path(value, payload.default_folders()["folders"], sys.executable)
    folders = [entry["folder"] for entry in entries or []]
    assert list(dict.fromkeys(folders)) == expected


def test_an_unset_and_an_empty_library_path() -> None:
    """None is not set; an empty one has no entry."""
    assert payload.expand_library_path(None, [], "/bin/x") is None
    assert payload.expand_library_path("", [], "/bin/x") == []


@pytest.mark.parametrize(("data", "folders"), [
    (b"\0/lib64/\0/usr/lib64/\0\0", ["/lib64", "/usr/lib64"]),
    (b"\0/lib/aarch64-linux-gnu/\0/usr/lib/aarch64-linux-gnu/\0/lib/\0/usr/lib/\0",
     ["/lib/aarch64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/lib", "/usr/lib"]),
    (b"/proc/self/\0x/nix/store/abc-glibc-2.40/lib/\0", ["/nix/store/abc-glibc-2.40/lib"]),
    (b"nothing here", []),
])
def test_built_in_folders_of_other_distributions(data: bytes, folders: list[str]) -> None:
    """Red Hat's, Debian's on Arm, and Nix's."""
    assert payload.built_in_folders(data) == folders


@pytest.mark.parametrize(("name", "wanted"), [
    ("libcuda.so.1", True), ("libcudart.so.12.4.127", True), ("libcudnn_ops.so.9", True),
    ("libnvJitLink.so.12", True),
    ("libnvidia-ml.so.1", True), ("libnccl.so.2", True), ("libcupti.so.13", True), ("libnvinfer.so.10", True),
    ("libcublasLt.so.12", True), ("libcurl.so.4", False), ("libcups.so.2", False), ("libnvme.so.1", False),
    ("libcudart_static.a", False), ("libcurses.so", False), ("libcuda.so.1.bak", False),
])
def test_gpu_libraries_are_told_by_name(name: str, wanted: bool) -> None:
    """Not everything that begins with libcu is CUDA's."""
    assert bool(payload.GPU_LIBRARY.match(name)) is wanted


@pytest.mark.parametrize("layout", ["new", "compat", "old"])
def test_caches_that_ldconfig_writes(tmp_path: Path, layout: str) -> None:
    """All three formats, each read as ldconfig itself lists it."""
    if LDCONFIG is None:
        pytest.skip("no ldconfig")
    folder = tmp_path / "lib"
    build.place(build.cuda(driver_version="570.86.15"), folder, soname="libcuda.so.1", version="570.86.15")
    configuration, cache = tmp_path / "conf", tmp_path / "cache"
    configuration.write_text(f"{folder}\n")
    command = [LDCONFIG, "-X", "-C", str(cache), "-f", str(configuration), "-c", layout]
    if subprocess.run(command, capture_output=True, check=False).returncode != 0:
        pytest.skip(f"this ldconfig does not write the format {layout}")
    answer = ldcache.read_cache(str(cache))
    entries = ldcache.for_machine(answer["entries"], os.uname().machine)
    mine = [entry["path"] for entry in entries if entry["soname"] == "libcuda.so.1"]
    assert mine[0] == str(folder / "libcuda.so.1")
    listing = subprocess.run([LDCONFIG, "-p", "-C", str(cache)], capture_output=True, text=True, check=True)
    theirs = re.findall(r"^\t(\S+) \(.*\) => (.+)$", listing.stdout, re.MULTILINE)
    assert [(entry["soname"], entry["path"]) for entry in answer["entries"]] == theirs


@given(st.data())
def test_a_damaged_cache_is_an_error_and_no_crash(data: st.DataObject) -> None:
    """Cut, or with any bytes changed."""
    whole = bytearray(b"glibc-ld.so.cache1.1" + (1).to_bytes(4, "little") + bytes(24)
                      + (771).to_bytes(4, "little") + (72).to_bytes(4, "little") + (85).to_bytes(4, "little")
                      + bytes(12) + b"libcuda.so.1\0/lib/libcuda.so.1\0")
    entry = {"soname": "libcuda.so.1", "path": "/lib/libcuda.so.1", "flags": 771}
    assert ldcache.parse(bytes(whole)) == [entry]
    for position in data.draw(st.lists(st.integers(0, len(whole) - 1), max_size=6)):
        whole[position] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(whole)))
    try:
        entries = ldcache.parse(bytes(whole[:cut]))
    except ldcache.Malformed:
        return
    assert all(isinstance(entry["soname"], str) and isinstance(entry["path"], str) for entry in entries)


def test_a_missing_cache_is_absent_and_a_refused_one_unknown() -> None:
    """NixOS and musl have none."""
    for answer, kind in (({"missing": True}, Absent), ({"error": "PermissionError: x"}, Unknown)):
        facts = loader.read(good({**SAMPLE, "cache": {"path": "/etc/ld.so.cache", **answer}}))
        assert isinstance(facts["loader.cache"], kind)


def test_files_and_what_could_not_be_listed() -> None:
    """A refused folder is a record with an error, a missing one is nothing."""
    facts: dict[str, Fact] = loader.read(good(SAMPLE))
    assert value(facts["loader.files"]) == (
        {"path": "/secret", "error": "PermissionError: Permission denied"},
        {"path": "/usr/lib64/libcudnn.so.9", "real_path": "/usr/lib64/libcudnn.so.9.5.1",
         "soname": "libcudnn.so.9", "machine": "x86_64", "size_bytes": 100, "version": "9.5.1"},
        {"path": "/usr/lib64", "error": "3 more files were not looked at"},
        {"path": "/opt/libcudart.so.12", "real_path": "/opt/libcudart.so.12", "soname": "libcudnn.so.9",
         "machine": "x86_64", "size_bytes": 100})
    closed = {"path": "/closed", "error": "PermissionError: Permission denied", "closed": True}
    nothing = loader.read(good({**SAMPLE, "folders": [closed], "cached_files": []}))
    assert value(nothing["loader.files"]) == ()  # the loader can open nothing in it either
    assert value(facts["loader.default_folders"]) == ("/lib64", "/usr/lib64")
    assert value(facts["loader.cache"]) == ({"soname": "libcuda.so.1", "path": "/usr/lib64/libcuda.so.1"},)


@pytest.mark.parametrize("version", ["3.6", "3.13"])
def test_a_folder_on_the_library_path(tmp_path: Path, version: str) -> None:
    """Real libraries, an empty file, a dangling link, a pipe, and files of other kinds."""
    build.place(build.cuda(driver_version="570.86.15"), tmp_path, soname="libcuda.so.1", version="570.86.15")
    (tmp_path / "libcudart.so.12").touch()
    (tmp_path / "libcudnn.so.9").symlink_to("nowhere")
    os.mkfifo(tmp_path / "libnccl.so.2")
    (tmp_path / "libcurl.so.4").touch()
    answer = ask("loader", interpreter=interpreter(version), environment={"LD_LIBRARY_PATH": str(tmp_path)})
    assert answer.outcome == "ok", answer
    files = value(loader.read(answer)["loader.files"])
    assert isinstance(files, tuple)
    mine = {str(file["path"]).removeprefix(f"{tmp_path}/"): file for file in files
            if str(file["path"]).startswith(f"{tmp_path}/")}
    errors = {name: file.get("error") for name, file in mine.items()}
    assert errors == {
        "libcuda.so.1": None, "libcuda.so.570.86.15": None, "libcudart.so.12": "empty file",
        "libcudnn.so.9": "No such file or directory", "libnccl.so.2": "not a regular file"}
    library = mine["libcuda.so.1"]
    assert (library["soname"], library["machine"], library["version"]) == (
        "libcuda.so.1", os.uname().machine, "570.86.15")


@given(data=JSON, outcome=OUTCOMES)
def test_any_json_is_read(data: Any, outcome: str) -> None:
    """No exception, and every promised name, whatever comes."""
    assert_total(loader, "loader", Answer(outcome=outcome, seconds=0.0, data=data))


@given(data=spoiled(SAMPLE))
def test_any_json_inside_a_good_answer_is_read(data: Any) -> None:
    """The same with one place of a good answer spoiled."""
    assert_total(loader, "loader", good(data))
