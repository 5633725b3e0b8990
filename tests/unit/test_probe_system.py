"""The system probe: what each file means, and a look at this very machine."""

from __future__ import annotations

import os
import subprocess
from typing import Any

import pytest
from hypothesis import given

from gpudoctor.facts import promised
from gpudoctor.model import Absent, Fact, Known, Scope, Unknown
from gpudoctor.payloads import system as payload
from gpudoctor.probes import system
from gpudoctor.probes.raw import Answer
from tests.unit.file_answers import JSON, OUTCOMES, ask, assert_total, good, interpreter, spoiled, value

UBUNTU = '''PRETTY_NAME="Ubuntu 24.04.1 LTS"
NAME="Ubuntu"
VERSION_ID="24.04"
ID=ubuntu
ID_LIKE=debian
# a comment
BROKEN="no end
'''
ROCKY = 'NAME="Rocky Linux"\nID="rocky"\nID_LIKE="rhel centos fedora"\nVERSION_ID="9.4"\n'
NO_VARIABLE = {"variable": {"missing": True}}
ALPINE = 'NAME="Alpine Linux"\nID=alpine\nVERSION_ID=3.20.3\n'
CARD = {"address": "0000:17:00.0", "vendor": "0x10de", "device": "0x2330", "class": "0x030200",
        "driver": "nvidia", "driver_error": None}
HOST_BRIDGE = {"address": "0000:00:00.0", "vendor": "0x8086", "device": "0x0d57", "class": "0x060000",
               "driver": None, "driver_error": None}
SWITCH = {"address": "0000:05:00.0", "vendor": "0x10de", "device": "0x22a3", "class": "0x068000",
          "driver": "nvidia-nvswitch", "driver_error": None}
SAMPLE: dict[str, Any] = {
    "uname": {"system": "Linux", "release": "6.8.0-45-generic", "machine": "x86_64"},
    "os_release": {"path": "/etc/os-release", "text": UBUNTU},
    "libc": {"text": "glibc 2.39", "musl_loaders": []},
    "wsl": {"/dev/dxg": False, "/run/WSL": False, "/usr/lib/wsl/lib": False},
    "tegra_release": {"missing": True},
    "device_tree_model": {"missing": True},
    "cpuinfo": {"text": "processor\t: 0\nflags\t\t: fpu sse4_1 sse4_2 avx avx2 fma avx512f\nbugs\t\t: x\n"},
    "secure_boot": {"firmware": {"names": ["acpi", "efi"]}, "efi": True, "variables": {"count": 61},
                    "path": "/sys/firmware/efi/efivars/SecureBoot-x", "variable": {"byte": 1}},
    "modules": {"proc": {"names": ["nvidia_uvm", "nvidia"]}, "sys": {"names": ["nvidia"]}},
    "pci": {"devices": [CARD, SWITCH, HOST_BRIDGE], "unread": []},
    "user_id": 1000,
    "address_space_limit": {"bytes": 1 << 34},
    "kernel_log": {"path": "/var/log/kern.log", "lines": [
        "kernel: NVRM: Xid (PCI:0000:17:00): 79, GPU has fallen off the bus.",
        "kernel: Linux version 6.8.0-45-generic", "kernel: NVRM: loading NVIDIA UNIX x86_64 Kernel Module"]},
}


def read(**changes: Any) -> dict[str, Fact]:
    return system.read(good({**SAMPLE, **changes}))


def test_a_server_with_a_card() -> None:
    """Each fact from the file that says it."""
    facts = read()
    known = {name: fact.value for name, fact in facts.items() if isinstance(fact, Known)}
    seen = {name.removeprefix("system."): value for name, value in known.items()}
    assert seen == {
        "os": "Linux", "kernel": "6.8.0-45-generic", "architecture": "x86_64", "distribution": "ubuntu",
        "distribution_version": "24.04", "distribution_like": ("debian",), "glibc": "2.39",
        "cpu_flags": ("sse4_1", "sse4_2", "avx", "avx2", "fma", "avx512f"), "secure_boot": True,
        "gpu_modules": ("nvidia", "nvidia_uvm"), "user_id": 1000, "address_space_limit_bytes": 1 << 34,
        "pci_nvidia": (
            {"address": "0000:17:00.0", "device": "2330", "class": "0x030200", "driver": "nvidia"},
            {"address": "0000:05:00.0", "device": "22a3", "class": "0x068000", "driver": "nvidia-nvswitch"}),
        "gpu_kernel_log": ("kernel: NVRM: loading NVIDIA UNIX x86_64 Kernel Module",),
    }
    assert {name for name, fact in facts.items() if not isinstance(fact, Known)} == {
        "system.wsl", "system.jetson", "system.other_accelerators"}


