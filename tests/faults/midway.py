"""Collectors that fail in the middle of the child in which several run one after the other.

Here the damage is in the installed file of the collector: what it does when it is called is put behind it. So
those before it have answered already, and those after it have not.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from tests.faults.doctor import doctor_machine
from tests.faults.fault import Fault, Promise, survived_with
from tests.faults.probes import HEALTHY, PAYLOADS, PROBES, Probe, lost_without_file
from tests.faults.scene import Scene
from tests.harness.machine import Machine

SECONDS = 4.0
WHOLE = Scene(key="unbroken static", machine=doctor_machine)
COLLECTORS = ("system", "driver", "container", "toolkit", "loader", "environment", "nvml")
# What the collector does, what is said of it, and the limit; nothing is said where nothing is lost.
KINDS = {
    "crashes": ("import ctypes; ctypes.string_at(0)", "SIGSEGV", 10.0),
    "hangs": ("import time; time.sleep(1000)", f"no end within {SECONDS:g} s", SECONDS),
    "exits": ("import os; os._exit(7)", "exit status 7", 10.0),
    "raises an exception": ("raise RuntimeError('broken')", "RuntimeError: broken", 10.0),
    "answers half a line": (
        "import os, sys; os.write(int(sys.argv[2]), b'{\"collector\": \"'); os._exit(0)", "no JSON document",
        10.0),
    "answers what is no JSON": ("return {1, 2}", "no JSON object", 10.0),
    "floods stdout and stderr": (
        ("import os\n    for _ in range(300): os.write(1, b'x' * 100000); os.write(2, b'x' * 100000)\n"
         "    return _whole(request)"), "", 10.0),
}


def damaged(collector: str, code: str) -> Machine:
    """Return the machine on which a collector does something else."""
    path = PAYLOADS / f"{collector}.py"
    text = f"{path.read_text('utf-8')}\n\n_whole = collect\n\n\ndef collect(request):\n    {code}\n"
    return doctor_machine().adding(files={str(path): text})


def row(probe: Probe, kind: str) -> Fault:
    """Return one fault."""
    code, says, seconds = KINDS[kind]
    scene = Scene(key=f"midway {probe.collector} {kind}", machine=partial(damaged, probe.collector, code),
                  timeout_seconds=seconds)
    codes = frozenset({probe.exit_code, PROBES[probe.collector].exit_code})
    lost = Promise(exit_codes=codes, may_lose=probe.lost, says=says)
    promise = lost if says else Promise(exit_codes=frozenset({HEALTHY}))
    return Fault(group="a collector among others", subject=probe.collector, kind=kind, scenes=(WHOLE, scene),
                 survive=survived_with(promise, scene, WHOLE))


def faults() -> Iterator[Fault]:
    """Yield every collector of the series with every kind."""
    for kind in KINDS:
        for collector in COLLECTORS:
            yield row(lost_without_file(PROBES[collector]), kind)


