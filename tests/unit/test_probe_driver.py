"""The driver probe: files, nodes and library bytes, without touching the driver."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from gpudoctor.model import Absent, Fact, Known, Unknown
from gpudoctor.payloads import driver as payload
from gpudoctor.probes import driver
from gpudoctor.probes.raw import Answer
from tests.shim import build
from tests.unit.file_answers import JSON, OUTCOMES, ask, assert_total, good, interpreter, spoiled, value

OPEN = """\
NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  565.57.01  Release Build  (dvs-builder@U16-A24-9-2)
GCC version:  gcc version 13.3.0 (Ubuntu 13.3.0-6ubuntu2~24.04)
"""
PROPRIETARY = """\
NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.183.01  Sun May 12 19:39:15 UTC 2024
GCC version:  gcc version 12.2.0 (Debian 12.2.0-14)
"""
NODE = {"kind": "character", "mode": "0666", "user": 0, "group": 0, "major": 195, "minor": 0,
        "readable": True, "writable": True}
CUDA_FILE = {
    "path": "/lib/x86_64-linux-gnu/libcuda.so.1",
    "real_path": "/usr/lib/x86_64-linux-gnu/libcuda.so.565.57.01", "size_bytes": 1,
    "version": "565.57.01", "version_source": "bytes", "error": None, "machine": "x86_64",
}
SWITCH = {"vendor": "0x10de", "class": "0x068000", "driver": "nvidia-nvswitch"}
BARE = {"files": {}, "namespaces": {"pid": "pid:[4026531836]"}, "mounts": {"lines": []}}
IN_DOCKER = {"files": {"/.dockerenv": True}, "namespaces": {"pid": "pid:[4026532178]"}, "mounts": {}}
SAMPLE: dict[str, Any] = {
    "machine": "x86_64",
    "sys_version": {"text": "565.57.01\n"},
    "proc_version": {"text": OPEN},
    "proc_gpus": {"names": ["0000:17:00.0", "0000:65:00.0"]},
    "kernels": {"releases": [
        {"release": "6.8.0-45-generic", "errors": [],
         "files": ["/lib/modules/6.8.0-45-generic/updates/dkms/nvidia.ko.zst"]},
        {"release": "6.8.0-48-generic", "files": [], "errors": []}]},
    "cache_failure": {},
    "default_folders": ["/lib/x86_64-linux-gnu"],
    "libcuda": {"on_path": [CUDA_FILE], "off_path": []},
    "libnvidia_ml": {"on_path": [{**CUDA_FILE, "path": "/lib/x86_64-linux-gnu/libnvidia-ml.so.1"}],
                     "off_path": []},
    "nodes": {"nodes": [
        {"path": "/dev/nvidia-caps", "node": {**NODE, "kind": "folder"}},
        {"path": "/dev/nvidia-uvm", "node": NODE}, {"path": "/dev/nvidia0", "node": NODE},
        {"path": "/dev/nvidia1", "node": NODE}, {"path": "/dev/nvidiactl", "node": NODE}]},
    "nvswitch_devices": {"missing": True},
    "pci": {"devices": [{"address": "0000:17:00.0", "vendor": "0x10de", "device": "0x2330",
                         "class": "0x030200", "driver": "nvidia"}], "unread": []},
    "fabric_manager": {"path": None, "processes": {"count": 0, "sees_others": True}},
    "container": BARE,
    "nvidia_smi": "/usr/bin/nvidia-smi",
}


def read(**changes: Any) -> dict[str, Fact]:
    return driver.read(good({**SAMPLE, **changes}))


def test_a_machine_with_a_driver() -> None:
    """Each fact from its place."""
    facts = read()
    known = {name: fact.value for name, fact in facts.items() if isinstance(fact, Known)}
    seen = {name.removeprefix("driver."): value for name, value in known.items()}
    records = {"libcuda_files", "libnvidia_ml_files", "device_nodes"}
    assert {name: seen[name] for name in seen if name not in records} == {
        "kernel_version": "565.57.01", "kernel_flavour": "open", "module_kernels": ("6.8.0-45-generic",),
        "libcuda_file_version": "565.57.01", "libnvidia_ml_file_version": "565.57.01", "gpu_nodes": 2,
        "uvm_node": True, "proc_gpus": 2, "nvswitch": False, "nvidia_smi": "/usr/bin/nvidia-smi"}
    assert records <= set(seen)
    assert {name for name, fact in facts.items() if isinstance(fact, Absent)} == {
        "driver.libcuda_off_path", "driver.denied_nodes", "driver.fabric_manager"}


@pytest.mark.parametrize(("text", "version", "flavour"), [
    (OPEN, "565.57.01", "open"),
    (PROPRIETARY, "535.183.01", "proprietary"),
    ("NVRM version: NVIDIA UNIX Open Kernel Module for aarch64  570.86.15  Release\n", "570.86.15", "open"),
    ("NVRM version: NVIDIA UNIX x86_64 Kernel Module  390.157  Wed Oct 12\n", "390.157", "proprietary"),
])
def test_banners_of_the_kernel_module(text: str, version: str, flavour: str) -> None:
    """The number before the build date, never the 64 of x86_64; it serves when /sys says nothing."""
    facts = read(sys_version={"missing": True}, proc_version={"text": text})
    assert value(facts["driver.kernel_version"]) == version
    assert value(facts["driver.kernel_flavour"]) == flavour


@pytest.mark.parametrize(("answer", "kind"), [
    ({"missing": True}, Absent), ({"error": "PermissionError: Permission denied"}, Unknown)])
def test_no_module_is_absent_and_a_refusal_is_unknown(answer: dict[str, Any], kind: type[Fact]) -> None:
    """A /proc that refuses says nothing about the driver."""
    facts = read(sys_version=answer, proc_version=answer, proc_gpus=answer, kernels=answer)
    for name in ("kernel_version", "kernel_flavour", "proc_gpus", "module_kernels"):
        assert isinstance(facts[f"driver.{name}"], kind), name


def test_denied_nodes_are_those_that_cuda_must_open() -> None:
    """/dev/nvidia-modeset is of no concern."""
    denied = {**NODE, "writable": False}
    paths = ("/dev/nvidia0", "/dev/nvidia-modeset", "/dev/nvidia-uvm")
    nodes = [{"path": path, "node": denied} for path in paths]
    assert value(read(nodes={"nodes": nodes})["driver.denied_nodes"]) == ("/dev/nvidia0", "/dev/nvidia-uvm")


def test_a_plain_file_in_the_place_of_a_node_is_no_node() -> None:
    """As a container leaves behind that was started without devices."""
    plain = {**NODE, "kind": "other"}
    nodes = [{"path": path, "node": plain} for path in ("/dev/nvidia0", "/dev/nvidia-uvm")]
    facts = read(nodes={"nodes": nodes})
    assert (value(facts["driver.gpu_nodes"]), value(facts["driver.uvm_node"])) == (0, False)


DEVICES = ("Character devices:\n  1 mem\n195 nvidia\n195 nvidiactl\n238 nvidia-uvm\n241 nvidia-caps\n\n"
           "Block devices:\n  7 loop\n")


@pytest.mark.parametrize(("uvm", "card", "seen"), [
    (238, 195, (1, True)), (511, 195, (1, False)), (238, 1, (0, True)), (None, None, (1, True)),
])
def test_a_node_with_a_number_of_no_driver_is_no_node(
        uvm: int | None, card: int | None, seen: tuple[int, bool]) -> None:
    """As one in an LXC container that was made before the machine was last started."""
    nodes = [{"path": "/dev/nvidia0", "node": {**NODE, "major": card}},
             {"path": "/dev/nvidia-uvm", "node": {**NODE, "major": uvm}}]
    facts = read(nodes={"nodes": nodes}, devices={"text": DEVICES})
    assert (value(facts["driver.gpu_nodes"]), value(facts["driver.uvm_node"])) == seen
    uvm_fact = facts["driver.uvm_node"]
    assert isinstance(uvm_fact, Known)
    assert ("/dev/nvidia-uvm has the number 511, and the driver has 238" in uvm_fact.source) == (uvm == 511)


@pytest.mark.parametrize("devices", [
    {"missing": True}, {"error": "PermissionError: no"}, {"text": "Character devices:\n  1 mem\n"}])
def test_where_the_kernel_lists_no_driver_a_node_counts(devices: dict[str, Any]) -> None:
    nodes = [{"path": "/dev/nvidia-uvm", "node": {**NODE, "major": 1}}]
    assert value(read(nodes={"nodes": nodes}, devices=devices)["driver.uvm_node"]) is True


def test_a_library_of_another_machine_is_passed_over() -> None:
    """The loader skips a 32-bit library, so its version counts for nothing."""
    old = {**CUDA_FILE, "path": "/usr/lib/libcuda.so.1", "machine": "x86", "version": "470.256.02"}
    facts = read(libcuda={"on_path": [old, CUDA_FILE], "off_path": []})
    assert value(facts["driver.libcuda_file_version"]) == "565.57.01"
    assert isinstance(read(libcuda={"on_path": [old], "off_path": []})["driver.libcuda_files"], Absent)


def test_an_empty_library_has_no_version() -> None:
    """It is there, and wins, and says nothing."""
    broken = {**CUDA_FILE, "version": None, "version_source": None, "machine": None, "error": "empty file"}
    facts = read(libcuda={"on_path": [broken, CUDA_FILE], "off_path": []})
    assert isinstance(facts["driver.libcuda_file_version"], Unknown)
    files = value(facts["driver.libcuda_files"])
    assert isinstance(files, tuple)
    assert files[0]["error"] == "empty file"


def test_a_version_from_the_name_says_so() -> None:
    """The bytes are better evidence."""
    named = {**CUDA_FILE, "version_source": "name"}
    fact = read(libcuda={"on_path": [named], "off_path": []})["driver.libcuda_file_version"]
    assert isinstance(fact, Known)
    assert fact.source.endswith("(its name)")


def test_a_library_off_the_path_is_named() -> None:
    """It is no candidate, but the fix needs to know where it lies."""
    off = {**CUDA_FILE, "path": "/usr/lib/wsl/lib/libcuda.so.1"}
    facts = read(libcuda={"on_path": [], "off_path": [off]})
    assert isinstance(facts["driver.libcuda_files"], Absent)
    assert isinstance(facts["driver.libcuda_file_version"], Absent)
    assert value(facts["driver.libcuda_off_path"]) == ("/usr/lib/wsl/lib/libcuda.so.1",)


def test_a_cache_that_cannot_be_read_hides_libraries() -> None:
    """Nothing in the default folders is then not nothing at all."""
    facts = read(libcuda={"on_path": [], "off_path": []}, cache_failure={"error": "PermissionError: denied"})
    assert isinstance(facts["driver.libcuda_files"], Unknown)


@pytest.mark.parametrize(("changes", "expected"), [
    ({"nvswitch_devices": {"names": ["0000:05:00.0"]}}, True),
    ({"pci": {"devices": [SWITCH], "unread": []}}, True),
    ({"pci": {"devices": [{**SWITCH, "driver": "forcedeth"}], "unread": []}}, False),
    ({"pci": {"devices": [{**SWITCH, "vendor": "0x8086"}], "unread": []}}, False),
])
def test_nvswitch(changes: dict[str, Any], expected: bool) -> None:
    """By the driver's own list or by the bus; an old mainboard's network chip is none."""
    assert value(read(**changes)["driver.nvswitch"]) is expected


@pytest.mark.parametrize(("path", "count", "sees_others", "container", "expected"), [
    (None, 1, True, IN_DOCKER, "running"),
    ("/usr/bin/nv-fabricmanager", 0, True, BARE, "installed"),
    (None, 0, True, BARE, Absent),
    (None, 0, True, IN_DOCKER, Unknown),
    (None, 0, False, BARE, Unknown),
    (None, 0, True, None, Unknown),
])
def test_fabric_manager(
    path: str | None, count: int, sees_others: bool, container: object, expected: object
) -> None:
    """In a container the host's processes are out of sight, which is not "not running"."""
    manager = {"path": path, "processes": {"count": count, "sees_others": sees_others}}
    fact = read(fabric_manager=manager, container=container)["driver.fabric_manager"]
    assert (fact.value if isinstance(fact, Known) else type(fact)) == expected


