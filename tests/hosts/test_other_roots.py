"""check --pid from outside: a process with a root and namespaces of its own, as containers have them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import pytest

from tests.harness.interpreters import need_python
from tests.harness.machine import Machine
from tests.harness.namespace import Completed
from tests.hosts.beside import SLEEPER, SLEEPER_CODE, UP, sleeper
from tests.hosts.looking import DRIVER, HEALTHY, LIBCUDA, ROOT, Looked, arguments, looked

USER = 4711
SYSTEM_PYTHON = Path("/usr/bin/python3")

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can enter another mount namespace")


def innermost(number: int) -> int:
    """Return the youngest descendant of a process, each having one child at most."""
    while children := Path(f"/proc/{number}/task/{number}/children").read_text().split():
        number = int(children[0])
    return number


@contextmanager
def running(machine: Machine, command: list[str], environment: dict[str, str]) -> Iterator[int]:
    """Yield the number, as it is counted here, of a sleeper that runs in a machine of its own."""
    position = command.index(SLEEPER)
    started = machine.adding(files={SLEEPER: SLEEPER_CODE, "/opt/wait.py": WAIT}).start(
        [*command[:position], "/opt/wait.py", *command[position:]], cwd="/opt", environment=environment)
    try:
        deadline = time.monotonic() + 30
        while "up" not in started.output_so_far()[0]:
            assert time.monotonic() < deadline, started.output_so_far()
            time.sleep(0.05)
        yield innermost(started.process.pid)
    finally:
        started.interrupt()
        started.wait(20)


# Becomes the sleeper, which has no terminal to say that it is up, in a machine whose files we cannot see.
WAIT = f"""
import os, sys, threading, time
def tell():
    while not os.path.exists({UP!r}):
        time.sleep(0.02)
    print("up", flush=True)
threading.Thread(target=tell, daemon=True).start()
sys.argv[:] = sys.argv[1:]
exec(compile(open(sys.argv[0]).read(), sys.argv[0], "exec"))
"""


def from_here(number: int, *more: str) -> Completed:
    """Run gpudoctor on this machine, on that process."""
    argv = [*arguments(rules=None, timeout_seconds=20), "--pid", str(number), *more]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    return Completed(argv=tuple(argv), returncode=done.returncode, stdout=done.stdout, stderr=done.stderr)


def report_on(number: int, *more: str) -> Looked:
    """Return the report, held to what every run promises."""
    return looked(from_here(number, *more))


def test_driver_of_a_machine_that_we_are_not_in() -> None:
    """Its root has a driver and this machine's has none, or another one: everything is asked inside."""
    command = sleeper(need_python("3.11").resolve(), "libcuda.so.1")
    with running(HEALTHY, command, {"LD_LIBRARY_PATH": "/opt/its"}) as number:
        seen = report_on(number)
    assert set(seen.outcomes.values()) == {"ok", "not-asked"}
    assert seen.fact("process.id")["value"] == number
    assert seen.fact("loader.library_path")["value"] == ["/opt/its"]
    assert seen.fact("cuda.library")["value"] == LIBCUDA
    assert seen.fact("nvml.driver_version")["value"] == DRIVER
    assert seen.fact("driver.kernel_version")["value"] == DRIVER
    assert [r["path"] for r in seen.fact("process.libraries")["value"]] == [LIBCUDA]
    assert "a mount namespace of its own" in seen.fact("python.chosen_because")["value"]


def test_user_and_rights_of_the_process() -> None:
    """Inside, nobody is root who was not: the user is the process's, and so are the groups."""
    if not SYSTEM_PYTHON.exists():
        pytest.skip("no Python here that every user may run")
    with running(replace(HEALTHY, user=USER), sleeper(SYSTEM_PYTHON), {}) as number:
        seen = report_on(number)
    assert set(seen.outcomes.values()) == {"ok", "not-asked"}
    assert seen.fact("system.user_id")["value"] == USER
    assert seen.fact("python.executable")["value"] == str(SYSTEM_PYTHON)


LIMITED = "import resource; resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))"


def test_user_namespace_with_the_proc_of_the_machine_around_it() -> None:
    """As rootless containers have it: root inside is nobody outside; and /proc counts as the outside does."""
    if not SYSTEM_PYTHON.exists():
        pytest.skip("no Python here that every user may run")
    become = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups"]
    apart = ["unshare", "--map-root-user", "--mount", "--pid", "--fork"]
    with running(HEALTHY, [*become, *apart, *sleeper(SYSTEM_PYTHON, "libcuda.so.1")], {}) as number:
        seen = report_on(number)
    assert set(seen.outcomes.values()) == {"ok", "not-asked"}
    assert seen.fact("system.user_id")["value"] == 0
    assert [r["path"] for r in seen.fact("process.libraries")["value"]] == [LIBCUDA]
    assert seen.fact("container.cgroup_version")["source"] != "/proc/self/cgroup"


@contextmanager
def in_cgroup(number: int, name: str) -> Iterator[None]:
    """Put a process into a group of this name, in the first hierarchy that lets us make one."""
    tops = [Path("/sys/fs/cgroup"), *sorted(Path("/sys/fs/cgroup").glob("*"))]
    top = next((top for top in tops if (top / "cgroup.procs").exists() and os.access(top, os.W_OK)), None)
    if top is None:
        pytest.skip("no cgroup can be made here: /sys/fs/cgroup holds none that we may write to")
    own = top / f"gpudoctor-test-{os.getpid()}"
    groups = [own]
    for part in Path(name).parts:
        groups.append(groups[-1] / part)
    try:
        _enter(groups, number)
        yield
    finally:
        with suppress(OSError):
            (top / "cgroup.procs").write_text(str(number))
        for group in filter(Path.exists, reversed(groups)):
            group.rmdir()


