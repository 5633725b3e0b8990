"""Machines that give a program little: no /proc, no HOME, nothing to write to, no current folder."""

from __future__ import annotations

import os
import shlex
import sys
from dataclasses import replace

import pytest

from tests.harness.machine import File
from tests.hosts.looking import HEALTHY, ROOT, arguments, as_user, changed, healthy, look, looked, of_probe
from tests.shim import build

NOBODY = 65534
STRANGER = 54321  # a user without a line in /etc/passwd
# What an ordinary user sees otherwise than root, or a file that is there only to be found.
OF_THE_USER = {"system.user_id", "python.user_site"}


def test_proc_that_cannot_be_read_at_all() -> None:
    """Without /proc the driver's libraries still answer, and nothing that stood there is guessed."""
    machine = replace(HEALTHY, hide=[f"/proc/{name}" for name in os.listdir("/proc")]).without("/proc")
    seen = look(machine)
    # /proc/self/maps names the loaded file; without it the loader itself is asked, in its own words.
    assert changed(healthy(), seen) <= of_probe("system", "driver", "container", "loader")
    assert seen.fact("cuda.init_code") == healthy().fact("cuda.init_code")
    assert seen.fact("gpu.name") == healthy().fact("gpu.name")
    assert seen.exit_code == 0


def test_files_of_proc_that_this_user_may_not_read() -> None:
    """What is there and refused is unknown, not absent."""
    shut = {path: File(content="", mode=0o000) for path in ("/proc/modules", "/proc/driver/nvidia/version")}
    machine = HEALTHY.adding(files=shut).without("/sys/module/nvidia/version")
    seen = look(machine, before=as_user(NOBODY))
    assert "Permission" in seen.fact("driver.kernel_version")["unknown"]
    assert "nvidia" in seen.fact("system.gpu_modules")["value"]  # /sys says so too
    assert seen.fact("gpu.name") == healthy().fact("gpu.name")


@pytest.mark.parametrize("user", [None, STRANGER])
def test_no_home(user: int | None) -> None:
    """Neither HOME nor an entry of the user is needed."""
    seen = look(HEALTHY, before=[*(as_user(user) if user else ()), "env", "-u", "HOME"])
    assert seen.exit_code == 0
    assert changed(healthy(), seen) <= OF_THE_USER


def test_environment_that_is_empty() -> None:
    """Not one variable is needed."""
    seen = look(HEALTHY, before=["env", "-i"])
    assert seen.exit_code == 0
    assert changed(healthy(), seen) <= {"driver.nvidia_smi", "toolkit.nvcc"}


def test_nothing_can_be_written() -> None:
    """A read-only root without a writable folder for temporary files costs nothing."""
    seen = look(replace(HEALTHY, read_only=True))
    assert seen.exit_code == 0
    assert changed(healthy(), seen) == set()


def test_current_folder_that_was_removed() -> None:
    """A folder that is gone under our feet has no files that hide a framework's name."""
    line = shlex.join(arguments())
    script = f"mkdir /tmp/gone && cd /tmp/gone && rmdir /tmp/gone && exec {line}"
    seen = looked(HEALTHY.run(["sh", "-c", script], environment={"PYTHONPATH": str(ROOT)}))
    assert seen.exit_code == 0
    assert changed(healthy(), seen) <= {"environment.PYTHONPATH"}


def test_library_path_of_500_folders() -> None:
    """A long LD_LIBRARY_PATH is reported whole, in its order, in the time of a short one."""
    folders = [f"/opt/libraries/{number:03}" for number in range(500)]
    seen = look(HEALTHY, environment={"LD_LIBRARY_PATH": ":".join(folders)})
    assert seen.fact("loader.library_path")["value"] == folders
    assert changed(healthy(), seen) <= {"environment.LD_LIBRARY_PATH", "loader.library_path"}


def test_library_path_with_a_folder_of_20000_files() -> None:
    """A folder full of other files, GPU libraries among them, neither slows nor floods the report."""
    script = (
        "import os, pathlib; folder = pathlib.Path('/tmp/many'); folder.mkdir()\n"
        "for number in range(20000): (folder / f'file{number}').touch()\n"
        "for number in range(50): (folder / f'libcudnn_{number:02}.so.9').touch()\n"
        f"os.execv({sys.executable!r}, {arguments(timeout_seconds=10)!r})"
    )
    seen = looked(
        HEALTHY.run(
            [sys.executable, "-c", script], environment={"LD_LIBRARY_PATH": "/tmp/many"}, cwd=str(ROOT)
        )
    )
    assert changed(healthy(), seen) <= {"environment.LD_LIBRARY_PATH", "loader.library_path", "loader.files"}
    listed = [
        record for record in seen.fact("loader.files")["value"] if record["path"].startswith("/tmp/many/")
    ]
    assert len(listed) == 50
    assert {record["error"] for record in listed} == {"empty file"}


def test_library_path_with_a_folder_that_may_not_be_read() -> None:
    """A folder whose names may not be listed is left to the loader; in a shut one it finds nothing either."""
    folders = {"/opt/shut": 0o000, "/opt/unlisted": 0o711}
    machine = replace(HEALTHY, directories={**HEALTHY.directories, **folders})
    path = "/opt/shut:/opt/unlisted:/etc/hostname:/nowhere::relative"
    seen = look(machine, before=as_user(NOBODY), environment={"LD_LIBRARY_PATH": path})
    assert seen.fact("loader.library_path")["value"] == [
        "/opt/shut",
        "/opt/unlisted",
        "/etc/hostname",
        "/nowhere",
        str(ROOT),
        str(ROOT / "relative"),
    ]
    assert changed(healthy(), seen) <= OF_THE_USER | {
        "environment.LD_LIBRARY_PATH",
        "loader.library_path",
        "loader.files",
    }
    refused = {record["path"]: record["error"] for record in seen.fact("loader.files")["value"]
               if record["path"] in folders}
    assert list(refused) == ["/opt/unlisted"]
    assert "Permission" in refused["/opt/unlisted"]
    assert seen.exit_code == 0


def test_library_path_that_leads_to_a_broken_libcuda() -> None:
    """The first libcuda on the path is what a framework would get, so its fault is what is reported."""
    machine = HEALTHY.adding(libraries={"/opt/broken/libcuda.so.1": build.crashing(soname="libcuda.so.1")})
    seen = look(machine, environment={"LD_LIBRARY_PATH": "/opt/broken"})
    assert seen.outcomes["cuda"] == "signal"
    assert seen.exit_code == 3
    assert changed(healthy(), seen) <= of_probe("cuda") | {
        "environment.LD_LIBRARY_PATH",
        "loader.library_path",
        "loader.files",
        "driver.libcuda_files",
        "driver.libcuda_file_version",
    }
