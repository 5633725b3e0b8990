"""Every probe, broken in every way: its child crashes, hangs, floods, or answers something else.

doctor.py says how a probe is broken. A collector that is added to gpudoctor is added to PROBES here; a test
says so if it is not.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache, partial

import pytest

from gpudoctor.facts import promised
from gpudoctor.model import Scope
from tests.faults import running
from tests.faults.doctor import FAULT_FILE, ROOT, TORCH, compiled, doctor_machine
from tests.faults.fault import Fault, Promise, survived_with
from tests.faults.scene import FRAMEWORKS, Scene, Stage
from tests.harness.machine import File, Machine, Node
from tests.hosts.looking import of_probe

GROUP = "a probe's child"
PAYLOADS = ROOT / "gpudoctor" / "payloads"
NORMAL_SECONDS, HANGING_SECONDS, SLOW_SECONDS = 10.0, 3.0, 7.0
HEALTHY, FOUND, UNDECIDED = 0, 1, 3


@dataclass(frozen=True, kw_only=True)
class Probe:
    """A collector: which facts it costs, and the exit code of a check that had to do without it."""

    collector: str
    lost: frozenset[str]
    exit_code: int = UNDECIDED
    depth: str = "static"
    torch: bool = False  # an environment with a framework, and therefore with a finding, to be lost
    changes: bool = False  # how it ends is what its facts tell
    options: tuple[str, ...] = ()
    own_seconds: float = 0.0  # what is promised beside --timeout


def of_framework(probe: str, title: str = "torch") -> set[str]:
    """Return the names of what a probe says of one framework."""
    return {f"{title} {name}" for name in promised(probe, Scope.FRAMEWORK)}


# The facts that tell how importing and running a framework went.
OF_STAGES = of_framework("stages")


PROBES = {probe.collector: probe for probe in (
    Probe(collector="system", lost=frozenset(of_probe("system"))),
    Probe(collector="driver", lost=frozenset(of_probe("driver")), exit_code=HEALTHY),
    Probe(collector="container", lost=frozenset(of_probe("container")), exit_code=HEALTHY),
    Probe(collector="toolkit", lost=frozenset(of_probe("toolkit")), exit_code=HEALTHY),
    Probe(collector="loader", lost=frozenset(of_probe("loader")), exit_code=HEALTHY),
    Probe(collector="environment", lost=frozenset(of_probe("environment"))),
    Probe(collector="frameworks", torch=True,
          lost=frozenset(of_probe("python") | of_framework("frameworks") | OF_STAGES | {FRAMEWORKS})),
    Probe(collector="nvml", lost=frozenset(of_probe("nvml"))),
    Probe(collector="cuda", lost=frozenset(of_probe("cuda"))),
    Probe(collector="smoke", lost=frozenset(of_probe("smoke")), depth="smoke"),
    Probe(collector="stages", lost=frozenset(OF_STAGES), depth="smoke", torch=True, changes=True,
          exit_code=FOUND, options=running.OPTIONS, own_seconds=running.OWN_SECONDS),
)}


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A way to break a child. `word` names it for interpreter.c, `says` is what the report says of it.

    Those that are not `everywhere` differ from another only in how the child ends: they are tried on a few
    probes, others for each kind. `part`: only some members of the answer are spoilt.
    """

    name: str
    word: str
    says: str = ""
    loses: bool = True
    part: bool = False
    everywhere: bool = False
    seconds: float = NORMAL_SECONDS
    number: int = 0


