"""Environment, programs, rights and writing, partly looked at in a program of its own."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import gpudoctor
from gpudoctor import host
from gpudoctor.host import Data, Host, Missing, Refused, Text

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="needs Linux")
ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
HERE = Host()


def output_of(code: str, **environment: str) -> str:
    """Run a program that uses `host` and return what it prints."""
    everything = {**os.environ, "PYTHONPATH": str(Path(gpudoctor.__file__).parents[1]), **environment}
    argv = [sys.executable, "-c", "import os\nfrom gpudoctor import host\n" + code]
    return subprocess.run(
        argv, env=everything, stdout=subprocess.PIPE, check=True, timeout=60, text=True
    ).stdout


# Environment and programs


@LINUX
def test_the_environment_survives_the_way_through_unchanged() -> None:
    code = "import os; os.execvpe('env', ['env', '-0'], host.environment())"
    given = {
        b"PATH": os.fsencode(os.environ["PATH"]),
        b"BYTES": b"a\xff\nb",
        b"PYTHONPATH": os.fsencode(Path(gpudoctor.__file__).parents[1]),
    }
    argv = [sys.executable, "-c", "from gpudoctor import host\n" + code]
    output = subprocess.run(argv, env=given, stdout=subprocess.PIPE, check=True, timeout=60).stdout
    assert b"BYTES=a\xff\nb\0" in output


def test_the_environment_is_a_copy() -> None:
    copy = host.environment()
    copy["GPUDOCTOR_TEST_ONLY"] = "x"
    assert "GPUDOCTOR_TEST_ONLY" not in os.environ


def test_a_program_is_found_as_a_shell_finds_it(tmp_path: Path) -> None:
    for folder, mode in (("a", 0o644), ("b", 0o755), ("c", 0o755)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "tool").touch()
        (tmp_path / folder / "tool").chmod(mode)
    (tmp_path / "a/folder").mkdir()
    (tmp_path / "b/folder").touch()
    search_path = os.pathsep.join(str(tmp_path / name) for name in ("none", "a", "b", "c"))
    assert host.which("tool", search_path) == Text(text=str(tmp_path / "b/tool"))
    assert host.which("folder", search_path) == Missing()
    assert host.which(str(tmp_path / "c/tool"), "/nowhere") == Text(text=str(tmp_path / "c/tool"))
    assert host.which("too\0l", search_path) == Missing()
    assert isinstance(host.which("sh"), Text)


# Rights and writing


@LINUX
@ROOT
def test_what_may_not_be_read_is_refused_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("x")
    (tmp_path / "secret").chmod(0)
    (tmp_path / "closed").mkdir(mode=0)
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o755)
    code = f"""
os.chdir({str(tmp_path)!r}); os.setgroups([]); os.setgid(61234); os.setuid(61234)
here = host.Host()
print(here.read_text("secret"), here.list_folder("closed"), here.entry("closed/x"), sep="\\n")
print(here.access("secret"))
print(host.write_atomically("new", b"x"))
"""
    denied = "Refused(reason='Permission denied')\n"
    access = "Access(readable=False, writable=False, executable=False)\n"
    assert output_of(code) == denied * 3 + access + denied


def test_a_new_file_gets_the_rights_that_the_umask_leaves(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        assert host.write_atomically(str(tmp_path / "new"), b"text\n") is None
    finally:
        os.umask(before)
    assert (tmp_path / "new").read_bytes() == b"text\n"
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o640


def test_an_old_file_keeps_its_rights_and_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("old")
    (tmp_path / "file").chmod(0o604)
    (tmp_path / "link").symlink_to("file")
    assert host.write_atomically(str(tmp_path / "link"), b"new") is None
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_text() == "new"
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o604
    assert sorted(os.listdir(tmp_path)) == ["file", "link"]


@ROOT
def test_root_does_not_take_a_file_from_its_owner(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    os.chown(tmp_path / "file", 61234, 61235)
    assert host.write_atomically(str(tmp_path / "file"), b"new") is None
    status = (tmp_path / "file").stat()
    assert (status.st_uid, status.st_gid) == (61234, 61235)


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("/no/such/folder/file", "no such folder"),
        ("/proc/file", "no file can be made in that folder"),
        ("/dev/null", "is a character device, not a regular file"),
        ("/", "is a folder, not a regular file"),
        ("/nul\0", "unusable path"),
    ],
)
def test_what_cannot_be_written_says_why_and_is_left_alone(path: str, reason: str) -> None:
    answer = host.write_atomically(path, b"x")
    assert isinstance(answer, Refused)
    assert reason in answer.reason
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


@LINUX
def test_the_end_of_a_pipe_is_not_replaced_by_a_file() -> None:
    """`--output /dev/stdout`, where stdout is a pipe."""
    assert (
        output_of("print(host.write_atomically('/dev/stdout', b'x'))")
        == "Refused(reason='is a pipe, not a regular file')\n"
    )


@LINUX
def test_a_full_disk_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    """The limit on the size of files stands in for the disk: the write fails half-way."""
    (tmp_path / "file").write_text("old")
    code = f"""
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
print(host.write_atomically({str(tmp_path / "file")!r}, b"x" * 100_000))
"""
    assert output_of(code) == "Refused(reason='File too large')\n"
    assert (tmp_path / "file").read_text() == "old"
    assert os.listdir(tmp_path) == ["file"]


def test_a_reader_never_sees_half_a_file(tmp_path: Path) -> None:
    path = str(tmp_path / "file")
    contents = [bytes([letter]) * 300_000 for letter in b"ab"]
    host.write_atomically(path, contents[0])
    stop = threading.Event()

    def write() -> None:
        while not stop.is_set():
            for data in contents:
                host.write_atomically(path, data)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        seen = [HERE.read_bytes(path) for _ in range(100)]
    finally:
        stop.set()
        writer.join()
    assert all(answer in [Data(data=data) for data in contents] for answer in seen)
