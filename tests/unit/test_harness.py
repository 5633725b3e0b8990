"""A command in a machine sees the machine's files, and the host keeps none of it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import time
from pathlib import Path

import pytest

from tests.harness import namespace
from tests.harness.machine import File, Machine, Node
from tests.harness.nvidia import (
    A100, H100, LIBRARY_FOLDER, RTX_4090, bare_machine, driverless_machine, nvidia_machine,
)
from tests.shim import build

H100_MACHINE_DRIVER = "570.86.15"

ASK_CUDA = """
import ctypes, json
cuda = ctypes.CDLL("libcuda.so.1")
count = ctypes.c_int(-1)
answers = [cuda.cuInit(0), cuda.cuDeviceGetCount(ctypes.byref(count)), count.value]
mapped = sorted({line.split()[-1] for line in open("/proc/self/maps") if "libcuda" in line})
print(json.dumps([answers, mapped]))
"""


@pytest.fixture(autouse=True)
def _needs_namespaces() -> None:
    """Skip, with the reason, where the kernel lets nobody build a machine."""
    reason = namespace.unavailable()
    if reason:
        pytest.skip(reason)


def mounts() -> list[str]:
    """List what is mounted on the host."""
    return Path("/proc/self/mountinfo").read_text().splitlines()


@pytest.mark.parametrize(
    "path",
    [
        "/proc/modules",
        "/proc/driver/nvidia/version",
        "/proc/version",
        "/proc/sys/kernel/osrelease",
        "/proc/1/cgroup",
        "/proc/self/cgroup",
        "/sys/module/nvidia/version",
        "/sys/bus/pci/devices/0000:01:00.0/vendor",
        "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c",
        "/dev/nvidia-caps/readme",
        "/etc/os-release",
        "/etc/nv_tegra_release",
        "/.dockerenv",
        "/run/.containerenv",
        "/var/run/secrets/kubernetes.io/serviceaccount/token",
        "/usr/lib/x86_64-linux-gnu/libexample.so.1",
        "/lib/x86_64-linux-gnu/libother.so.1",
        "/usr/local/cuda/version.json",
        "/opt/conda/envs/x/file",
        "/brand/new/top/folder",
    ],
)
def test_a_file_stands_in_its_real_place_and_only_there(path: str) -> None:
    """Whatever part of the tree it is in; the host's own file, if it has one, is untouched."""
    before = Path(path).read_bytes() if os.path.exists(path) else None
    result = Machine(files={path: "machine\n"}).run(["cat", path])
    assert (result.returncode, result.stdout) == (0, "machine\n"), result.stderr
    assert (Path(path).read_bytes() if os.path.exists(path) else None) == before


def test_the_rest_of_proc_and_sys_is_the_kernels() -> None:
    """Neighbours of the machine's own entries are there and alive, for every process."""
    machine = Machine(files={"/proc/driver/nvidia/version": "x", "/proc/sys/kernel/osrelease": "5.15-WSL2\n"})
    program = """
import os
assert "MemTotal" in open("/proc/meminfo").read()
assert open("/proc/sys/kernel/ostype").read() == "Linux\\n"
assert open("/proc/sys/kernel/osrelease").read() == "5.15-WSL2\\n"
assert "python" in open("/proc/self/maps").read()
assert os.path.realpath("/proc/self") == "/proc/.kernel/%d" % os.getpid()
child = os.fork()
if not child:
    os._exit(0 if open("/proc/%d/stat" % os.getpid()).read().split()[0] == str(os.getpid()) else 1)
assert os.waitpid(child, 0)[1] == 0
assert os.path.isdir("/sys/devices/system/cpu")
"""
    result = machine.run([sys.executable, "-c", program])
    assert result.returncode == 0, result.stderr


def test_nothing_of_the_host_driver_is_inherited() -> None:
    """A machine without description is one without PCI devices, modules, toolkits and container marks."""
    program = """
import glob, json
patterns = ["/dev/nvidia*", "/proc/driver/*", "/sys/module/*", "/sys/bus/pci/*", "/usr/local/cuda*",
            "/.dockerenv", "/usr/lib/x86_64-linux-gnu/libcuda.so*", "/usr/bin/nvidia-smi"]
print(json.dumps([found for pattern in patterns for found in glob.glob(pattern)]))
"""
    assert json.loads(Machine().run([sys.executable, "-c", program]).stdout) == []