HANG = f"no end within {HANGING_SECONDS:g} s"
KINDS = (
    Kind(name="crashes (SIGSEGV)", word="crash", says="SIGSEGV", everywhere=True),
    Kind(name="aborts (SIGABRT)", word="abort", says="SIGABRT", everywhere=True),
    Kind(name="is killed, as by the kernel when memory is short", word="killed", says="SIGKILL"),
    Kind(name="ends with an error", word="fail", says="exit status 3: the interpreter cannot start"),
    Kind(name="ends without an answer", word="silent", says="no answer"),
    Kind(name="hangs", word="hang", says=HANG, seconds=HANGING_SECONDS, everywhere=True),
    Kind(name="hangs, deaf to every signal", word="deaf", says=HANG, seconds=HANGING_SECONDS,
         everywhere=True),
    Kind(name="is stopped", word="stopped", says=HANG, seconds=HANGING_SECONDS),
    Kind(name="hangs in the kernel (vfork)", word="vforked", says=HANG, seconds=HANGING_SECONDS,
         everywhere=True),
    Kind(name="hangs where not even SIGKILL is heard", word="unkillable", says="was killed, but does not go",
         seconds=HANGING_SECONDS + 1),
    Kind(name="hangs and leaves a daemon with its pipes", word="daemon", says=HANG, seconds=HANGING_SECONDS),
    Kind(name="leaves a daemon with its pipes", word="orphan", loses=False),
    Kind(name="floods stdout", word="flood-stdout", loses=False, everywhere=True),
    Kind(name="floods stderr", word="flood-stderr", loses=False, everywhere=True),
    Kind(name="floods both without end", word="flood-for-ever", says=HANG, seconds=HANGING_SECONDS),
    Kind(name="floods the answer", word="flood-answer", says="its answer is too long"),
    Kind(name="answers junk", word="junk", says="no JSON document", everywhere=True),
    Kind(name="answers invalid UTF-8", word="invalid-utf8", says="no JSON document", everywhere=True),
    Kind(name="answers half", word="truncated", says="no JSON document", everywhere=True),
    Kind(name="answers twice", word="twice", says="no JSON document"),
    Kind(name="answers too deep a nesting", word="deep", says="no JSON document"),
    Kind(name="answers with wrong types", word="wrong-types", part=True, everywhere=True),
    Kind(name="answers with huge numbers", word="huge-numbers", part=True, everywhere=True),
    Kind(name="answers with no numbers (NaN)", word="no-numbers", part=True),
    Kind(name="answers an empty object", word="empty-object", part=True),
    Kind(name="answers a list", word="list", says="no JSON object"),
    Kind(name="is slow by three seconds less than its limit", word="slow", loses=False, everywhere=True,
         seconds=SLOW_SECONDS, number=int(SLOW_SECONDS) - 3),
    Kind(name="cannot write its answer", word="closed-answer", says="Bad file descriptor"),
    Kind(name="has no memory", word="no-memory", says="exit status"),
    Kind(name="has no file descriptors", word="no-descriptors", says="exit status"),
    Kind(name="has no processor time", word="no-processor-time", says="SIGXCPU"),
)
MISSING = Kind(name="is missing: its file is gone", word="missing", says="ModuleNotFoundError")
FORBIDDEN = Kind(
    name="is not permitted: its file may not be read", word="forbidden", says="Permission denied")
NOBODY = 65534


def machine_for(probe: Probe, text: str = "") -> Machine:
    """Return the machine for a probe, with a text in the file that says what to break."""
    machine = doctor_machine()
    if probe.torch:
        machine = machine.adding(files=TORCH)
    return machine.adding(files={FAULT_FILE: text}) if text else machine


def unbroken(probe: Probe) -> Scene:
    """Return the run without a fault that a probe's broken runs are compared with."""
    return Scene(
        key=f"unbroken {probe.depth} {probe.torch}", machine=partial(machine_for, probe), depth=probe.depth,
        options=probe.options, own_seconds=probe.own_seconds)


def broken(probe: Probe, kind: Kind) -> Scene:
    """Return the run in which a probe is broken."""
    scene = replace(unbroken(probe), key=f"{probe.collector} {kind.word}", timeout_seconds=kind.seconds)
    if kind is MISSING or kind is FORBIDDEN:
        return replace(scene, machine=partial(damaged, probe, kind))
    text = f"{probe.collector} {kind.word} {kind.number}\n"
    scene = replace(scene, machine=partial(machine_for, probe, text))
    if kind.word == "unkillable":
        silent, daemon = partial(with_silent_folder, scene.machine), "/opt/fuse"
        stuck = (f"/payloads/__main__.py {probe.collector} ", "/payloads/__main__.py series ")
        return replace(scene, machine=silent, before=(daemon,), stays=(daemon, *stuck))
    return scene


@cache
def imports(module: str) -> frozenset[str]:
    """Return the modules of the payload that one needs, itself among them."""
    source = (PAYLOADS / f"{module}.py").read_text("utf-8")
    wanted = {module}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.level == 1:
            names = [node.module] if node.module else [alias.name for alias in node.names]
            wanted |= {name for name in names if (PAYLOADS / f"{name}.py").exists()}
    return frozenset(wanted.union(*(imports(name) for name in wanted - {module})))


def lost_without_file(probe: Probe) -> Probe:
    """Return the probe with all that is lost without its file: others may import it."""
    hit = [other for other in PROBES.values() if probe.collector in imports(other.collector)]
    code = UNDECIDED if any(other.exit_code == UNDECIDED for other in hit) else probe.exit_code
    return replace(probe, lost=frozenset().union(*(other.lost for other in hit)), exit_code=code)