@pytest.mark.parametrize("path", [
    "updates/dkms/nvidia.ko.zst", "updates/dkms/nvidia-current.ko", "extra/nvidia/nvidia.ko.xz",
    "kernel/nvidia-550srv-open/nvidia.ko", "updates/dkms/nvidia-tesla-470.ko",
    "updates/dkms/nvidia-legacy-390xx.ko"])
def test_modules_on_disk(tmp_path: Path, path: str) -> None:
    """Wherever the distributions put them, found with and without an index."""
    module = tmp_path / path
    module.parent.mkdir(parents=True)
    module.touch()
    assert payload._module_files(str(tmp_path))["files"] == [str(module)]


def test_what_is_no_gpu_module_is_not_one(tmp_path: Path) -> None:
    """The frame-buffer driver and a stale index are no driver on disk."""
    for name in ("nvidiafb.ko", "nvidia-uvm.ko", "nvidia-wmi-ec-backlight.ko", "i2c-nvidia-gpu.ko"):
        path = tmp_path / "kernel/drivers/video" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    index = "kernel/drivers/video/nvidiafb.ko: kernel/x.ko\nupdates/dkms/nvidia.ko: kernel/drivers/y.ko\n"
    (tmp_path / "modules.dep").write_text(index)
    assert payload._module_files(str(tmp_path))["files"] == []