def _enter(groups: list[Path], number: int) -> None:
    try:
        for group in groups:
            group.mkdir()
        (groups[-1] / "cgroup.procs").write_text(str(number))
    except OSError as error:
        pytest.skip(f"no cgroup can be made here: {error}")


def test_container_is_told_by_the_cgroup_of_the_process() -> None:
    """A real group with the name that Docker gives; our own process is in none of that name."""
    with running(HEALTHY, sleeper(need_python("3.11").resolve()), {}) as number:
        with in_cgroup(number, f"docker/{'0123456789ab' * 5}0123"):
            inside = report_on(number)
        outside = report_on(number)
    assert inside.fact("container.runtime")["value"] == "docker"
    assert re.fullmatch(r"/proc/\d+/cgroup", inside.fact("container.runtime")["source"])
    assert outside.fact("container.runtime").get("value") != "docker"


def test_limit_on_memory_of_the_process() -> None:
    """A service's LimitAS keeps CUDA from starting, whatever the limit of the shell is."""
    with running(HEALTHY, sleeper(need_python("3.11").resolve(), code=LIMITED), {}) as number:
        seen = report_on(number)
    assert seen.fact("system.address_space_limit_bytes")["value"] == 3 << 30


SITE = """
import os
with open({path!r}, "a") as file:
    for name in os.listdir("/proc/self/fd"):
        try:
            file.write(os.readlink("/proc/self/fd/" + name) + "\\n")
        except OSError:
            pass
"""
HARMLESS = re.compile(r"\w+:\[\d+\]|/dev/null|/memfd:.*|/proc/(\.kernel/)?\d+/fd")


def test_nothing_of_this_machine_is_left_open_inside(tmp_path: Path) -> None:
    """A container that is looked into must not get hold of a folder of the machine around it."""
    folder = tmp_path / "shared"
    folder.mkdir()
    opened = folder / "opened"
    site = SITE.format(path=str(opened))
    machine = replace(HEALTHY.adding(files={"/opt/site/sitecustomize.py": site}), shared=[folder])
    with running(machine, sleeper(need_python("3.11").resolve()), {"PYTHONPATH": "/opt/site"}) as number:
        opened.unlink()
        report_on(number)
    links = opened.read_text().splitlines()
    assert len(links) > 20
    assert {link for link in links if not HARMLESS.fullmatch(link)} == {str(opened)}


def test_chroot_without_a_namespace(tmp_path: Path) -> None:
    """The same namespaces and another root: what is there counts, by the paths it has there."""
    root = tmp_path / "root"
    for name in ("usr", "lib", "lib64", "bin", "etc", "proc", "dev", "opt", "tmp"):
        (root / name).mkdir(parents=True)
    script = "".join(f"mount --rbind /{name} {root}/{name}; " for name in ("usr", "proc", "dev"))
    for link in ("lib", "lib64", "bin"):
        if not Path(f"/{link}").is_symlink():
            pytest.skip(f"/{link} is no link here")
        (root / link).rmdir()
        (root / link).symlink_to(os.readlink(f"/{link}"))
    (root / "opt" / "site").mkdir()
    (root / "opt" / "sleeper.py").write_text(SLEEPER_CODE)
    (root / "etc" / "os-release").write_text("ID=otherland\n")
    doctor = " ".join(arguments(rules=None, timeout_seconds=20))
    shell = f"""{script}
        chroot {root} /usr/bin/env LD_LIBRARY_PATH=/opt/site {SYSTEM_PYTHON} {SLEEPER} pass & pid=$!
        while [ ! -e {root}{UP} ]; do sleep 0.05; done
        cd {ROOT}; {doctor} --pid $pid; code=$?; kill -9 $pid; exit $code"""
    done = Machine(shared=[tmp_path]).run(["sh", "-c", shell], timeout=90)
    seen = looked(done)
    assert seen.fact("python.executable")["value"] == str(SYSTEM_PYTHON)
    assert f"a root of its own ({root})" in seen.fact("python.chosen_because")["value"]
    assert seen.fact("loader.library_path")["value"] == ["/opt/site"]
    assert seen.fact("system.distribution")["value"] == "otherland"


def test_record_can_be_judged_elsewhere(tmp_path: Path) -> None:
    """A snapshot of the process holds all of it, and with --share not its command's private words."""
    path = tmp_path / "process.json"
    with running(HEALTHY, sleeper(need_python("3.11").resolve()), {"HOME": "/home/ana"}) as number:
        argv = [*arguments()[:3], "snapshot", "--pid", str(number), "--share", "-o", str(path)]
        subprocess.run(argv, cwd=ROOT, check=True, capture_output=True, timeout=120)
    shared = json.loads(path.read_text())
    assert shared["host"]["process.id"]["value"] == number
    assert "sleeper.py" not in json.dumps(shared["host"]["process.command"])
    argv = [*arguments()[:3], "check", "--from", str(path)]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert f"{number}: " in done.stdout