def test_cards_are_display_and_3d_controllers_only() -> None:
    """An NVSwitch, or the audio side of a card, is no GPU."""
    audio = {**CARD, "address": "0000:17:00.1", "class": "0x040300"}
    unbound = {**CARD, "address": "00000000:65:00.0", "class": "0x030000", "driver": None}
    bus = {"devices": [CARD, audio, SWITCH, unbound], "unread": []}
    cards = system.read_gpus(good({**SAMPLE, "pci": bus}))
    assert isinstance(cards, tuple)
    assert [value(card["gpu.bus_id"]) for card in cards] == ["0000:17:00.0", "0000:65:00.0"]
    assert [value(card["gpu.pci_device_id"]) for card in cards] == ["2330", "2330"]
    assert value(cards[0]["gpu.pci_driver"]) == "nvidia"
    assert isinstance(cards[1]["gpu.pci_driver"], Absent)
    assert set(promised("system", Scope.GPU)) <= set(cards[0])


@pytest.mark.parametrize(("pci", "kind"), [
    ({"missing": True}, Absent),
    ({"error": "PermissionError: Permission denied"}, Unknown),
    ({"devices": [], "unread": ["0000:17:00.0: OSError: Input/output error"]}, Unknown),
])
def test_a_bus_that_cannot_be_listed_is_not_an_empty_bus(pci: dict[str, Any], kind: type[Fact]) -> None:
    """No PCI bus at all (WSL, some virtual machines) is Absent, one that refuses is Unknown."""
    answer = good({**SAMPLE, "pci": pci})
    assert isinstance(system.read_gpus(answer), kind)
    assert isinstance(system.read(answer)["system.pci_nvidia"], kind)


def test_an_empty_bus_has_no_cards() -> None:
    """Known to be none."""
    answer = good({**SAMPLE, "pci": {"devices": [], "unread": []}})
    assert system.read_gpus(answer) == ()
    assert value(system.read(answer)["system.pci_nvidia"]) == ()


@pytest.mark.parametrize(("function", "vendor"), [
    ({"vendor": "0x1002", "class": "0x030000"}, ("amd",)),
    ({"vendor": "0x1002", "class": "0x120000"}, ("amd",)),
    ({"vendor": "0x8086", "class": "0x038000"}, ("intel",)),
    ({"vendor": "0x1ae0", "class": "0xff0000"}, ("google-tpu",)),
    ({"vendor": "0x1ae0", "class": "0x020000"}, None),
    ({"vendor": "0x8086", "class": "0x020000"}, None),
])
def test_accelerators_of_other_vendors(function: dict[str, str], vendor: tuple[str] | None) -> None:
    """A cloud's network card is no accelerator."""
    facts = read(pci={"devices": [{"address": "0000:00:04.0", **function}], "unread": []})
    fact = facts["system.other_accelerators"]
    assert (fact.value if isinstance(fact, Known) else None) == vendor


@pytest.mark.parametrize(("release", "traces", "expected"), [
    ("4.4.0-19041-Microsoft", {}, 1),
    ("5.15.153.1-microsoft-standard-WSL2", {}, 2),
    ("5.10.16.3-microsoft-standard", {}, 2),
    ("6.12.0-mine", {"/run/WSL": True, "/dev/dxg": True}, 2),
    ("6.12.0-mine", {"/dev/dxg": True}, None),
    ("6.8.0-1017-azure", {}, None),
])
def test_wsl_is_told_by_its_kernel(release: str, traces: dict[str, bool], expected: int | None) -> None:
    """A virtual machine on Azure is no WSL, a kernel of one's own in WSL2 still is."""
    fact = read(uname={"system": "Linux", "release": release, "machine": "x86_64"}, wsl=traces)["system.wsl"]
    assert (fact.value if isinstance(fact, Known) else None) == expected


@pytest.mark.parametrize(("text", "expected"), [
    ("# R36 (release), REVISION: 4.3, GCID: 38968081, BOARD: generic, EABI: aarch64", "36.4.3"),
    ("# R32 (release), REVISION: 7.1, GCID: 29818004, BOARD: t186ref, EABI: aarch64", "32.7.1"),
])
def test_jetson_release(text: str, expected: str) -> None:
    """As /etc/nv_tegra_release spells it."""
    assert value(read(tegra_release={"text": text})["system.jetson"]) == expected


def test_a_jetson_that_hides_its_release_is_unknown() -> None:
    """The board's model says Jetson, nothing says which release."""
    fact = read(device_tree_model={"text": "NVIDIA Jetson AGX Orin Developer Kit\0"})["system.jetson"]
    assert isinstance(fact, Unknown)


