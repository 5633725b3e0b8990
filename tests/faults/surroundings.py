"""What a machine gives too little of: descriptors, processes, memory, disk, /proc, system calls, time."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from gpudoctor.facts import CATALOGUE
from tests.faults.doctor import FAULT_FILE, ROOT, compiled, doctor_machine
from tests.faults.fault import Fault, Promise, keeps
from tests.faults.probes import PROBES, UNDECIDED
from tests.faults.scene import FRAMEWORKS, Scene, Seen, Stage
from tests.harness.machine import Machine
from tests.hosts.looking import of_probe

WHOLE = Scene(key="unbroken static", machine=doctor_machine)
STRANGER = 54321  # a user without a line in /etc/passwd, whose processes nobody else's are counted with
ALL = frozenset(of_probe(*{spec.probe for spec in CATALOGUE.values()}) | {FRAMEWORKS})
UNUSABLE, OWN_FAILURE = 4, 5
# What cannot be told without a part of the file system, and what is another answer: that it is not there.
LOST_WITH = {
    "/proc": frozenset({"container.runtime", "driver.fabric_manager", "system.cpu_flags"}),
    "/sys": frozenset({"0 gpu.pci_device_id", "0 gpu.pci_driver"}),
}
CHANGED_WITH = {
    "/proc": frozenset({"container.cgroup_version", "driver.kernel_flavour", "driver.proc_gpus"}),
    "/sys": frozenset({"system.pci_nvidia"}),
    "/dev": frozenset({
        "container.shared_memory_bytes", "driver.device_nodes", "driver.gpu_nodes", "driver.uvm_node"}),
    "/etc": frozenset({"loader.cache", "loader.files"}),
}
# What a run of ours needs of /run: what else a machine keeps there may not fit into the folder that hides it.
KEEP_SCENE, RESTORE_SCENE = "cp /run/*.cfg /dev/shm/", "cp /dev/shm/*.cfg /run/"
ADDRESSES = "system.address_space_limit_bytes"
EPERM, ENOSYS = 1, 38
OFTEN_UNKNOWN = 14  # so many of the first are also tried as an old kernel has it, which does not know them
CALLS = {  # numbers of x86-64
    "ptrace": 101, "memfd_create": 319, "process_vm_readv": 310, "pidfd_open": 434, "waitid": 247,
    "prlimit64": 302, "getrandom": 318, "clone3": 435, "close_range": 436, "vfork": 58, "statx": 332,
    "socket": 41, "sched_getaffinity": 204, "uname": 63, "sysinfo": 99, "faccessat2": 439, "rseq": 334,
    "setitimer": 38, "getrusage": 98, "personality": 135, "set_robust_list": 273, "fadvise64": 221,
    "copy_file_range": 326, "io_uring_setup": 425, "perf_event_open": 298, "bpf": 321, "mount": 165,
    "unshare": 272, "keyctl": 250, "userfaultfd": 323,
}


def in_shell(script: str) -> tuple[str, ...]:
    """Return what stands before a command line to do something to what it sees of the machine."""
    return ("unshare", "-m", "sh", "-c", f'{script} && exec "$@"', "sh")


def survived(promise: Promise, broken: Scene, whole: Scene = WHOLE) -> Callable[[Stage], None]:
    """Return the check that there is a report which keeps the promise, or one line and an exit code."""

    def survive(stage: Stage) -> None:
        seen = stage.seen(broken)
        if seen.exit_code in (UNUSABLE, OWN_FAILURE) and seen.exit_code in promise.exit_codes:
            one_line(seen, promise.says)
        else:
            keeps(promise, seen, stage.seen(whole))

    return survive


def one_line(seen: Seen, says: str) -> None:
    """Hold a run without a report to one line on standard error."""
    seen.in_time()
    said = seen.completed.stderr
    assert said.startswith("gpudoctor: "), said
    assert said.count("\n") == 1, said
    assert says in said, said


def row(
    group: str, subject: str, kind: str, *, machine: Callable[[], Machine] = doctor_machine,
    before: Sequence[str] = (), lost: frozenset[str] = frozenset(), codes: Sequence[int] = (0,),
    says: str = "", changed: frozenset[str] = frozenset(), **more: Any,
) -> Fault:
    """Return one fault of a run with something before its command line, or on another machine."""
    scene = replace(WHOLE, key=f"{group} {subject} {kind}", machine=machine, before=tuple(before), **more)
    whole = WHOLE if scene.user is None else replace(WHOLE, key=f"unbroken by {scene.user}", user=scene.user)
    promise = Promise(exit_codes=frozenset(codes), may_lose=lost, says=says, may_change=changed)
    return Fault(group=group, subject=subject, kind=kind, scenes=(whole, scene),
                 survive=survived(promise, scene, whole))


def resources() -> Iterator[Fault]:
    """Yield limits of the process that runs the check, and of all that it starts."""
    few = partial(row, "too little", lost=ALL, codes=(UNDECIDED, OWN_FAILURE))
    for number in (5, 6, 7, 8, 10, 12, 14, 16, 20):
        yield few("file descriptors", f"{number} of them", before=("prlimit", f"--nofile={number}"),
                  says="Too many open files")
    yield row("too little", "file descriptors", "64 of them", before=("prlimit", "--nofile=64"))
    for number in (1, 2, 3, 4, 6, 8):
        yield row("too little", "processes", f"{number} of them", before=("prlimit", f"--nproc={number}"),
                  user=STRANGER, lost=ALL, codes=(0, UNDECIDED, OWN_FAILURE))
    for megabytes in (20, 30, 40, 50):
        yield few("memory", f"{megabytes} MB of addresses", codes=(0, UNDECIDED, OWN_FAILURE),
                  before=("prlimit", f"--as={megabytes << 20}"), changed=frozenset({ADDRESSES}))
    for megabytes in (15, 20, 30):
        yield few("memory", f"{megabytes} MB of data", codes=(0, UNDECIDED, OWN_FAILURE),
                  before=("prlimit", f"--data={megabytes << 20}"))
    yield row("too little", "stack", "1 MB", before=("prlimit", "--stack=1000000"))
    yield row("too little", "file size", "4 KB, and the report is longer", codes=(UNUSABLE,),
              before=("prlimit", "--fsize=4096"), says="standard output cannot be written")
    yield row("too little", "locked memory", "none", before=("prlimit", "--memlock=0"))
    yield row("too little", "core file", "none, with a child that crashes", before=("prlimit", "--core=0"),
              machine=lambda: doctor_machine().adding(files={FAULT_FILE: "toolkit crash 0\n"}),
              lost=PROBES["toolkit"].lost, says="SIGSEGV")
    for place in ("/tmp", "/var", "/run"):
        kept, back = (KEEP_SCENE, f"{RESTORE_SCENE} &&") if place == "/run" else ("true", "")
        script = (f"{kept} && mount -t tmpfs -o size=64k full {place} && {back} "
                  f"(cat /dev/zero > {place}/filling 2>/dev/null; true)")
        yield row("too little", "disk space", f"{place} is full", machine=partial(elsewhere, place),
                  before=in_shell(script))


def elsewhere(place: str) -> Machine:
    """Return the machine, for a run in which nothing of gpudoctor lies in a folder that is hidden."""
    if str(ROOT).startswith(f"{place}/"):
        pytest.skip(f"gpudoctor itself lies in {place}")
    return doctor_machine()


def without(top: str, paths: Sequence[str]) -> Machine:
    """Return the machine with nothing in /proc or /sys."""
    return replace(doctor_machine(), hide=paths).without(top)


def places() -> Iterator[Fault]:
    """Yield file systems that are not there, are empty or cannot be written."""
    group = "a part of the file system"
    yield row(group, "everything", "is read-only", machine=lambda: replace(doctor_machine(), read_only=True))
    hidden = {top: [f"{top}/{name}" for name in os.listdir(top)] for top in ("/proc", "/sys")}
    for top, paths in hidden.items():
        cost: dict[str, Any] = {"lost": LOST_WITH[top], "changed": CHANGED_WITH[top]}
        yield row(group, top, "is empty", machine=partial(without, top, paths), **cost)
        yield row(group, top, "is not mounted", before=in_shell(f"umount -l {top}"), **cost)
    yield row(group, "/dev/shm", "is not there", before=in_shell("rmdir /dev/shm"),
              changed=frozenset({"container.shared_memory_bytes"}))
    yield row(group, "/dev/shm", "is read-only", before=in_shell("mount -t tmpfs -o ro none /dev/shm"))
    yield row(group, "/dev/null", "is not there", before=in_shell("umount /dev/null && rm /dev/null"))
    yield row(group, "/dev/null", "is an ordinary file that is full of junk", before=in_shell(
        "umount /dev/null && rm /dev/null && cp /bin/true /dev/null"))
    yield row(group, "/dev", "is empty", before=in_shell("umount -l /dev"), changed=CHANGED_WITH["/dev"])
    yield row(group, "/dev/urandom", "is not there", before=in_shell(
        "umount /dev/urandom && umount /dev/random && rm /dev/urandom /dev/random"))
    yield row(group, "/etc", "is empty", before=in_shell("mount -t tmpfs none /etc"),
              changed=CHANGED_WITH["/etc"])
    yield row(group, "/tmp", "is read-only", machine=partial(elsewhere, "/tmp"),
              before=in_shell("mount -t tmpfs -o ro none /tmp"))
    yield row(group, "/run", "is empty", before=in_shell(
        f"{KEEP_SCENE} && mount -t tmpfs none /run && {RESTORE_SCENE}"))
    yield row(group, "the current folder", "was removed", before=in_shell(
        "mkdir /tmp/gone && cd /tmp/gone && rmdir /tmp/gone"))
    yield row(group, "the current folder", "is full of modules of Python's names", before=in_shell(
        "mkdir /tmp/junk && cd /tmp/junk && for n in os json re typing typer rich ctypes random; "
        "do echo 'raise SystemExit(99)' > $n.py; done"), changed=frozenset({"python.shadowing_files"}))


def confined() -> Iterator[Fault]:
    """Yield system calls that a filter forbids, alone and those of a strict container together."""
    together = ("ptrace", "memfd_create", "process_vm_readv", "pidfd_open")
    wanted = [(", ".join(together), together), *((name, (name,)) for name in CALLS)]
    for error, said in ((EPERM, "is refused"), (ENOSYS, "is not known")):
        for subject, names in wanted if error == EPERM else wanted[:OFTEN_UNKNOWN]:
            numbers = ",".join(str(CALLS[name]) for name in names)
            yield row("a system call", subject, said, machine=with_filter,
                      before=("/opt/confine", str(error), numbers),
                      **_cost(subject, error))


def _cost(subject: str, error: int) -> dict[str, Any]:
    """Return what is lost without a system call: what it alone tells, and all where no thread can be started.

    The C library goes without clone3 where it is not known, and nowhere else.
    """
    if (subject, error) == ("clone3", EPERM):
        return {"lost": ALL, "codes": (UNDECIDED,), "says": "can't start new thread"}
    of_system = frozenset(of_probe("system"))
    if subject == "uname":
        return {"lost": of_system, "codes": (UNDECIDED,)}
    return {"lost": of_system, "codes": (0, UNDECIDED)} if subject == "prlimit64" else {}


def with_filter() -> Machine:
    """Return the machine with confine.c in it."""
    if platform.machine() != "x86_64":
        pytest.skip("the numbers of system calls are those of x86-64")
    return doctor_machine().adding(libraries={"/opt/confine": compiled("confine.c")})


def clocks() -> Iterator[Fault]:
    """Yield wall clocks that are wrong or jump, with every probe well and with one that hangs."""
    for kind, said in (("back", "goes back years at every look"), ("ahead", "goes ahead years at every look"),
                       ("wild", "jumps about"), ("zero", "stands at the beginning of time"),
                       ("far", "is in the year 2200")):
        for hung in (None, "toolkit", "cuda"):
            lost = PROBES[hung].lost if hung else frozenset[str]()
            yield row(
                "the clock", "the wall clock", said + (f", and {hung} hangs" if hung else ""),
                machine=partial(with_clock, hung),
                environment={"CLOCK_JUMP": kind, "LD_PRELOAD": "/opt/clock.so"},
                lost=lost, changed=frozenset({"environment.LD_PRELOAD", "loader.files"}),
                codes=(UNDECIDED,) if hung == "cuda" else (0,), says="no end within 3 s" if hung else "",
                timeout_seconds=3.0 if hung else 10.0)


def with_clock(hung: str | None) -> Machine:
    """Return the machine with clock.c in it, and with a collector that hangs."""
    library = compiled("clock.c", shared=True)
    files = {FAULT_FILE: f"{hung} hang 0\n"} if hung else {}
    return doctor_machine().adding(libraries={"/opt/clock.so": library}, files=files)


def faults() -> Iterator[Fault]:
    """Yield all of them."""
    yield from resources()
    yield from places()
    yield from confined()
    yield from clocks()
