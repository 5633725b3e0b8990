"""What a process has mapped, from the kernel's own words to facts; and its links below its root."""

from __future__ import annotations

import ctypes
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from gpudoctor.host import Host, Text
from gpudoctor.model import Absent, Known, Unknown
from gpudoctor.payloads import process as payload
from gpudoctor.probes import container, process
from gpudoctor.probes.raw import NOT_COLLECTED, Answer
from tests.harness.elf import standin

MAPS = """\
55d0c0a00000-55d0c0a01000 r--p 00000000 fe:00 131 /opt/env/bin/python3.11
7f10a0000000-7f10a0001000 r--p 00000000 fe:00 132 {folder}/libcudnn.so.9
7f10a0001000-7f10a0002000 r-xp 00001000 fe:00 132 {folder}/libcudnn.so.9
7f10a1000000-7f10a1001000 r--p 00000000 fe:00 133 {folder}/a b/libnccl.so.2 (deleted)
7f10a2000000-7f10a2001000 r--p 00000000 fe:00 134 {folder}/odd\\012name/libcublas.so.12
7f10a3000000-7f10a3001000 r--p 00000000 00:01 135 /memfd:libcuda.so.1 (deleted)
7f10a4000000-7f10a4001000 rw-p 00000000 00:00 0
7ffd00000000-7ffd00001000 rw-p 00000000 00:00 0 [stack]
nonsense
"""


def test_mapped_libraries(tmp_path: Path) -> None:
    """Each once, with the name that it has for the loader; one that is gone is told apart."""
    shutil.copy(standin("libcudnn.so.9"), tmp_path / "libcudnn.so.9")
    found = payload.mapped(MAPS.format(folder=tmp_path))
    assert found == [
        {"path": f"{tmp_path}/libcudnn.so.9", "soname": "libcudnn.so.9", "deleted": False},
        {"path": f"{tmp_path}/a b/libnccl.so.2", "soname": None, "deleted": True},
        {"path": f"{tmp_path}/odd\nname/libcublas.so.12", "soname": None, "deleted": False},
    ]


def test_own_process(tmp_path: Path) -> None:
    """A library that this very process loads, and then loses."""
    path = tmp_path / "libnvrtc.so.12"
    shutil.copy(standin("libnvrtc.so.12"), path)
    ctypes.CDLL(str(path))
    assert {"path": str(path), "soname": "libnvrtc.so.12", "deleted": False} in libraries_of(os.getpid())
    path.unlink()
    assert {"path": str(path), "soname": None, "deleted": True} in libraries_of(os.getpid())
    other = {"numbers": [os.getpid()], "started": 5}  # its number belongs to us by now
    assert payload.collect({"process": other})["libraries"] == {"missing": True}
    assert payload.collect({})["libraries"] == {"missing": True}


def libraries_of(number: int) -> list[dict[str, Any]]:
    """Return what the collector says of a process."""
    started = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[19]
    request = {"process": {"numbers": [1 << 40, 1, number], "started": int(started)}}
    found: list[dict[str, Any]] = payload.collect(request)["libraries"]
    return found


def test_without_a_process_nothing_is_there() -> None:
    """Absent, so that no rule waits for it."""
    facts = process.read(NOT_COLLECTED)
    assert set(facts) == {"process.id", "process.command", "process.libraries"}
    assert all(isinstance(fact, Absent) for fact in facts.values())


@pytest.mark.parametrize("outcome", ["ok", "timeout", "exit"])
def test_process_is_named_however_asking_it_ended(outcome: str) -> None:
    """What could not be seen of it is unknown, but not which one it was."""
    named = {"id": 7, "command": "python x"}
    facts = process.read(Answer(outcome=outcome, seconds=1.0, detail="no", data=named))
    assert facts["process.id"] == Known(value=7, source="--pid")
    assert facts["process.command"] == Known(value="python x", source="/proc/7/cmdline")
    assert isinstance(facts["process.libraries"], Unknown)


NONSENSE: list[Any] = [None, [], 7, {"id": "x", "command": 3, "libraries": 5}, {"libraries": {"error": 1}}]


@pytest.mark.parametrize("data", NONSENSE)
def test_any_answer_is_read(data: Any) -> None:
    """Nonsense is unknown, never a process without libraries."""
    facts = process.read(Answer(outcome="ok", seconds=0.0, data=data))
    assert all(isinstance(fact, Unknown) for fact in facts.values())


def test_container_of_another_process() -> None:
    """The traces are those of the process, and so are the sources."""
    answer = {"files": {}, "process": "/proc/7", "cgroup_self": {"text": "0::/docker/0123456789ab\n"},
              "mounts": {"lines": []}}
    facts = container.read(Answer(outcome="ok", seconds=0.0, data=answer))
    assert facts["container.runtime"] == Known(value="docker", source="/proc/7/cgroup")


def test_links_below_the_root_of_a_process(tmp_path: Path) -> None:
    """/proc/N/root is itself a link to what the system calls /: it must not lead out of that root."""
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "program").touch()
    (tmp_path / "link").symlink_to(tmp_path / "a" / "program")
    host = Host(root="/proc/self/root")
    assert host.real_path(str(tmp_path / "link")) == Text(text=os.path.realpath(tmp_path / "a" / "program"))