@pytest.mark.parametrize(("answer", "expected"), [
    ({"variable": {"byte": 0}}, False),
    ({"variable": {"byte": 1}}, True),
    ({"variable": {"error": "PermissionError: Permission denied"}}, Unknown),
    ({**NO_VARIABLE, "firmware": {"names": ["acpi", "memmap"]}, "efi": False}, Absent),
    ({**NO_VARIABLE, "firmware": {"names": []}, "efi": False}, Unknown),
    ({**NO_VARIABLE, "firmware": {"names": ["efi"]}, "efi": True, "variables": {"count": 0}}, Unknown),
    ({**NO_VARIABLE, "firmware": {"names": ["efi"]}, "efi": True, "variables": {"count": 9}}, Absent),
])
def test_secure_boot(answer: dict[str, Any], expected: object) -> None:
    """No EFI is Absent; hidden firmware, as in containers, is Unknown, never "off"."""
    fact = read(secure_boot=answer)["system.secure_boot"]
    assert (fact.value if isinstance(fact, Known) else type(fact)) == expected


@pytest.mark.parametrize(("libc", "kind"), [
    ({"text": None, "musl_loaders": ["ld-musl-x86_64.so.1"]}, Absent),
    ({"text": None, "musl_loaders": []}, Unknown),
])
def test_a_system_without_the_gnu_library(libc: dict[str, Any], kind: type[Fact]) -> None:
    """Musl is told apart from "does not say"."""
    assert isinstance(read(libc=libc)["system.glibc"], kind)


@pytest.mark.parametrize(("modules", "expected"), [
    ({"proc": {"names": []}, "sys": {"names": ["nouveau"]}}, ("nouveau",)),
    ({"proc": {"names": []}, "sys": {"names": []}}, ()),
    ({"proc": {"error": "PermissionError: x"}, "sys": {"error": "PermissionError: x"}}, Unknown),
])
def test_modules_built_into_the_kernel_count(modules: dict[str, Any], expected: object) -> None:
    """/proc/modules lists only what was loaded."""
    fact = read(modules=modules)["system.gpu_modules"]
    assert (fact.value if isinstance(fact, Known) else type(fact)) == expected


@pytest.mark.parametrize(("text", "expected"), [
    (ROCKY, ("rocky", "9.4", ("rhel", "centos", "fedora"))), (ALPINE, ("alpine", "3.20.3", None)),
])
def test_os_release(text: str, expected: tuple[str, str, tuple[str] | None]) -> None:
    """Quoted and bare."""
    facts = read(os_release={"path": "/etc/os-release", "text": text})
    names = ("system.distribution", "system.distribution_version", "system.distribution_like")
    values = tuple(fact.value if isinstance(fact := facts[name], Known) else None for name in names)
    assert values == expected


def test_a_log_that_cannot_be_read_is_unknown() -> None:
    """Never "no errors"."""
    refused = {"error": "/dev/kmsg: Permission denied"}
    assert isinstance(read(kernel_log=refused)["system.gpu_kernel_log"], Unknown)
    assert isinstance(read(kernel_log={"path": "/dev/kmsg", "lines": []})["system.gpu_kernel_log"], Absent)


@pytest.mark.parametrize("version", ["3.6", "3.13"])
def test_this_machine(version: str) -> None:
    """What the collector says of this machine is what other means say."""
    answer = ask("system", interpreter=interpreter(version))
    assert answer.outcome == "ok", answer
    facts = system.read(answer)
    assert value(facts["system.os"]) == os.uname().sysname
    assert value(facts["system.kernel"]) == os.uname().release
    assert value(facts["system.user_id"]) == os.getuid()
    libc = subprocess.run(["getconf", "GNU_LIBC_VERSION"], capture_output=True, text=True, check=False).stdout
    assert value(facts["system.glibc"]) == libc.split()[1]


def test_the_ring_buffer_is_read_without_waiting() -> None:
    """Nothing else but the kernel's own device is opened."""
    with pytest.raises(OSError, match="ring buffer"):
        payload._ring_buffer("/dev/null")
    if os.access("/dev/kmsg", os.R_OK):
        text = payload._ring_buffer("/dev/kmsg")
        assert text
        assert all(not line.startswith(("6,", " SUBSYSTEM=")) for line in text.splitlines())


@given(data=JSON, outcome=OUTCOMES)
def test_any_json_is_read(data: Any, outcome: str) -> None:
    """No exception, and every promised name, whatever comes."""
    assert_total(system, "system", Answer(outcome=outcome, seconds=0.0, data=data))


@given(data=spoiled(SAMPLE))
def test_any_json_inside_a_good_answer_is_read(data: Any) -> None:
    """The same with one place of a good answer spoiled."""
    assert_total(system, "system", good(data))
    cards = system.read_gpus(good(data))
    for card in cards if isinstance(cards, tuple) else ():
        assert set(promised("system", Scope.GPU)) <= set(card)
