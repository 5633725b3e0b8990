"""What is promised when the child that runs a framework is broken, and a framework that breaks in a stage.

The framework is a stand-in that imports and computes (standin_torch.py), so that without a fault its stages
end with "ran-on-cpu". A child that ends costs what it had not yet said; what follows gets a fresh one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

from gpudoctor.facts import promised
from gpudoctor.model import Scope
from tests.faults.doctor import SITE_PACKAGES, TORCH, doctor_machine
from tests.faults.fault import Fault, Promise, survived_with
from tests.faults.scene import Scene
from tests.harness.machine import File, Machine

GROUP = "a framework that is run"
FOUND = 1  # the stand-in is a CPU build beside a card, whatever its run comes to
LIMIT_SECONDS = 4
OPTIONS = ("--smoke-timeout", str(LIMIT_SECONDS), "--stages", "matmul,convolution,reduced-precision")
OWN_SECONDS = 60.0  # three children that hang, and their interpreters' starts
RAN = {"import": "passed", "matmul": "ran-on-cpu", "convolution": "ran-on-cpu",
       "reduced-precision": "ran-on-cpu"}
MISSED = {stage: "not-reached" for stage in RAN if stage != "import"}
UNKNOWN, EXITED = {"import": "unknown", **MISSED}, {"import": "exited", **MISSED}
HUNG, SILENT = "no end within", "its child kept no journal"
STAGES, LOG = "torch framework.stages", "torch framework.log"
OF_STAGES = frozenset(f"torch {name}" for name in promised("stages", Scope.FRAMEWORK))

# How the import and the stages end, and in which words, when the child is broken in a way (probes.KINDS).
ENDS: Mapping[str, tuple[Mapping[str, str], str]] = {
    "crash": (UNKNOWN, "SIGSEGV"), "abort": (UNKNOWN, "SIGABRT"), "killed": (UNKNOWN, "SIGKILL"),
    "fail": (UNKNOWN, "exit status 3: the interpreter cannot start"), "silent": (UNKNOWN, SILENT),
    "hang": (UNKNOWN, HUNG), "deaf": (UNKNOWN, HUNG), "stopped": (UNKNOWN, HUNG),
    "vforked": (UNKNOWN, HUNG), "unkillable": (UNKNOWN, "was killed, but does not go"),
    "daemon": (UNKNOWN, HUNG), "orphan": (RAN, ""), "flood-stdout": (RAN, ""), "flood-stderr": (RAN, ""),
    "flood-for-ever": (UNKNOWN, HUNG), "flood-answer": (UNKNOWN, SILENT), "junk": (UNKNOWN, SILENT),
    "invalid-utf8": (EXITED, "its import: exited"),
    "truncated": (UNKNOWN, SILENT), "twice": (UNKNOWN, SILENT),
    "deep": (UNKNOWN, SILENT), "wrong-types": (EXITED, "its import: exited"),
    "huge-numbers": (RAN, ""), "no-numbers": (RAN, ""),
    "empty-object": (EXITED, "its import: exited"), "list": (UNKNOWN, SILENT),
    "slow": (RAN, ""), "closed-answer": (UNKNOWN, SILENT), "no-memory": (UNKNOWN, "exit status"),
    "no-descriptors": (UNKNOWN, "exit status"), "no-processor-time": (UNKNOWN, "SIGXCPU"),
    "missing": (UNKNOWN, "ModuleNotFoundError"), "forbidden": (UNKNOWN, "Permission denied"),
}
# What nobody has asked of a framework that was not imported, or that says no number.
FOLLOWS = frozenset(f"torch framework.{name}" for name in (
    "seen_gpus", "loaded_libraries", "resolved_libraries"))


def promise(word: str, *, may_lose: frozenset[str] = frozenset(), exit_code: int = FOUND) -> Promise:
    """Return what is promised where the child of every round is broken in one way."""
    ends, says = ENDS[word]
    if ends is RAN:
        changed = {"flood-stderr": {LOG}, "huge-numbers": {STAGES}, "no-numbers": {STAGES}}.get(word, set())
        lost = FOLLOWS if "numbers" in word else frozenset[str]()
    else:
        how = {"torch framework.import_outcome", "torch framework.import_words"} if ends is EXITED else set()
        changed, lost = {STAGES, LOG, *how}, may_lose
    return Promise(exit_codes=frozenset({exit_code}), may_lose=lost, follows=lost & FOLLOWS, says=says,
                   may_change=frozenset(changed), outcomes=ends)


def in_words(word: str) -> str:
    """Return what is said of it to a person."""
    ends, says = ENDS[word]
    return "import exited" if ends is EXITED else says


IN_CONVOLUTION = """
import os, signal, time
right = conv2d
def conv2d(images, windows):
    result = right(images, windows)
    {}
    return result
