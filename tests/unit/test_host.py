"""The door to files and environment, on real files: every answer a value, and nothing blocks."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path

import pytest

from gpudoctor import host
from gpudoctor.host import Data, Host, Kind, Missing, Names, Refused, Text

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
HERE = Host()


# Reading


def test_a_file_is_read_as_bytes_and_as_text(tmp_path: Path) -> None:
    file = tmp_path / "caf\u00e9"
    file.write_bytes(b"caf\xc3\xa9 \xff\x00\r\n")
    assert HERE.read_bytes(str(file)) == Data(data=b"caf\xc3\xa9 \xff\x00\r\n")
    assert HERE.read_text(str(file)) == Text(text="caf\u00e9 \ufffd\x00\r\n")


def test_a_text_never_holds_what_no_output_could_take(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(bytes(range(256)) + b"\xed\xa0\x80")
    answer = HERE.read_text(str(tmp_path / "file"))
    assert isinstance(answer, Text)
    assert answer.text.encode("utf-8")


@pytest.mark.parametrize(
    ("limit", "data", "truncated"),
    [(4, b"0123", True), (10, b"0123456789", False), (11, b"0123456789", False), (0, b"", True)],
)
def test_a_read_is_bounded_to_the_byte(limit: int, data: bytes, truncated: bool, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"0123456789")
    assert HERE.read_bytes(str(tmp_path / "file"), limit_bytes=limit) == Data(data=data, truncated=truncated)


def test_a_file_far_longer_than_memory_is_cut(tmp_path: Path) -> None:
    with (tmp_path / "file").open("wb") as file:
        file.truncate(2**40)
    answer = HERE.read_bytes(str(tmp_path / "file"))
    assert isinstance(answer, Data)
    assert (len(answer.data), answer.truncated) == (1024 * 1024, True)


@LINUX
def test_files_of_proc_that_claim_to_be_empty_are_read() -> None:
    answer = HERE.read_text("/proc/self/status")
    assert isinstance(answer, Text)
    assert answer.text.startswith("Name:")


@pytest.mark.parametrize("path", ["/no/such/file", "/etc/passwd/file", "/proc/999999999/stat", ""])
def test_what_is_not_there_is_missing(path: str) -> None:
    assert HERE.read_text(path) == Missing()
    assert HERE.list_folder(path) == Missing()
    assert HERE.link_target(path) == Missing()
    assert HERE.entry(path) == Missing()
    assert HERE.access(path) == Missing()


@pytest.mark.parametrize("path", ["/nul\0", "/\ud800", "/" + "x" * 5000])
def test_a_path_that_nothing_can_have_is_refused(path: str) -> None:
    for answer in (HERE.read_text(path), HERE.list_folder(path), HERE.link_target(path), HERE.access(path)):
        assert isinstance(answer, Refused)
        assert "\n" not in answer.reason


def test_a_named_pipe_is_refused_at_once_and_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert HERE.read_text(str(tmp_path / "pipe")) == Refused(reason="is a pipe, not a regular file")


@pytest.mark.parametrize(
    ("path", "kind"), [("/dev/null", "character device"), ("/dev/zero", "character device"), ("/", "folder")]
)
def test_devices_and_folders_are_not_read(path: str, kind: str) -> None:
    assert HERE.read_text(path) == Refused(reason=f"is a {kind}, not a regular file")


def test_a_socket_is_refused(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.path.relpath(tmp_path / "s"))
        assert HERE.read_text(str(tmp_path / "s")) == Refused(reason="is a socket, not a regular file")


def test_a_loop_of_links_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    for place in (HERE.read_text(str(tmp_path / "a")), Host(str(tmp_path)).read_text("/a")):
        assert place == Refused(reason=os.strerror(40))


@LINUX
def test_an_error_while_reading_is_refused() -> None:
    """The beginning of a process's memory is mapped by nobody."""
    assert HERE.read_bytes("/proc/self/mem") == Refused(reason="Input/output error")


# Folders, links, entries, rights


