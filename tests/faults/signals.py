"""SIGINT, SIGTERM, SIGHUP and SIGPIPE at many moments of a check: no process is left, and no half a report.

The moments are drawn once, from a seed, over the time that a check takes; some more while a child hangs, and
while a framework that is run does, which has a child of its own.
"""

from __future__ import annotations

import json
import random
import re
import signal
import time
from collections.abc import Callable, Iterator
from functools import partial

from tests.faults import running
from tests.faults.doctor import COMMAND, FAULT_FILE, doctor_machine
from tests.faults.fault import Fault
from tests.faults.scene import Stage
from tests.harness.machine import File, Machine

MOMENTS, SEED = 8, 20261120
LONGEST_SECONDS, HUNG_SECONDS = 1.2, 2.5
RUN_SECONDS = 4.0  # by then, its import hangs
GONE_WITHIN_SECONDS = 6.0
OUTPUT = "/tmp/out/report.json"
# 128 + n is what a shell says of a program that a signal ended; before our own handlers stand, one does.
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE)
# The shell hears the signal as well, but does nothing about it; what it starts hears it as ever.
SCRIPT = (
    "trap : INT TERM HUP PIPE; mkdir /tmp/out; echo begun; "
    '"$@" >/tmp/stdout; code=$?; trap "" INT TERM HUP PIPE; ls -A /tmp/out >/tmp/listed; exit $code')


def moments(number: signal.Signals) -> list[float]:
    """Return when to send a signal, in seconds after the start."""
    drawn = random.Random(f"{SEED} {number.name}")
    return sorted(round(drawn.uniform(0.0, LONGEST_SECONDS), 3) for _ in range(MOMENTS))


def with_hung_child() -> Machine:
    """Return the machine on which the child that asks libcuda hangs."""
    return doctor_machine().adding(files={FAULT_FILE: File(content="cuda hang 0\n")})


def with_hung_framework() -> Machine:
    """Return the machine with a torch whose import hangs, and a process that it forked."""
    return running.machine(running.IN_IMPORT.format("os.fork(); time.sleep(600)"))


def survive(number: signal.Signals, moment: float, where: Callable[[], Machine], _stage: Stage) -> None:
    """Send the signal at the moment and hold what follows to its promises."""
    machine, hung = where(), where is not doctor_machine
    argv = ["sh", "-c", SCRIPT, "sh", *COMMAND, "check", "--format", "json", "--timeout", "10", "-o", OUTPUT]
    running = machine.start(argv, collect=(OUTPUT, "/tmp/listed", "/tmp/stdout"))
    while running.output_so_far()[0] != "begun\n" and running.process.poll() is None:
        time.sleep(0.005)
    time.sleep(moment)
    sent_at = time.monotonic()
    running.interrupt(number)
    done = running.wait(60)
    if hung and number is not signal.SIGPIPE:
        assert time.monotonic() - sent_at < GONE_WITHIN_SECONDS
    assert done.leftover == ()
    files = done.files or {}
    listed = files["/tmp/listed"].decode().split()
    assert files["/tmp/stdout"] == b""
    of_the_shell = signal.strsignal(number)  # its word for how the command ended
    said = "\n".join(line for line in done.stderr.splitlines() if line not in ("", of_the_shell))
    if was_too_early(said):
        assert listed == []
        return
    assert said in ("", "gpudoctor: interrupted"), said
    if done.returncode in (0, 1, 3):
        assert (listed, said) == (["report.json"], "")
        assert json.loads(files[OUTPUT])["exit_code"] == done.returncode
    else:
        assert done.returncode == 128 + number, (done.returncode, done.stderr)
        assert listed in ([], ["report.json"]), listed
        assert not listed or json.loads(files[OUTPUT])


def was_too_early(said: str) -> bool:
    """Say whether Python was interrupted before it came to our first line: then it says so in its own way."""
    ours = re.search(r'gpudoctor/cli/__init__.py", line \d+, in main', said)
    return "KeyboardInterrupt" in said and ours is None


def faults() -> Iterator[Fault]:
    """Yield each signal at each moment, and at some while a child hangs."""
    for number in SIGNALS:
        for moment in moments(number):
            yield Fault(group="a signal", subject=number.name, kind=f"after {moment:g} s", scenes=(),
                        survive=partial(survive, number, moment, doctor_machine))
        if number is signal.SIGPIPE:  # Python ignores it, so that a check with a hung child goes on
            continue
        for late in (1.5, HUNG_SECONDS):
            yield Fault(group="a signal", subject=number.name, kind=f"while a child hangs, after {late:g} s",
                        scenes=(), survive=partial(survive, number, late, with_hung_child))
        yield Fault(group="a signal", subject=number.name, kind="while a framework is run", scenes=(),
                    survive=partial(survive, number, RUN_SECONDS, with_hung_framework))