"""
IN_IMPORT = "\nimport os, signal, time\n{}\n"
# What it does, and how that stage ends. The stages beside it are run, before it and after it.
IN_A_STAGE = {
    "crashes": ("os.kill(os.getpid(), signal.SIGSEGV)", "crashed"),
    "aborts": ("os.abort()", "crashed"),
    "is killed": ("os.kill(os.getpid(), signal.SIGKILL)", "crashed"),
    "ends the process": ("os._exit(0)", "exited"),
    "hangs": ("time.sleep(600)", "timed-out"),
    "hangs at work": ("while True: pass", "timed-out"),
    "raises": ("raise RuntimeError('cuDNN error: \\x1b[2J')", "failed"),
    "raises what nobody catches": ("raise SystemExit(3)", "failed"),
    "computes wrongly": ("result.values[0][1][2][3] += 1", "wrong-result"),
    "gives no numbers": ("result.values = 'a text'", "failed"),
}
IN_THE_IMPORT = {
    "crashes": ("os.kill(os.getpid(), signal.SIGSEGV)", "crashed"),
    "hangs": ("time.sleep(600)", "timed-out"),
    "ends the process": ("os._exit(0)", "exited"),
    "raises": ("raise ImportError('libcudnn.so.9: cannot open shared object file')", "failed"),
}


def machine(text: str = "") -> Machine:
    """Return the machine with a torch that does something else at its end."""
    path = f"{SITE_PACKAGES}/torch/__init__.py"
    torch = TORCH[path]
    assert isinstance(torch, bytes)
    files: dict[str, str | bytes | File] = {**TORCH, path: torch + text.encode()}
    return doctor_machine().adding(files=files)


def scene(name: str, text: str = "") -> Scene:
    """Return the run of a torch."""
    return Scene(key=f"torch {name}", machine=partial(machine, text), depth="smoke", options=OPTIONS,
                 own_seconds=OWN_SECONDS)


def faults() -> Iterator[Fault]:
    """Yield every way to break in a stage, then in the import."""
    for kind, (text, outcome) in IN_A_STAGE.items():
        kept = Promise(exit_codes=frozenset({FOUND}), may_change=frozenset({STAGES, LOG}),
                       outcomes={**RAN, "convolution": outcome})
        yield _fault("torch in a stage", kind, IN_CONVOLUTION.format(text), kept)
    for kind, (text, outcome) in IN_THE_IMPORT.items():
        lost = Promise(exit_codes=frozenset({FOUND}), may_change=OF_STAGES,
                       outcomes={**MISSED, "import": outcome})
        yield _fault("torch in its import", kind, IN_IMPORT.format(text), lost)


def _fault(subject: str, kind: str, text: str, kept: Promise) -> Fault:
    whole, broken = scene("as it is"), scene(f"{subject} {kind}", text)
    return Fault(group=GROUP, subject=subject, kind=kind, scenes=(whole, broken),
                 survive=survived_with(kept, broken, whole))
