"""What is run or read beside the collectors of every check, broken in every way that applies to it.

series: the child in which the readers of files answer one after the other; nothing depends on it.
device_code: walks the libraries of a build that no table knows. process and launch: with --pid, what looks
at a process, and what brings every collector to where that process lives. A kernelspec is read by gpudoctor
itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from tests.faults import probes
from tests.faults.doctor import FAULT_FILE, PYTHON, SITE_PACKAGES, TORCH, doctor_machine
from tests.faults.fault import Fault, Promise, keeps
from tests.faults.probes import (
    FORBIDDEN, FOUND, HEALTHY, KINDS, MISSING, PAYLOADS, PROBES, UNDECIDED, Kind, imports,
)
from tests.faults.scene import Scene, Stage
from tests.faults.surroundings import ALL, UNUSABLE, one_line
from tests.harness.machine import File, Machine
from tests.hosts.looking import LIBCUDA
from tests.unit.test_fatbin import WHOLE_ELF

GROUP = "another collector's child"
SPOILING = ("truncated", "twice", "deep", "list")  # of an answer that the launcher itself does not give
PID = frozenset({"process.id"})
# A process with a library mapped, and the check of it. Its number is another one each time.
SHELL = f"""
{PYTHON} --sleep {LIBCUDA} & pid=$!
until grep -q {LIBCUDA} /proc/$pid/maps; do sleep 0.02; done
"$@" --pid $pid
code=$?
kill -9 $pid
wait $pid 2>/dev/null
exit $code
"""


@dataclass(frozen=True, kw_only=True)
class Other:
    """A collector: where it is run, which facts it costs, and the exit codes of a check with and without."""

    name: str
    scene: Scene
    lost: frozenset[str] = frozenset()
    without: int = HEALTHY
    whole: int = HEALTHY
    changes: frozenset[str] = frozenset()
    # What is lost without its file, and what is said where it is gone and where it is closed: others may
    # need it. Nothing is started where a process lives unless the whole payload can be brought there.
    without_file: frozenset[str] = frozenset()
    code_without_file: int = HEALTHY
    said_without_file: tuple[str, str] = ("", "")


def unknown_build() -> Machine:
    """Return the machine with a torch that no table knows, whose one library holds device code."""
    record = f"torch/version.py,,\ntorch/lib/libtorch_cuda.so,,{len(WHOLE_ELF)}\n"
    return doctor_machine().adding(files={
        **TORCH,
        f"{SITE_PACKAGES}/torch/version.py": "__version__ = '2.10.0+cu199'\ncuda = '19.9'\n",
        f"{SITE_PACKAGES}/torch-2.10.0+cpu.dist-info/METADATA": "Name: torch\nVersion: 2.10.0+cu199\n",
        f"{SITE_PACKAGES}/torch-2.10.0+cpu.dist-info/RECORD": record,
        f"{SITE_PACKAGES}/torch/lib/libtorch_cuda.so": WHOLE_ELF,
    })


STATIC = Scene(key="unbroken static", machine=doctor_machine)
CODE = Scene(key="unbroken unknown build", machine=unknown_build, depth="import")
OF_PROCESS = Scene(key="unbroken process", machine=doctor_machine, before=("sh", "-c", SHELL, "sh"))
LIBRARIES, ALL_THERE = frozenset({"process.libraries"}), ALL - {"process.command"}
NEEDING_IT = LIBRARIES.union(*(
    probe.lost for probe in PROBES.values() if "process" in imports(probe.collector)))
OTHERS = (
    Other(name="series", scene=STATIC),
    Other(name="device_code", scene=CODE, lost=frozenset({"torch framework.code"}),
          without=FOUND, whole=FOUND, without_file=PROBES["frameworks"].lost, code_without_file=UNDECIDED,
          changes=frozenset({"loader.files"}),  # the patient's libraries stand there beside the system's
          said_without_file=("cannot import name 'device_code'", FORBIDDEN.says)),
    Other(name="process", scene=OF_PROCESS, lost=LIBRARIES, changes=PID, without_file=NEEDING_IT,
          said_without_file=(MISSING.says, "cannot be read")),
    Other(name="launch", scene=OF_PROCESS, lost=ALL_THERE, without=UNDECIDED, changes=PID,
          without_file=ALL_THERE, code_without_file=UNDECIDED,
          said_without_file=("No such file", "cannot be read")),
)


def broken(other: Other, kind: Kind) -> Scene:
    """Return the run in which it misbehaves."""
    files = {FAULT_FILE: f"{other.name} {kind.word} {kind.number}\n"}
    return replace(other.scene, key=f"{other.name} {kind.word}", timeout_seconds=kind.seconds,
                   machine=lambda: other.scene.machine().adding(files=files))


def damaged(other: Other, kind: Kind) -> Machine:
    """Return the machine with its file gone, or one that the user may not read."""
    file = PAYLOADS / f"{other.name}.py"
    machine = other.scene.machine()
    if kind is MISSING:
        return replace(machine, hide=(*machine.hide, str(file)))
    return machine.adding(files={str(file): File(content=file.read_bytes(), mode=0o000)})


def promise(other: Other, kind: Kind) -> Promise:
    """Return what is promised: without the series, nothing is lost, and nothing is said."""
    changes = other.changes & PID
    if not kind.loses or not other.lost:
        return Promise(exit_codes=frozenset({other.whole}), may_change=changes)
    codes = {other.without, other.whole} if kind.part else {other.without}
    return Promise(exit_codes=frozenset(codes), may_lose=other.lost, may_change=changes, says=kind.says)


def fault(other: Other, kind: Kind, scene: Scene, whole: Scene, promised: Promise) -> Fault:
    """Return one row."""

    def survive(stage: Stage) -> None:
        seen = stage.seen(scene)
        if seen.exit_code == UNUSABLE and UNUSABLE in promised.exit_codes:
            one_line(seen, promised.says)
            return
        keeps(promised, seen, stage.seen(whole))
        if other.scene is OF_PROCESS:
            assert isinstance(seen.looked.fact("process.id").get("value"), int)

    return Fault(group=GROUP, subject=other.name, kind=kind.name, scenes=(whole, scene), survive=survive)


def without_file(other: Other) -> Iterator[Fault]:
    """Yield the rows in which its file is gone or closed."""
    for kind, says in zip((MISSING, FORBIDDEN), other.said_without_file, strict=True):
        scene = replace(other.scene, key=f"{other.name} {kind.word}", machine=partial(damaged, other, kind))
        whole = other.scene
        if kind is FORBIDDEN:
            scene, whole = probes.by_nobody(scene), probes.by_nobody(whole)
        code = other.code_without_file or other.whole
        codes = frozenset({UNUSABLE if says == "cannot be read" else code})
        yield fault(other, kind, scene, whole, Promise(
            exit_codes=codes, may_lose=other.without_file, may_change=other.changes, says=says))


JSON = "/opt/named/kernels/broken/kernel.json"
KERNEL = Scene(key="kernelspec", machine=doctor_machine, options=("--kernel", "broken"),
               environment={"JUPYTER_PATH": "/opt/named"})
GOOD = '{"argv": ["%s", "-m", "ipykernel_launcher"], "display_name": "x", "language": "python"%s}'
KERNELSPECS: dict[str, str | bytes | File] = {
    "junk": bytes(range(256)) * 40,
    "empty": "",
    "no UTF-8": b'{"argv": ["\xff\xfe\xed\xa0\x80"]}',
    "half of one": (GOOD % (PYTHON, ""))[:40],
    "two": (GOOD % (PYTHON, "")) * 2,
    "a list": "[]",
    "a number of 5 000 digits": "9" * 5000,
    "nested 100 000 deep": '{"argv":' * 100_000 + "1" + "}" * 100_000,
    "of wrong types": '{"argv": {"0": 7}, "env": [1], "metadata": "x"}',
    "with a command of numbers": '{"argv": [7, null, 1e999], "display_name": 3}',
    "with an environment of numbers": GOOD % (PYTHON, ', "env": {"A": 1}'),
    "with an empty command": '{"argv": [], "display_name": "x", "language": "python"}',
    "with a program that is not there": GOOD % ("/nowhere/python", ""),
    "with a program that is no Python": GOOD % ("/dev/zero", ""),
    "with terminal escapes": GOOD % ("/opt/\\u001b[2J\\u202epython", ""),
    "not to be read": File(content=GOOD % (PYTHON, ""), mode=0o000),
}
MADE = {  # what is made in the machine, by shell
    "of 100 MB": f"mkdir -p $(dirname {JSON}) && head -c 100000000 /dev/zero | tr '\\\\0' ' ' > {JSON}",
    "a folder": f"mkdir -p {JSON}",
    "a pipe": f"mkdir -p $(dirname {JSON}) && mkfifo {JSON}",
    "an endless file": f"mkdir -p $(dirname {JSON}) && ln -s /dev/zero {JSON}",
    "a link to itself": f"mkdir -p $(dirname {JSON}) && ln -s kernel.json {JSON}",
    "gone": "true",
}


def kernelspecs() -> Iterator[Fault]:
    """Yield each kernelspec that cannot be used: no report, and one line that names it."""
    for kind in dict.fromkeys([*KERNELSPECS, *MADE]):
        files = {JSON: KERNELSPECS[kind]} if kind in KERNELSPECS else {}
        scene = replace(KERNEL, key=f"kernelspec {kind}", machine=partial(with_files, files))
        if kind in MADE:
            scene = replace(scene, before=("sh", "-c", f'{MADE[kind]}; exec "$@"', "sh"))
        if kind == "not to be read":
            scene = probes.by_nobody(scene)
        yield Fault(group="a kernelspec", subject="kernel.json", kind=f"is {kind}" if kind[:4] != "with"
                    else f"is one {kind}", scenes=(scene,), survive=unusable(scene))


def with_files(files: dict[str, Any]) -> Machine:
    """Return the machine with them."""
    return doctor_machine().adding(files=files)


def unusable(scene: Scene) -> Callable[[Stage], None]:
    """Return the check that one line says what is wrong with the kernel that was named."""

    def survive(stage: Stage) -> None:
        seen = stage.seen(scene)
        one_line(seen, "broken")
        assert seen.completed.stderr.rstrip("\n").isprintable(), seen.completed.stderr
        assert (seen.exit_code, seen.completed.stdout) == (UNUSABLE, "")

    return survive


def faults() -> Iterator[Fault]:
    """Yield all of them."""
    for kind in KINDS:
        for other in OTHERS:
            is_spoilt = kind.part or kind.word in SPOILING
            if kind.everywhere and not (other.name == "launch" and is_spoilt):
                yield fault(other, kind, broken(other, kind), other.scene, promise(other, kind))
    for other in OTHERS:
        yield from without_file(other)
    yield from kernelspecs()
