"""`gpudoctor run`: the command's output, streams, terminal, signals and exit code are its own."""

from __future__ import annotations

import fcntl
import os
import pty
import signal
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest

from tests.contract.checkout import ROOT
from tests.explain.cranes import CRANE_RULES, HOOK, SQUEAK

_GPUDOCTOR = (sys.executable, "-m", "gpudoctor", "run", "--rules", str(CRANE_RULES), "--")


def run(*command: str) -> subprocess.CompletedProcess[bytes]:
    """Run a command through gpudoctor."""
    return subprocess.run([*_GPUDOCTOR, *command], cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True,
                          timeout=120, check=False)


def shell(script: str) -> subprocess.CompletedProcess[bytes]:
    """Run a script through gpudoctor."""
    return run("sh", "-c", script)


def test_both_streams_pass_through_untouched() -> None:
    """Every byte, each on its own stream; a success without a fault is followed by nothing."""
    done = shell(r"printf 'a\r\n\000\377\033[31m'; printf 'b\n' >&2")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"a\r\n\0\xff\x1b[31m", b"b\n")


def test_a_failure_is_explained_on_standard_error_and_keeps_its_exit_code() -> None:
    """Standard output stays the command's."""
    done = shell(f"echo out; echo '{HOOK}' >&2; exit 7")
    assert (done.returncode, done.stdout) == (7, b"out\n")
    assert done.stderr.startswith(HOOK.encode() + b"\n")
    assert b"exit code 7" in done.stderr
    assert b"hook-missing" in done.stderr


def test_a_fall_back_to_the_processor_is_explained_although_nothing_failed() -> None:
    """It ended well, and said why it did not use the GPU."""
    done = shell(f"echo '{HOOK}'")
    assert (done.returncode, b"hook-missing" in done.stderr) == (0, True)


def test_harmless_lines_of_a_success_are_not_told() -> None:
    """Nothing went wrong."""
    assert shell(f"echo '{SQUEAK}'").stderr == b""


def test_a_line_that_may_mean_the_processor_is_one_line() -> None:
    """It is harmless on some machines, and on others it is why the GPU was not used."""
    done = shell(f"echo 'gpu: none'; echo '{HOOK}'")
    assert (done.returncode, done.stderr.count(b"\n")) == (0, 1)
    assert b"may not have used a GPU: benign-crane-parked" in done.stderr


def test_a_failure_that_says_nothing_known_is_one_line() -> None:
    """It may have nothing to do with a GPU."""
    done = shell("exit 3")
    assert (done.returncode, done.stderr.count(b"\n")) == (3, 1)


@pytest.mark.parametrize(("command", "code"), [("no-such-program", 127), ("/etc/hostname", 126)])
def test_what_cannot_be_run_ends_as_in_a_shell(command: str, code: int) -> None:
    """127 and 126, with one line."""
    done = run(command)
    assert (done.returncode, done.stderr.count(b"\n")) == (code, 1)


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGKILL, signal.SIGTERM])
def test_the_signal_that_ended_the_command_ends_us(number: signal.Signals) -> None:
    """Whoever waits for us sees the same."""
    assert shell(f"kill -{int(number)} $$").returncode == -number


def test_a_signal_to_us_reaches_the_command(tmp_path: Path) -> None:
    """The command decides what it does."""
    script = f"trap 'echo caught; exit 5' TERM; touch {tmp_path}/ready; while :; do sleep 0.05; done"
    process = subprocess.Popen([*_GPUDOCTOR, "sh", "-c", script], cwd=ROOT, stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL)
    wait_for(tmp_path / "ready")
    process.send_signal(signal.SIGTERM)
    out, _ = process.communicate(timeout=60)
    assert (process.returncode, out) == (5, b"caught\n")


def wait_for(path: Path) -> None:
    """Wait until a file is there."""
    deadline = time.monotonic() + 60
    while not path.exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_reader_that_leaves_ends_the_command() -> None:
    """As without us: the next write of the command fails, and it does not run for ever."""
    done = subprocess.run(
        f"{' '.join(_GPUDOCTOR)} yes | head -c 10", shell=True, cwd=ROOT, capture_output=True, timeout=120,
        check=False)
    assert done.stdout == b"y\n" * 5


def test_much_output_is_passed_on_whole() -> None:
    """More than is kept for explaining; the last line explains."""
    done = shell(f"head -c 40000000 /dev/zero | tr '\\0' 'x'; echo; echo '{HOOK}'; exit 1")
    assert len(done.stdout) == 40000000 + 1 + len(HOOK) + 1
    assert b"hook-missing" in done.stderr


def test_a_process_that_stays_behind_does_not_keep_us() -> None:
    """It holds the streams open; the command itself has ended."""
    begun = time.monotonic()
    assert shell("sleep 100 & exit 0").returncode == 0
    assert time.monotonic() - begun < 60


def test_on_a_terminal_the_command_has_one_too() -> None:
    """isatty, the size of the window, and line ends that are turned once, not twice."""
    code = ("import os, sys; print(os.isatty(1), os.isatty(2), os.get_terminal_size(1).columns); "
            "sys.exit(4)")
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 123, 0, 0))
    with subprocess.Popen([*_GPUDOCTOR, sys.executable, "-c", code], cwd=ROOT, stdin=subprocess.DEVNULL,
                          stdout=theirs, stderr=subprocess.PIPE) as process:
        os.close(theirs)
        said = read_all(ours)
        _, errors = process.communicate(timeout=60)
    assert said == b"True False 123\r\n"
    assert (process.returncode, b"exit code 4" in errors) == (4, True)


def read_all(descriptor: int) -> bytes:
    """Return what comes out of a pseudo-terminal until its other side is closed."""
    said = b""
    while True:
        try:
            data = os.read(descriptor, 65536)
        except OSError:
            return said
        if not data:
            return said
        said += data


def test_looking_at_this_machine_examines_the_python_that_was_run(tmp_path: Path) -> None:
    """Not the one that stands first on PATH: it may hold other frameworks, or none."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "own")], check=True)
    python = tmp_path / "own" / "bin" / "python"
    command = [sys.executable, "-m", "gpudoctor", "run", "--here", "--", str(python), "-c",
               "raise AssertionError('Torch not compiled with CUDA enabled')"]
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, "COLUMNS": "200"}, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1
    assert f"--python{python}" in "".join(done.stderr.split())  # the path may be broken over lines
