"""What runs leave behind: no grandchild, zombie or descriptor, also interrupted or in bad surroundings.

Most of it is looked at from outside, in a program of its own that uses `child`.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import gpudoctor
from gpudoctor import child

PLENTY_SECONDS = 60.0  # never reached unless something is wrong, also on a machine under load
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
PRELUDE = """
import os, sys, json, resource, select, signal, subprocess, threading, time
from gpudoctor import child
from gpudoctor.child import strays
def run(*argv, seconds=60, **options):
    return child.run(argv, timeout_seconds=seconds, environment=dict(os.environ), **options)
"""


def run(*argv: str, seconds: float = PLENTY_SECONDS) -> child.Run:
    return child.run(argv, timeout_seconds=seconds, environment=dict(os.environ))


def start_script(code: str, stderr: int | None = None) -> subprocess.Popen[bytes]:
    """Start a program that itself uses `child`; what it prints can be read from its stdout."""
    environment = {**os.environ, "PYTHONPATH": str(Path(gpudoctor.__file__).parents[1])}
    argv = [sys.executable, "-c", PRELUDE + code]
    return subprocess.Popen(argv, env=environment, stdout=subprocess.PIPE, stderr=stderr)


def output_of(script: subprocess.Popen[bytes]) -> str:
    output = script.communicate(timeout=PLENTY_SECONDS)[0].decode()
    assert script.returncode == 0
    return output


def is_gone(process_id: int) -> bool:
    """Dead; a zombie counts, for who buries an orphan is not our affair."""
    try:
        return b") Z " in Path(f"/proc/{process_id}/stat").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return True


def wait_until(condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + PLENTY_SECONDS
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.01)
    return condition()


@LINUX
def test_a_child_over_its_limit_goes_with_its_grandchildren() -> None:
    ended = run("/bin/sh", "-c", "trap '' TERM; sleep 300 & echo $!; wait; sleep 300", seconds=1)
    assert (ended.outcome, ended.detail) == (child.Outcome.TIMEOUT, "no end within 1 s")
    assert (ended.exit_status, ended.signal) == (None, None)
    assert 1 <= ended.seconds < 30
    assert wait_until(lambda: is_gone(int(ended.stdout)))


@LINUX
@pytest.mark.parametrize("session", [False, True])
def test_a_grandchild_that_keeps_stdout_neither_blocks_nor_survives_a_normal_end(session: bool) -> None:
    """Also one that left the group by a session of its own, as a daemon does."""
    code = (
        "import os, subprocess, sys\n"
        f"print(subprocess.Popen(['sleep', '300'], start_new_session={session}).pid)\n"
        "os.write(int(sys.argv[1]), b'{}')"
    )
    ended = run(sys.executable, "-c", code, child.ANSWER)
    assert (ended.outcome, ended.answer) == (child.Outcome.OK, {})
    assert ended.seconds < 30
    assert wait_until(lambda: is_gone(int(ended.stdout)))


@LINUX
def test_a_grandchild_that_keeps_no_stream_goes_with_the_group() -> None:
    ended = run("/bin/sh", "-c", "sleep 300 </dev/null >/dev/null 2>&1 & echo $!")
    assert ended.outcome is child.Outcome.OK
    assert wait_until(lambda: is_gone(int(ended.stdout)))


@LINUX
def test_whoever_was_merely_handed_a_pipe_is_left_alone() -> None:
    """An orphan that holds a pipe is spared when it began before the child did, and killed when after it."""
    code = """