def test_a_folder_is_listed_in_order_and_bounded(tmp_path: Path) -> None:
    for name in "cab":
        (tmp_path / name).touch()
    assert HERE.list_folder(str(tmp_path)) == Names(names=("a", "b", "c"))
    answer = HERE.list_folder(str(tmp_path), limit_names=2)
    assert isinstance(answer, Names)
    assert (len(answer.names), answer.truncated) == (2, True)


@LINUX
def test_a_name_that_is_no_text_leads_to_its_file_and_can_be_printed(tmp_path: Path) -> None:
    with open(os.fsencode(tmp_path) + b"/caf\xe9", "wb") as file:
        file.write(b"x")
    answer = HERE.list_folder(str(tmp_path))
    assert isinstance(answer, Names)
    assert HERE.read_text(f"{tmp_path}/{answer.names[0]}") == Text(text="x")
    assert host.readable(answer.names[0]) == "caf\ufffd"


def test_a_link_says_where_it_points(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("nowhere/../file")
    (tmp_path / "good").symlink_to("file")
    (tmp_path / "file").touch()
    assert HERE.link_target(str(tmp_path / "link")) == Text(text="nowhere/../file")
    assert HERE.real_path(str(tmp_path / "link")) == Missing()
    assert HERE.real_path(str(tmp_path / "good")) == Text(text=str((tmp_path / "file").resolve()))
    assert isinstance(HERE.link_target(str(tmp_path / "file")), Refused)


def test_entries_tell_files_links_and_devices_apart(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"12345")
    (tmp_path / "file").chmod(0o640)
    (tmp_path / "link").symlink_to("file")
    file, link = HERE.entry(str(tmp_path / "file")), HERE.entry(str(tmp_path / "link"), follow=False)
    assert file == host.Entry(
        kind=Kind.FILE,
        mode=0o640,
        owner=os.geteuid(),
        group=os.stat(tmp_path / "file").st_gid,
        size_bytes=5,
        device=None,
    )
    assert HERE.entry(str(tmp_path / "link")) == file
    assert isinstance(link, host.Entry)
    assert link.kind is Kind.LINK
    null = HERE.entry("/dev/null")
    assert isinstance(null, host.Entry)
    assert null.kind is Kind.CHARACTER_DEVICE
    assert null.device == (os.major(os.stat("/dev/null").st_rdev), os.minor(os.stat("/dev/null").st_rdev))


def test_rights_are_those_of_this_process(tmp_path: Path) -> None:
    (tmp_path / "program").touch(mode=0o700)
    (tmp_path / "text").touch(mode=0o600)
    assert HERE.access(str(tmp_path / "program")) == host.Access(
        readable=True, writable=True, executable=True
    )
    assert HERE.access(str(tmp_path / "text")) == host.Access(readable=True, writable=True, executable=False)


# Another root


def test_links_of_a_recorded_host_never_lead_out_of_it(tmp_path: Path) -> None:
    (tmp_path / "usr/lib").mkdir(parents=True)
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/passwd").write_text("recorded")
    (tmp_path / "lib").symlink_to("/usr/lib")
    (tmp_path / "usr/lib/absolute").symlink_to("/etc/passwd")
    (tmp_path / "usr/lib/upwards").symlink_to("../../../../../../../../etc/passwd")
    (tmp_path / "usr/lib/nowhere").symlink_to("/etc/hostname")
    recorded = Host(str(tmp_path))
    for path in ("/etc/passwd", "/lib/absolute", "lib/upwards", "/../lib/./absolute"):
        assert recorded.read_text(path) == Text(text="recorded")
        assert recorded.real_path(path) == Text(text="/etc/passwd")
    assert recorded.read_text("/lib/nowhere") == Missing()
    assert recorded.link_target("/lib/absolute") == Text(text="/etc/passwd")
    assert recorded.list_folder("/lib") == Names(names=("absolute", "nowhere", "upwards"))
    entry = recorded.entry("/lib", follow=False)
    assert isinstance(entry, host.Entry)
    assert entry.kind is Kind.LINK
    assert recorded.real_path("/") == Text(text="/")
