"""`gpudoctor run`: the command's output, streams, terminal, signals and exit code are its own."""

from __future__ import annotations

import fcntl
import os
import pty
import shlex
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


def test_output_that_a_full_disk_does_not_take_is_told_of() -> None:
    """Regression: the command met a broken pipe, and nobody said that the disk was full."""
    with open("/dev/full", "wb") as full:
        done = subprocess.run([*_GPUDOCTOR, "sh", "-c", "echo a"], cwd=ROOT, stdin=subprocess.DEVNULL,
                              stdout=full, stderr=subprocess.PIPE, timeout=120, check=False)
    assert done.stderr == b"gpudoctor: what the command says cannot be passed on: No space left on device\n"


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


@pytest.mark.parametrize(("command", "code"), [
    ("no-such-program", 127), ("/etc/hostname", 126), ("no\nsuch\x1b[31mprogram", 127)])
def test_what_cannot_be_run_ends_as_in_a_shell(command: str, code: int) -> None:
    """127 and 126, with one line, in which nothing commands the terminal."""
    done = run(command)
    assert (done.returncode, done.stderr.count(b"\n"), b"\x1b" in done.stderr) == (code, 1, False)


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGKILL, signal.SIGTERM])
def test_the_signal_that_ended_the_command_ends_us(number: signal.Signals) -> None:
    """Whoever waits for us sees the same."""
    assert shell(f"kill -{int(number)} $$").returncode == -number


COUNTING = """
import signal, sys, time
got = []
for name in sys.argv[2:]:
    signal.signal(getattr(signal, name), lambda number, _: got.append(signal.Signals(number).name))
open(sys.argv[1], "w").close()
deadline = time.monotonic() + 60
while not got and time.monotonic() < deadline:
    time.sleep(0.01)
time.sleep(1)
print(*got)
sys.exit(5)
"""
NAMES = ["SIGINT", "SIGQUIT", "SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2"]


@pytest.mark.parametrize("to_group", [False, True], ids=["to us alone", "to our group"])
@pytest.mark.parametrize("name", NAMES)
def test_a_signal_reaches_the_command_once(name: str, to_group: bool, tmp_path: Path) -> None:
    """One to us alone was lost (SIGINT, SIGQUIT), one to our group came twice; the command decides."""
    command = [*_GPUDOCTOR, sys.executable, "-c", COUNTING, str(tmp_path / "ready"), *NAMES]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               start_new_session=True)
    wait_for(tmp_path / "ready")
    time.sleep(0.2)  # until we hear, too
    (os.killpg if to_group else os.kill)(process.pid, getattr(signal, name))
    out, errors = process.communicate(timeout=60)
    assert (process.returncode, out, errors) == (5, f"{name}\n".encode(), b"")