reading, writing = os.pipe()
start = "sleep 300 </dev/null >/dev/null & echo $!"
options = {"pass_fds": [writing], "stdout": subprocess.PIPE, "start_new_session": True}
orphan = int(subprocess.run(["/bin/sh", "-c", start], **options).stdout)
pipes = frozenset(["pipe:[%d]" % os.fstat(reading).st_ino])
os.close(writing)
born = strays.start_ticks(orphan)
def ends_within(seconds): return bool(select.select([reading], [], [], seconds)[0])
strays.kill_strays(pipes, began_after=-1)
strays.kill_strays(pipes, began_after=born + 1)
strays.kill_strays(frozenset(["pipe:[0]"]), began_after=born)
spared = not ends_within(0.2)
strays.kill_strays(pipes, began_after=born)
print(spared, ends_within(60))
"""
    assert output_of(start_script(code)) == "True True\n"


@LINUX
def test_an_endless_answer_needs_little_memory() -> None:
    code = """
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
endless = "import os, sys\\nwhile True: [os.write(n, b'x' * 65536) for n in (1, 2, int(sys.argv[1]))]"
ended = run(sys.executable, "-c", endless, child.ANSWER, seconds=1, answer_limit_bytes=1_000_000)
print(ended.outcome.value, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 30_000)
"""
    assert output_of(start_script(code)) == "timeout True\n"


@LINUX
def test_nothing_is_left_behind() -> None:
    """Neither descriptors nor threads nor zombies, whatever the outcome."""
    code = """
lines = ["exit 0", "exit 3", "kill -11 $$", "sleep 300 & exit 0"]
jobs = [child.Job(argv=["/bin/sh", "-c", line], timeout_seconds=60, environment={}) for line in lines]
jobs.append(child.Job(argv=["/bin/sleep", "300"], timeout_seconds=0.3, environment={}))
jobs.append(child.Job(argv=["/no/such"], timeout_seconds=60, environment={}))
child.run_all(jobs)
before = len(os.listdir("/proc/self/fd"))
print(*[run.outcome.value for run in child.run_all(jobs)])
end = time.monotonic() + 60
while threading.active_count() > 1 and time.monotonic() < end: time.sleep(0.01)
try: os.waitpid(-1, os.WNOHANG)
except ChildProcessError: print("no children", end=" ")
print(threading.active_count(), len(os.listdir("/proc/self/fd")) - before)
"""
    expected = "ok exit signal ok timeout not-started\nno children 1 0\n"
    assert output_of(start_script(code)) == expected


@LINUX
@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, -signal.SIGINT), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_an_interrupted_parent_takes_all_children_along(number: int, status: int, tmp_path: Path) -> None:
    code = f"""
signal.signal({int(number)}, signal.default_int_handler if {int(number)} == 2 else signal.SIG_DFL)
line = "sleep 300 & echo $! > $0.grandchild; echo $$ > $0.new; mv $0.new $0; trap '' TERM; wait; sleep 300"
jobs = [child.Job(argv=["/bin/sh", "-c", line, os.path.join({str(tmp_path)!r}, name)], timeout_seconds=300,
    environment=dict(os.environ)) for name in "abc"]
try: child.run_all(jobs)
except BaseException as error:
    try: os.waitpid(-1, os.WNOHANG)
    except ChildProcessError: print(type(error).__name__, "no children", flush=True)
    raise
"""
    script = start_script(code, stderr=subprocess.DEVNULL)
    assert wait_until(lambda: all((tmp_path / name).exists() for name in "abc"))
    script.send_signal(number)
    output = script.communicate(timeout=PLENTY_SECONDS)[0].decode()
    exception = "KeyboardInterrupt" if number == signal.SIGINT else "SystemExit"
    assert (output, script.returncode) == (f"{exception} no children\n", status)
    numbers = [int(path.read_text()) for path in tmp_path.iterdir()]
    assert len(numbers) == 6
    assert wait_until(lambda: all(is_gone(process_id) for process_id in numbers))


@LINUX
def test_an_interruption_at_any_moment_leaves_no_child() -> None:
    """Interrupt forty runs after ever longer times, from before the first start to after the last end."""
    code = """
signal.signal(signal.SIGALRM, signal.default_int_handler)
jobs = [child.Job(argv=["/bin/sleep", "0.02"], timeout_seconds=300, environment={})] * 3
interrupted = 0
for turn in range(40):
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.0001 + turn * 0.0008)
        child.run_all(jobs)
        signal.setitimer(signal.ITIMER_REAL, 0)
    except KeyboardInterrupt:
        interrupted += 1
    try: print("left behind", os.waitpid(-1, os.WNOHANG))
    except ChildProcessError: pass
print("some" if interrupted > 5 else interrupted)
"""
    assert output_of(start_script(code)) == "some\n"


def test_without_home_or_temporary_folder() -> None:
    code = """