def test_links_nodes_and_modes() -> None:
    """Symbolic links, device nodes and executable files come out as described."""
    machine = Machine(
        files={"/usr/bin/nvidia-smi": File(content="#!/bin/sh\necho 610.43\n", mode=0o755)},
        links={
            "/sys/bus/pci/devices/0000:01:00.0/driver": "../../drivers/nouveau",
            "/usr/local/cuda": "cuda-12.4",
        },
        directories={"/usr/local/cuda-12.4": 0o755, "/sys/bus/pci/drivers/nouveau": 0o755},
        nodes=[Node(path="/dev/nvidia0"), Node(path="/dev/nvidia-caps/nvidia-cap1")],
    )
    program = """
import os, stat, json
path = "/sys/bus/pci/devices/0000:01:00.0/driver"
open("/dev/nvidia0", "r+b").close()
node = os.stat("/dev/nvidia-caps/nvidia-cap1")
print(json.dumps([os.path.realpath(path), os.path.realpath("/usr/local/cuda"),
                  stat.S_ISCHR(node.st_mode), os.popen("nvidia-smi").read()]))
"""
    found = json.loads(machine.run([sys.executable, "-c", program]).stdout)
    assert found == ["/sys/bus/pci/drivers/nouveau", "/usr/local/cuda-12.4", True, "610.43\n"]


def test_the_host_keeps_nothing(tmp_path: Path) -> None:
    """What the command writes is gone, mounts too, and its processes are named and ended."""
    before = mounts()
    marker = tmp_path / "marker"
    script = f"echo x > {marker}; echo x > /usr/lib/gpudoctor-test; echo out > /tmp/out; sleep 600 & exit 3"
    result = Machine(files={"/etc/x": "y"}).run(["sh", "-c", script], collect=["/tmp/out", "/nowhere"])
    assert (result.returncode, result.files) == (3, {"/tmp/out": b"out\n"})
    assert result.leftover == ("sleep 600",)
    assert not marker.exists()
    assert not os.path.exists("/usr/lib/gpudoctor-test")
    assert mounts() == before


def test_shared_folders_are_the_hosts(tmp_path: Path) -> None:
    """The one way to write for good."""
    result = Machine(shared=[tmp_path]).run(["sh", "-c", f"echo report > {tmp_path}/report"])
    assert result.returncode == 0
    assert (tmp_path / "report").read_text() == "report\n"


def test_a_read_only_machine() -> None:
    """No place at all takes a file: not the root, not /tmp, not /dev/shm."""
    program = "import tempfile; tempfile.TemporaryFile()"
    result = Machine(read_only=True).run([sys.executable, "-c", program])
    assert "No usable temporary directory" in result.stderr
    assert Machine(read_only=True).run(["sh", "-c", "echo x > /dev/shm/x"]).returncode != 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can run a command as somebody else")
def test_another_user_meets_permissions() -> None:
    """A node and a file without rights are refused to an ordinary user."""
    machine = Machine(
        files={"/proc/driver/nvidia/version": File(content="x", mode=0o000)},
        nodes=[Node(path="/dev/nvidia0", mode=0o600)],
        user=65534,
    )
    result = machine.run(["sh", "-c", "id -u; cat /proc/driver/nvidia/version; cat < /dev/nvidia0"])
    assert result.stdout == "65534\n"
    assert result.stderr.count("Permission denied") == 2


def test_without_network_nothing_is_reached() -> None:
    """The namespace has the loopback interface alone."""
    result = Machine(network=False).run(["cat", "/proc/net/dev"])
    assert [line.split()[0] for line in result.stdout.splitlines()[2:]] == ["lo:"]


def test_the_environment_is_the_described_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of the test's own environment leaks in."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "from the test")
    machine = Machine(environment={"A": "1", "HOME": "/home/x"})
    assert machine.run(["env"]).stdout.split() == [
        "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME=/home/x",
        "LANG=C.UTF-8",
        "A=1",
    ]


def test_a_command_that_hangs_is_ended_with_all_it_started() -> None:
    """The deadline takes the whole machine down; the kernel may take a moment to bury it."""
    started = time.monotonic()
    result = Machine().run(["sh", "-c", "sleep 7654 & sleep 7654"], timeout=1)
    assert result.timed_out
    assert time.monotonic() - started < 5
    while [line for line in command_lines() if b"sleep 7654" in line]:
        assert time.monotonic() - started < 15, "something of the machine lives on"
        time.sleep(0.05)


def command_lines() -> list[bytes]:
    """Read the command line of every process of the host."""
    lines = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):  # it may have ended since it was listed
            lines.append(path.read_bytes().replace(b"\0", b" "))
    return lines


def test_signals_are_reported_and_an_interrupt_reaches_the_command() -> None:
    """As a terminal does it: the whole group gets the signal, only the command reacts."""
    assert Machine().run(["sh", "-c", "kill -SEGV $$"]).returncode == -signal.SIGSEGV
    running = Machine().start(
        ["sh", "-c", "trap 'echo caught; exit 5' INT; echo ready; while :; do sleep 0.05; done"]
    )
    deadline = time.monotonic() + 10
    while "ready" not in running.output_so_far()[0] and time.monotonic() < deadline:
        time.sleep(0.02)
    running.interrupt()
    result = running.wait(10)
    assert (result.returncode, result.stdout) == (5, "ready\ncaught\n")