def damaged(probe: Probe, kind: Kind) -> Machine:
    """Return the machine with the collector's file gone, or one that the user may not read."""
    file = PAYLOADS / f"{probe.collector}.py"
    machine = machine_for(probe)
    if kind is MISSING:
        return replace(machine, hide=(*machine.hide, str(file)))
    return machine.adding(files={str(file): File(content=file.read_bytes(), mode=0o000)})


def with_silent_folder(machine: Callable[[], Machine]) -> Machine:
    """Return the machine with a file system at /run/silent that never answers; see fuse.c."""
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        pytest.skip("no file system of our own can be made here: /dev/fuse is not there for us")
    node = Node(path="/dev/fuse", major=10, minor=229)
    silent = machine().adding(nodes=[node], libraries={"/opt/fuse": compiled("fuse.c")})
    return replace(silent, directories={**silent.directories, "/run/silent": 0o755})


def promise(probe: Probe, kind: Kind) -> Promise:
    """Return what is promised for a probe that is broken in a way."""
    normal = FOUND if probe.torch else HEALTHY
    if probe.changes:
        return running.promise(kind.word, may_lose=probe.lost, exit_code=probe.exit_code)
    if not kind.loses:
        return Promise(exit_codes=frozenset({normal}))
    # A record without the member that could not be read is still a record.
    partial_records = {"loader.files", "system.pci_nvidia"} if kind.part else set()
    return Promise(
        exit_codes=frozenset({probe.exit_code, *([normal] if kind.part else [])}), may_lose=probe.lost,
        says=kind.says, may_change=frozenset(partial_records & probe.lost))


def faults() -> Iterator[Fault]:
    """Yield every probe times every kind, and those kinds that are tried on a few on two of them."""
    probes = list(PROBES.values())
    for number, kind in enumerate(KINDS):
        few = {(number + step) % len(probes) for step in (0, 5)}
        for index, probe in enumerate(probes):
            if kind.everywhere or index in few or probe.changes:
                yield fault(probe, kind, broken(probe, kind), unbroken(probe))
    for probe in map(lost_without_file, probes):
        yield fault(probe, MISSING, broken(probe, MISSING), unbroken(probe))
        yield fault(probe, FORBIDDEN, by_nobody(broken(probe, FORBIDDEN)), by_nobody(unbroken(probe)))
    yield from in_words()


def in_words() -> Iterator[Fault]:
    """Yield each kind once more, told to a person: on one probe each, as the report is the same.

    What became of running a framework stands elsewhere in it: there, a few kinds.
    """
    probes = [probe for probe in PROBES.values() if not probe.changes]
    for number, kind in enumerate(kind for kind in KINDS if kind.says and kind.word != "list"):
        yield _in_words(probes[number % len(probes)], kind)
    for probe in PROBES.values():
        for kind in (*KINDS, MISSING):
            if probe.changes and kind.word in ("crash", "hang", "junk", "invalid-utf8", "missing"):
                yield _in_words(probe, kind)


def _in_words(probe: Probe, kind: Kind) -> Fault:
    scene = replace(broken(probe, kind), form="text")
    scene = replace(scene, key=f"{scene.key} in words")
    return Fault(group=GROUP, subject=probe.collector, kind=f"{kind.name} (in words)", scenes=(scene,),
                 survive=partial(survive_in_words, probe, kind, scene))


def survive_in_words(probe: Probe, kind: Kind, scene: Scene, stage: Stage) -> None:
    """Hold a report for a person to naming the probe and its end, in characters that can be shown."""
    seen = stage.seen(scene)
    seen.in_time()
    said = seen.completed.stdout
    assert (seen.completed.stderr, seen.exit_code in promise(probe, kind).exit_codes) == ("", True), said
    assert [line for line in said.splitlines() if not line.isprintable()] == []
    if probe.changes:  # how it ended stands with the framework
        assert running.in_words(kind.word) in " ".join(said.split()), said
        return
    failed = " ".join(said.partition("PROBES THAT FAILED")[2].split())
    assert f"{probe.collector} " in failed, said
    assert kind.says in failed, said


def by_nobody(scene: Scene) -> Scene:
    """Return the same run by a user with no rights."""
    return replace(scene, key=f"{scene.key} by nobody", user=NOBODY)


def fault(probe: Probe, kind: Kind, scene: Scene, whole: Scene) -> Fault:
    """Return one row."""
    return Fault(group=GROUP, subject=probe.collector, kind=kind.name, scenes=(whole, scene),
                 survive=survived_with(promise(probe, kind), scene, whole))
