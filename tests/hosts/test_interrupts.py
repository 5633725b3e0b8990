"""Ctrl-C and SIGTERM in the middle of a look: the children are gone and the terminal is as it was."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import termios
import time
from pathlib import Path

import pytest

from tests.harness.machine import Machine
from tests.harness.namespace import Running
from tests.hosts.looking import COMMAND, HEALTHY, ROOT
from tests.shim import build

# Both libraries never finish loading, so that the command surely waits for children when it is interrupted.
HANGING = HEALTHY.adding(
    libraries={
        path: build.hanging(soname=f"{Path(path).name.split('.so')[0]}.so.1") for path in HEALTHY.libraries
    }
)
CHECK = [*COMMAND, "check", "--depth", "static", "--timeout", "60"]
ASKING = (b"cuda", b"nvml")  # the collector's name is a word of its child's command line
BEGUN_WITHIN_SECONDS = 20.0


def children_of(process: int) -> list[int]:
    """Return the processes below one, as far down as they go."""
    found = []
    for number in (int(name) for name in os.listdir("/proc") if name.isdigit()):
        try:
            parent = int(Path(f"/proc/{number}/stat").read_bytes().rpartition(b")")[2].split()[1])
        except (OSError, IndexError):
            continue
        if parent == process:
            found += [number, *children_of(number)]
    return found


def asking(process: int) -> bool:
    """Say whether a child that asks a driver library runs below a process."""
    for number in children_of(process):
        try:
            line = Path(f"/proc/{number}/cmdline").read_bytes()
        except OSError:
            continue
        if any(b"\0%s\0" % name in line for name in ASKING):
            return True
    return False


def wait_until_asking(process: int) -> None:
    """Wait until the driver is being asked."""
    deadline = time.monotonic() + BEGUN_WITHIN_SECONDS
    while not asking(process):
        assert time.monotonic() < deadline, "no child was started"
        time.sleep(0.02)


def interrupted(machine: Machine, number: signal.Signals) -> tuple[Running, float]:
    """Start a check, send it a signal when it asks the driver, and return it and when that was."""
    running = machine.start(CHECK, cwd=str(ROOT))
    wait_until_asking(running.process.pid)
    running.interrupt(number)
    return running, time.monotonic()


@pytest.mark.parametrize(
    ("number", "code", "said"),
    [(signal.SIGINT, 130, "gpudoctor: interrupted\n"), (signal.SIGTERM, 143, ""), (signal.SIGHUP, 129, "")],
)
def test_signal_while_children_hang(number: signal.Signals, code: int, said: str) -> None:
    """The command ends at once with the signal's exit code, and takes its children with it."""
    running, sent_at = interrupted(HANGING, number)
    done = running.wait(15)
    assert time.monotonic() - sent_at < 5
    assert (done.returncode, done.stdout, done.stderr) == (code, "", said)
    assert done.leftover == ()


def test_second_signal_while_children_are_buried() -> None:
    """An impatient second Ctrl-C changes nothing: no child stays."""
    running, _ = interrupted(HANGING, signal.SIGINT)
    running.interrupt(signal.SIGINT)
    done = running.wait(15)
    assert "Traceback" not in done.stderr
    assert done.returncode in (130, -signal.SIGINT)
    assert done.leftover == ()


def test_interrupt_in_whose_wake_something_fails() -> None:
    """Where tidying up after Ctrl-C fails, on whichever line it fell, it is still no fault of ours."""
    script = (
        "import signal, sys, gpudoctor.cli\n"
        "def interrupt(frame, event, _):\n"
        "    if event == 'call' and frame.f_code.co_name == 'read_check':\n"
        "        sys.setprofile(None)\n"
        "        try: signal.raise_signal(signal.SIGINT)\n"
        "        finally: raise RuntimeError('cannot release un-acquired lock')\n"
        "sys.setprofile(interrupt)\n"
        "gpudoctor.cli.main()\n"
    )
    done = subprocess.run([COMMAND[0], "-c", script, *CHECK[CHECK.index("check"):]], cwd=ROOT, timeout=60,
                          capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "gpudoctor: interrupted\n")


def test_terminal_is_as_it_was() -> None:
    """Ctrl-C typed on a terminal: its settings are unchanged, and no escape sequence is left behind."""
    controller, terminal = pty.openpty()
    before = termios.tcgetattr(terminal)
    begin = "import fcntl, termios, os; fcntl.ioctl(0, termios.TIOCSCTTY, 0)"
    script = f"{begin}; os.execv({COMMAND[0]!r}, {CHECK!r})"
    process = subprocess.Popen(
        [COMMAND[0], "-c", script],
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        cwd=ROOT,
        start_new_session=True,
        env={**os.environ, "TERM": "xterm-256color", "LD_LIBRARY_PATH": str(hanging_folder())},
    )
    try:
        wait_until_asking(process.pid)
        children = children_of(process.pid)
        os.write(controller, b"\x03")
        assert process.wait(10) == 130
        assert termios.tcgetattr(terminal) == before
        assert b"\x1b" not in os.read(controller, 65536)
        assert not [number for number in children if Path(f"/proc/{number}").exists()]
    finally:
        process.kill()
        process.wait()
        os.close(controller)
        os.close(terminal)


def hanging_folder() -> Path:
    """Return a folder with driver libraries that hang, for a command that runs outside of a machine."""
    folder = build.cache_folder("hanging")
    for path in HEALTHY.libraries:
        soname = f"{Path(path).name.split('.so')[0]}.so.1"
        part = folder / f".{soname}.{os.getpid()}"
        part.write_bytes(build.hanging(soname=soname).read_bytes())
        part.replace(folder / soname)  # another worker may be loading the same
    return folder