def test_a_command_that_is_not_there_is_the_tests_fault() -> None:
    """It is no result: it raises."""
    with pytest.raises(namespace.MachineError, match="cannot run /no/such/command"):
        Machine().run(["/no/such/command"])


def test_a_machine_costs_little() -> None:
    """The best of five runs: the goal is a tenth of a second, the bound leaves room for a busy host."""
    machine = nvidia_machine(driver=H100_MACHINE_DRIVER, cuda=12080, cards=[H100])
    machine.run(["true"])
    seconds = []
    for _ in range(5):
        started = time.monotonic()
        machine.run(["true"])
        seconds.append(time.monotonic() - started)
    assert min(seconds) < 0.3


def test_an_nvidia_machine_is_whole() -> None:
    """Kernel side, nodes and libraries tell one story, and the loader finds libcuda in its default folder."""
    machine = nvidia_machine(driver=H100_MACHINE_DRIVER, cuda=12080, cards=[H100, RTX_4090])
    result = machine.run([sys.executable, "-c", ASK_CUDA])
    answers, mapped = json.loads(result.stdout)
    assert answers == [0, 0, 2]
    assert [os.path.basename(path) for path in mapped] == [f"libcuda.so.{H100_MACHINE_DRIVER}"]
    assert result.calls == ("cuInit", "cuDeviceGetCount")
    listing = machine.run(
        ["sh", "-c", "cat /proc/driver/nvidia/version; ls /dev /sys/bus/pci/devices /sys/module"]
    )
    for expected in (H100_MACHINE_DRIVER, "nvidia1", "nvidia-uvm", "0000:11:00.0", "nvidia_uvm"):
        assert expected in listing.stdout


def test_the_real_nvidia_ml_py_reads_an_nvidia_machine() -> None:
    """The cards of the description, by name, as any tool in the machine sees them."""
    program = """
import pynvml as n
n.nvmlInit()
for index in range(n.nvmlDeviceGetCount()):
    handle = n.nvmlDeviceGetHandleByIndex(index)
    print(n.nvmlDeviceGetName(handle), n.nvmlDeviceGetPciInfo(handle).busId)
"""
    machine = nvidia_machine(driver=H100_MACHINE_DRIVER, cuda=12080, cards=[H100, A100])
    assert machine.run([sys.executable, "-c", program]).stdout.splitlines() == [
        "NVIDIA H100 80GB HBM3 00000000:01:00.0",
        "NVIDIA A100-SXM4-40GB 00000000:11:00.0",
    ]


def test_machines_are_varied_by_adding_and_taking_away() -> None:
    """No libcuda; another script line in front; a library of another version first on the loader's path."""
    machine = nvidia_machine(driver=H100_MACHINE_DRIVER, cuda=12080, cards=[H100])
    names = ("libcuda.so.1", "libcuda.so", f"libcuda.so.{H100_MACHINE_DRIVER}")
    without = machine.without(*(f"{LIBRARY_FOLDER}/{name}" for name in names))
    assert "cannot open shared object file" in without.run([sys.executable, "-c", ASK_CUDA]).stderr
    broken = machine.adding(shim="rc.cuInit=802")
    assert json.loads(broken.run([sys.executable, "-c", ASK_CUDA]).stdout)[0] == [802, 3, -1]
    compat = machine.adding(
        libraries={
            "/usr/local/cuda-12.9/compat/libcuda.so.1": build.compat_cuda(
                driver_version="575.57.08", cuda_version=12090
            )
        },
        environment={"LD_LIBRARY_PATH": "/usr/local/cuda-12.9/compat"},
    )
    mapped = json.loads(compat.run([sys.executable, "-c", ASK_CUDA]).stdout)[1]
    assert mapped == ["/usr/local/cuda-12.9/compat/libcuda.so.1"]


def test_the_loader_cache_lists_the_machines_libraries() -> None:
    """ldconfig was run inside, on a folder that only the machine's configuration names."""
    machine = Machine(
        files={"/etc/ld.so.conf.d/000_cuda.conf": "/opt/driver\n"},
        libraries={"/opt/driver/libcuda.so.1": build.stub_cuda()},
        loader_cache=True,
    )
    assert "libcuda.so.1 (libc6,x86-64) => /opt/driver/libcuda.so.1" in machine.run(["ldconfig", "-p"]).stdout
    answers, mapped = json.loads(machine.run([sys.executable, "-c", ASK_CUDA]).stdout)
    assert (answers[0], mapped) == (34, ["/opt/driver/libcuda.so.1"])


def test_cards_without_driver_and_no_card_at_all() -> None:
    """The PCI bus is all that tells them apart."""
    command = [
        "sh",
        "-c",
        "cat /sys/bus/pci/devices/*/vendor; ls -d /sys/module/nvidia /proc/driver /dev/nvidia0",
    ]
    assert driverless_machine([H100]).run(command).stdout == "0x8086\n0x10de\n"
    assert bare_machine().run(command).stdout == "0x8086\n"