@pytest.mark.parametrize("name", ["INT", "TERM"])
def test_timeout_of_the_shell_reaches_the_command_once(name: str, tmp_path: Path) -> None:
    """It signals its child and then its whole group."""
    command = ["timeout", "-s", name, "5", *_GPUDOCTOR, sys.executable, "-c", COUNTING,
               str(tmp_path / "ready"), f"SIG{name}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (124, f"SIG{name}\n".encode())


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_command_that_a_signal_ends_ends_us_by_it(name: str, tmp_path: Path) -> None:
    """And nothing is said of a command that was told to end."""
    process = subprocess.Popen([*_GPUDOCTOR, "sh", "-c", f"touch {tmp_path}/ready; exec sleep 60"], cwd=ROOT,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wait_for(tmp_path / "ready")
    time.sleep(0.2)
    process.send_signal(getattr(signal, name))
    assert (process.communicate(timeout=60), process.returncode) == ((b"", b""), -getattr(signal, name))


def test_what_it_said_before_a_signal_ended_it_is_explained(tmp_path: Path) -> None:
    """A hang that a person ends by Ctrl-C often has its cause above."""
    script = f"echo '{HOOK}'; touch {tmp_path}/ready; exec sleep 60"
    process = subprocess.Popen([*_GPUDOCTOR, "sh", "-c", script], cwd=ROOT, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE)
    wait_for(tmp_path / "ready")
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, b"SIGINT (signal 2)" in errors, b"hook-missing" in errors) == (-2, True, True)


def test_a_command_that_ignores_a_signal_is_waited_for(tmp_path: Path) -> None:
    """As a shell would."""
    script = f"trap '' TERM INT HUP; touch {tmp_path}/ready; sleep 3; echo done; exit 6"
    process = subprocess.Popen([*_GPUDOCTOR, "sh", "-c", script], cwd=ROOT, stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL)
    wait_for(tmp_path / "ready")
    time.sleep(0.2)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        process.send_signal(number)
    out, _ = process.communicate(timeout=60)
    assert (process.returncode, out) == (6, b"done\n")


def test_stopping_us_alone_stops_the_command_and_continuing_continues_it(tmp_path: Path) -> None:
    """The command went on, and nobody read what it said."""
    script = f"echo $$ >{tmp_path}/pid.new; mv {tmp_path}/pid.new {tmp_path}/pid; sleep 2; exit 7"
    own_group = "import os, sys; os.setpgrp(); os.execv(sys.argv[1], sys.argv[1:])"
    process = subprocess.Popen([sys.executable, "-c", own_group, *_GPUDOCTOR, "sh", "-c", script], cwd=ROOT,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_for(tmp_path / "pid")
    time.sleep(0.2)
    pids = (process.pid, int((tmp_path / "pid").read_text()))
    process.send_signal(signal.SIGTSTP)
    _wait_for_states(pids, "T")
    process.send_signal(signal.SIGCONT)
    _wait_for_states(pids, "SR")
    assert process.wait(timeout=60) == 7


def _wait_for_states(pids: tuple[int, ...], states: str) -> None:
    """Wait until all processes are in one of these states."""
    deadline = time.monotonic() + 30
    while not all(Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] in states for pid in pids):
        assert time.monotonic() < deadline
        time.sleep(0.02)


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


def test_a_process_that_stays_behind_and_speaks_on_does_not_keep_us() -> None:
    """We waited until it said nothing for a moment, which it never did."""
    begun = time.monotonic()
    done = shell("(for i in $(seq 600); do echo more; sleep 0.05; done) & echo first; exit 3")
    assert (done.returncode, b"first" in done.stdout) == (3, True)
    assert time.monotonic() - begun < 25


def test_all_that_the_command_said_is_passed_on_before_what_stays_behind_is_left() -> None:
    """A slow reader of our output loses nothing of it."""
    script = "(while :; do echo x; sleep 0.01; done) & head -c 60000 /dev/zero | tr '\\0' y; echo; echo end"
    with subprocess.Popen([*_GPUDOCTOR, "sh", "-c", script], cwd=ROOT, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        said = b""
        while data := os.read(process.stdout.fileno(), 4096):
            said += data
            time.sleep(0.1 if len(said) < 40_000 else 0)
    assert (said.count(b"y"), b"end" in said) == (60_000, True)


@pytest.mark.parametrize(("key", "name"), [(b"\x03", "SIGINT"), (b"\x1c", "SIGQUIT")])
def test_a_key_of_the_terminal_reaches_the_command_once(key: bytes, name: str, tmp_path: Path) -> None:
    """The terminal sends it to the group, in which both of us are."""
    command = [*_GPUDOCTOR, sys.executable, "-c", COUNTING, str(tmp_path / "ready"), name]
    pid, terminal = pty.fork()
    if not pid:
        os.chdir(ROOT)
        os.execv(command[0], command)
    wait_for(tmp_path / "ready")
    time.sleep(0.2)
    os.write(terminal, key)
    said = read_all(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 5
    assert said.count(name.encode()) == 1


def test_a_job_of_a_shell_can_be_stopped_and_continued() -> None:
    """Ctrl-Z and `fg`, as without us."""
    command = shlex.join([*_GPUDOCTOR, "sh", "-c", "echo be''gun; sleep 1; echo en''ded; exit 9"])
    answers = [(b"# ", f"PS1='# '; cd {ROOT}; {command}\n".encode()), (b"begun\r\n", b"\x1a"),
               (b"Stopped", b"echo code=$?; fg\n"), (b"ended\r\n", b"echo code=$?; exit\n")]
    pid, terminal = pty.fork()
    if not pid:
        os.execve("/bin/bash", ["bash", "--norc", "-i"], {**os.environ, "PS1": "# "})
    said = b""
    for wanted, answer in answers:
        said = b""
        while wanted not in said:
            data = os.read(terminal, 65536)
            said += data
        os.write(terminal, answer)
    said += read_all(terminal)
    os.waitpid(pid, 0)
    assert b"code=9" in said


def test_a_new_size_of_the_window_reaches_the_command(tmp_path: Path) -> None:
    """The terminal told the command before its own terminal had the new size, and never again."""
    code = ("import os, signal, sys, time; "
            "say = lambda *_: os.write(1, b'%d\\n' % os.get_terminal_size(1).columns); "  # in one piece each
            "signal.signal(signal.SIGWINCH, say); "
            "open(sys.argv[1], 'w').close(); time.sleep(2)")
    command = [*_GPUDOCTOR, sys.executable, "-c", code, str(tmp_path / "ready")]
    pid, terminal = pty.fork()
    if not pid:
        os.chdir(ROOT)
        os.execv(command[0], command)
    wait_for(tmp_path / "ready")
    time.sleep(0.3)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 77, 0, 0))
    said = read_all(terminal)
    os.waitpid(pid, 0)
    assert said.split()[-1] == b"77"


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


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to mount")
def test_a_root_without_terminals_gives_the_command_pipes_and_says_so_once() -> None:
    """In a chroot without /dev/pts it ended with "out of pty devices", and so did the first step of `fix`."""
    code = "import os, sys; print(os.isatty(1), os.isatty(2)); sys.exit(0)"
    hide = "mount -t tmpfs none /dev/pts && exec \"$@\""
    pid, terminal = pty.fork()
    if not pid:
        os.chdir(ROOT)
        os.execvp("unshare", ["unshare", "--mount", "--propagation", "private", "sh", "-c", hide, "sh",
                              *_GPUDOCTOR, sys.executable, "-c", code])
    said = read_all(terminal).decode().split("\r\n")
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0, said
    assert (said[1:], said[0].startswith("gpudoctor: no terminal can be made for what is run (")) == (
        ["False False", ""], True), said


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