def test_libraries_in_the_loaders_order(tmp_path: Path) -> None:
    """The cache before the default folders, each real file once, other places apart."""
    built = build.cuda(driver_version="570.86.15")
    for folder in ("cached", "default", "default/nvidia/current"):
        (tmp_path / folder).mkdir(parents=True)
        shutil.copy(built, tmp_path / folder / "libcuda.so.1")
    (tmp_path / "again").symlink_to("cached")
    cache = {"entries": [{"soname": "libcuda.so.1", "path": f"{tmp_path}/cached/libcuda.so.1"},
                         {"soname": "libcuda.so", "path": f"{tmp_path}/cached/libcuda.so"}]}
    found = payload._libraries("libcuda.so.1", cache, [str(tmp_path / "again"), str(tmp_path / "default")])
    seen = {part: [record["path"].removeprefix(f"{tmp_path}/") for record in found[part]] for part in found}
    on_path = ["cached/libcuda.so.1", "default/libcuda.so.1"]
    assert seen["on_path"] == on_path
    assert "default/nvidia/current/libcuda.so.1" in seen["off_path"]
    assert {record["version"] for record in found["on_path"]} == {"570.86.15"}
    assert {record["machine"] for record in found["on_path"]} == {os.uname().machine}


def test_a_running_fabric_manager_is_seen(tmp_path: Path) -> None:
    """The kernel keeps fifteen characters of a process's name, one fewer than this one has."""
    program = shutil.copy(shutil.which("sleep") or "", tmp_path / "nv-fabricmanager")
    before = payload._processes("nv-fabricmanager")["count"]
    with subprocess.Popen([str(program), "60"]) as process:
        try:
            seen = before
            for _ in range(100):  # a process gets its name a moment after it was started
                seen = seen if seen > before else payload._processes("nv-fabricmanager")["count"]
            assert seen == before + 1
        finally:
            process.kill()