os.environ.clear(); os.environ.update(TMPDIR="/nowhere", TMP="/nowhere")
os.chdir("/proc" if os.path.isdir("/proc") else "/")
ended = run(sys.executable, "-I", "-c", "import os, sys; os.write(int(sys.argv[1]), b'[1]')", child.ANSWER)
print(ended.outcome.value, ended.answer)
"""
    assert output_of(start_script(code)) == "ok [1]\n"


@pytest.mark.parametrize("closed", [(0, 1, 2), (1,), (0, 2)])
def test_with_standard_streams_closed(closed: tuple[int, ...], tmp_path: Path) -> None:
    code = f"""
for number in {closed}: os.close(number)
payload = ("import os, sys; os.write(1, b'out'); os.write(2, b'err'); "
    "os.write(int(sys.argv[1]), sys.stdin.buffer.read())")
ended = run(sys.executable, "-I", "-c", payload, child.ANSWER, stdin=b'[1]')
with open({str(tmp_path / "result")!r}, "w") as result:
    print(ended.outcome.value, ended.answer, ended.stdout, ended.stderr, file=result)
os._exit(0)
"""
    output_of(start_script(code))
    assert (tmp_path / "result").read_text() == "ok [1] b'out' b'err'\n"


def test_no_pipe_takes_the_place_of_a_closed_standard_stream(tmp_path: Path) -> None:
    """With several children at once the answer of one could otherwise be 1, and hidden by its stdout."""
    code = f"""
import contextlib
from gpudoctor.child import streams
job = child.Job(argv=[], timeout_seconds=1, environment={{}})
for number in (0, 1, 2): os.close(number)
with contextlib.ExitStack() as ends:
    pipes = streams.Streams(job, ends)
    four = (pipes.child_stdin, pipes.child_stdout, pipes.child_stderr, pipes.child_answer)
    numbers = [end.fileno() for end in four]
with open({str(tmp_path / "numbers")!r}, "w") as result: print(min(numbers) > 2, file=result)
os._exit(0)
"""
    output_of(start_script(code))
    assert (tmp_path / "numbers").read_text() == "True\n"


def test_a_launcher_that_ignores_sigchld_costs_no_exit_status() -> None:
    code = """
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
ended = run("/bin/sh", "-c", "exit 3")
print(ended.outcome.value, ended.exit_status, signal.getsignal(signal.SIGCHLD) == signal.SIG_IGN)
"""
    assert output_of(start_script(code)) == "exit 3 True\n"


@ROOT
@LINUX
@pytest.mark.parametrize(
    ("processes", "reason"), [(2, "temporarily unavailable"), (1, "can't start new thread")]
)
def test_at_the_limit_of_processes_nothing_is_started(processes: int, reason: str) -> None:
    """As a user of its own: the watching thread is its second process, the child would be the third."""
    code = f"""
os.setgroups([]); os.setuid(1_000_000 + os.getpid())
resource.setrlimit(resource.RLIMIT_NPROC, ({processes}, {processes}))
ended = run("/bin/sh", "-c", "exit 0")
print(ended.outcome.value, ended.detail)
"""
    output = output_of(start_script(code))
    assert output.startswith("not-started ")
    assert reason in output


@ROOT
@LINUX
def test_a_child_that_cannot_be_killed_is_left_behind(tmp_path: Path) -> None:
    """A real one: the parent gives up its rights while the child, still root's, runs."""
    os.mkfifo(tmp_path / "ready")
    code = f"""
def give_up_rights():
    with open({str(tmp_path / "ready")!r}) as ready: ready.read()
    os.setgroups([]); os.setresgid(61234, 61234, 61234); os.setresuid(61234, 61234, 61234)
threading.Thread(target=give_up_rights).start()
line = "echo $$; echo > $0; exec sleep 300"
ended = run("/bin/sh", "-c", line, {str(tmp_path / "ready")!r}, seconds=1)
print(json.dumps([ended.outcome, ended.detail, ended.stdout.decode(), ended.exit_status, ended.seconds]))
"""
    outcome, detail, number, status, seconds = json.loads(output_of(start_script(code)))
    still_there = not is_gone(int(number))
    os.kill(int(number), signal.SIGKILL)
    assert (outcome, detail, status) == ("unkillable", "was killed, but does not go", None)
    assert still_there
    assert 3 <= seconds < 30