@pytest.mark.parametrize("version", ["3.6", "3.13"])
def test_this_machine(version: str) -> None:
    """The collector agrees with /dev and /proc here, and leaves no node behind."""
    before = sorted(os.listdir("/dev"))
    answer = ask("driver", interpreter=interpreter(version))
    assert answer.outcome == "ok", answer
    facts = driver.read(answer)
    nodes = [name for name in before if name.startswith("nvidia") and name.removeprefix("nvidia").isdigit()]
    assert value(facts["driver.gpu_nodes"]) == len(nodes)
    assert isinstance(facts["driver.kernel_version"], Known) == Path("/proc/driver/nvidia/version").exists()
    uvm = Path("/dev/nvidia-uvm")
    assert value(facts["driver.uvm_node"]) == (uvm.exists() and stat.S_ISCHR(uvm.stat().st_mode))
    assert sorted(os.listdir("/dev")) == before


@given(data=JSON, outcome=OUTCOMES)
def test_any_json_is_read(data: Any, outcome: str) -> None:
    """No exception, and every promised name, whatever comes."""
    assert_total(driver, "driver", Answer(outcome=outcome, seconds=0.0, data=data))


@given(data=spoiled(SAMPLE))
def test_any_json_inside_a_good_answer_is_read(data: Any) -> None:
    """The same with one place of a good answer spoiled."""
    assert_total(driver, "driver", good(data))
