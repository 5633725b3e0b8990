"""Real children: every way a run can end, and what a child gets."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gpudoctor import child
from gpudoctor.child.attempt import attempt
from gpudoctor.child.crew import Crew

PLENTY_SECONDS = 60.0  # never reached unless something is wrong, also on a machine under load
PAYLOAD = "import os, sys, json\nanswer = int(sys.argv[1])\n"
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="signal numbers of Linux")


def run_payload(code: str, *, answer_limit_bytes: int = 2**26, output_limit_bytes: int = 2**20) -> child.Run:
    return child.run(
        [sys.executable, "-I", "-c", PAYLOAD + code, child.ANSWER],
        timeout_seconds=PLENTY_SECONDS,
        environment=dict(os.environ),
        answer_limit_bytes=answer_limit_bytes,
        output_limit_bytes=output_limit_bytes,
    )


def run_shell(line: str) -> child.Run:
    return child.run(["/bin/sh", "-c", line], timeout_seconds=PLENTY_SECONDS, environment=dict(os.environ))


# How a run ends


def test_an_answer_is_not_mixed_with_noise_on_stdout_and_stderr() -> None:
    run = run_payload(
        "print('noise'); print('more', file=sys.stderr); os.write(answer, b'{\"driver\": \"570.86\"}')"
    )
    assert (run.outcome, run.answer, run.exit_status) == (child.Outcome.OK, {"driver": "570.86"}, 0)
    assert (run.stdout, run.stderr, run.left_out_bytes, run.detail) == (b"noise\n", b"more\n", 0, "")


def test_an_answer_longer_than_any_pipe_arrives_whole() -> None:
    run = run_payload("open(answer, 'w').write(json.dumps('x' * 5_000_000))")
    assert (run.outcome, run.answer) == (child.Outcome.OK, "x" * 5_000_000)


@pytest.mark.parametrize(
    ("code", "outcome", "detail"),
    [
        ("os.kill(os.getpid(), 11)", child.Outcome.SIGNAL, "SIGSEGV"),
        ("os.abort()", child.Outcome.SIGNAL, "SIGABRT"),
        ("sys.exit(3)", child.Outcome.EXIT, "exit status 3"),
        ("sys.exit('a\\nreason\\x1b[1m')", child.Outcome.EXIT, "exit status 1: reason [1m"),
        ("pass", child.Outcome.GARBLED, "no answer"),
        (
            "os.write(answer, b'not json')",
            child.Outcome.GARBLED,
            "its answer is no JSON document (Expecting value",
        ),
        ("os.write(answer, b'{} {}')", child.Outcome.GARBLED, "its answer is no JSON document (Extra data"),
        ("os.write(answer, b'\\xff\\xfe\\xfd')", child.Outcome.GARBLED, "its answer is no JSON document ("),
        (
            "open(answer, 'w').write('[' * 1_000_000)",
            child.Outcome.GARBLED,
            "its answer is no JSON document (",
        ),
        (
            "open(answer, 'w').write('{\"a\":' * 500_000)",
            child.Outcome.GARBLED,
            "its answer is no JSON document (",
        ),
    ],
)
def test_each_bad_end_has_its_name_and_reason(code: str, outcome: child.Outcome, detail: str) -> None:
    run = run_payload(code)
    assert (run.outcome, run.answer) == (outcome, None)
    assert run.detail.startswith(detail)


def test_a_signal_and_an_exit_status_are_told_apart() -> None:
    killed, left = run_payload("os.kill(os.getpid(), 9)"), run_payload("sys.exit(9)")
    assert (killed.signal, killed.exit_status) == (9, None)
    assert (left.signal, left.exit_status) == (None, 9)


@LINUX
def test_a_signal_without_a_name_is_named_by_its_number() -> None:
    assert run_payload("os.kill(os.getpid(), 40)").detail == "signal 40"


def test_an_answer_given_before_a_crash_is_kept() -> None:
    run = run_payload("os.write(answer, b'[1]'); os.abort()")
    assert (run.outcome, run.answer) == (child.Outcome.SIGNAL, [1])


def test_an_answer_beyond_its_limit_is_garbled_and_does_not_block() -> None:
    run = run_payload("open(answer, 'w').write(json.dumps('x' * 3_000_000))", answer_limit_bytes=1_000_000)
    assert (run.outcome, run.answer, run.detail) == (child.Outcome.GARBLED, None, "its answer is too long")


def test_half_characters_in_an_answer_become_printable() -> None:
    run = run_payload("os.write(answer, json.dumps({'caf\\udce9': ['\\ud83d\\ude00', 'a\\udcff']}).encode())")
    assert run.answer == {"caf\ufffd": ["\U0001f600", "a\ufffd"]}


def test_a_command_without_the_placeholder_owes_no_answer() -> None:
    run = run_shell("echo hello")
    assert (run.outcome, run.answer, run.stdout) == (child.Outcome.OK, None, b"hello\n")


@pytest.mark.parametrize(
    ("argv", "environment", "reason"),
    [
        (["/no/such/python", "-c", ""], {}, "No such file"),
        (["no-such-program"], {"PATH": "/nowhere"}, "No such file"),
        (["/"], {}, "Permission denied"),
        ([__file__], {}, "Permission denied"),
        (["/bin/sh", "-c", "\0"], {}, "null byte"),
        (["/bin/sh", "-c", ""], {"A=B": "c"}, "illegal environment variable name"),
        (["/bin/sh", "-c", ""], {"A": "\ud800"}, "surrogates not allowed"),
        (["/bin/sh", "-c", "x" * 10_000_000], {}, "too long"),
    ],
)
def test_what_cannot_be_started_says_why(argv: list[str], environment: dict[str, str], reason: str) -> None:
    run = child.run(argv, timeout_seconds=PLENTY_SECONDS, environment=environment)
    assert run.outcome is child.Outcome.NOT_STARTED
    assert reason in run.detail


def test_a_file_that_is_no_program_is_not_started(tmp_path: Path) -> None:
    (tmp_path / "python").write_bytes(b"")
    (tmp_path / "python").chmod(0o755)
    run = child.run([str(tmp_path / "python")], timeout_seconds=PLENTY_SECONDS, environment={})
    assert (run.outcome, "Exec format error" in run.detail) == (child.Outcome.NOT_STARTED, True)


# Limits


def test_a_hundred_megabytes_on_each_stream_leave_head_and_tail() -> None:
    run = run_payload(
        "for number in (1, 2):\n"
        "    os.write(number, b'first')\n"
        "    for _ in range(100): os.write(number, b'x' * 1_000_000)\n"
        "    os.write(number, b'last')\n"
        "os.write(answer, b'{}')",
        output_limit_bytes=10_000,
    )
    assert run.outcome is child.Outcome.OK
    for stream in (run.stdout, run.stderr):
        assert stream.startswith(b"firstx")
        assert stream.endswith(b"xlast")
        assert len(stream) < 10_100
    assert run.left_out_bytes == 2 * (100_000_009 - 10_000)


def test_output_up_to_its_limit_is_kept_to_the_byte() -> None:
    run = run_payload(
        "os.write(1, b'x' * 1000); os.write(2, b'y' * 1001); os.write(answer, b'{}')", output_limit_bytes=1000
    )
    assert (run.stdout, run.left_out_bytes) == (b"x" * 1000, 1)


# What a child gets


def test_the_environment_is_exactly_the_one_given() -> None:
    environment = {
        "PLAIN": "a b",
        "LINES": "a\nb",
        "BYTES": os.fsdecode(b"caf\xe9"),
        "MARKUP": "[bold]\x1b[1m",
    }
    run = child.run(["/usr/bin/env", "-0"], timeout_seconds=PLENTY_SECONDS, environment=environment)
    assert set(run.stdout.split(b"\0")) == {
        b"PLAIN=a b",
        b"LINES=a\nb",
        b"BYTES=caf\xe9",
        b"MARKUP=[bold]\x1b[1m",
        b"",
    }


def test_stdin_arrives_whole_and_ends() -> None:
    script = b"x" * 3_000_000
    run = child.run(
        ["/bin/cat"],
        timeout_seconds=PLENTY_SECONDS,
        environment={},
        stdin=script,
        output_limit_bytes=4_000_000,
    )
    assert (run.outcome, run.stdout) == (child.Outcome.OK, script)


def test_without_stdin_a_reader_meets_the_end() -> None:
    assert run_shell("cat; echo end").stdout == b"end\n"


def test_a_child_that_reads_nothing_does_not_block_the_writer() -> None:
    line = ["/bin/sh", "-c", "exec 0<&-; echo done"]
    run = child.run(line, timeout_seconds=PLENTY_SECONDS, environment={}, stdin=b"x" * 3_000_000)
    assert (run.outcome, run.stdout) == (child.Outcome.OK, b"done\n")


def test_only_the_answers_placeholder_is_replaced() -> None:
    line = ["/bin/sh", "-c", 'echo "$@"', "sh", "x{answer}", "{other}"]
    assert child.run(line, timeout_seconds=PLENTY_SECONDS, environment={}).stdout == b"x{answer} {other}\n"


# Several at once, and from odd places


def test_jobs_run_at_the_same_time_and_keep_their_order(tmp_path: Path) -> None:
    """Each of the first two opens a named pipe that only the other one opens too."""
    os.mkfifo(tmp_path / "a")
    os.mkfifo(tmp_path / "b")
    lines = ["echo 1 > a; cat b", "cat a; echo 2 > b", "exit 3"]
    environment = {**os.environ, "WHERE": str(tmp_path)}
    jobs = [
        child.Job(
            argv=["/bin/sh", "-c", f'cd "$WHERE"; {line}'],
            timeout_seconds=PLENTY_SECONDS,
            environment=environment,
        )
        for line in lines
    ]
    runs = child.run_all(jobs)
    assert [run.outcome for run in runs] == [child.Outcome.OK, child.Outcome.OK, child.Outcome.EXIT]
    assert [run.stdout for run in runs] == [b"2\n", b"1\n", b""]


def test_no_jobs_give_no_results() -> None:
    assert child.run_all([]) == []


def test_the_callers_own_handlers_stay() -> None:
    def own(_number: int, _frame: object) -> None:
        return None

    before = signal.signal(signal.SIGTERM, own)
    try:
        run_shell("exit 0")
        assert signal.getsignal(signal.SIGTERM) is own
    finally:
        signal.signal(signal.SIGTERM, before)
    hangup = signal.getsignal(signal.SIGHUP)
    run_shell("exit 0")
    assert signal.getsignal(signal.SIGHUP) == hangup


def test_with_a_weird_umask() -> None:
    before = os.umask(0o777)
    try:
        assert run_payload("os.write(answer, b'[1]')").answer == [1]
    finally:
        os.umask(before)


def test_from_another_thread() -> None:
    runs: list[child.Run] = []
    thread = threading.Thread(target=lambda: runs.append(run_payload("os.write(answer, b'[1]')")))
    thread.start()
    thread.join(PLENTY_SECONDS)
    assert [run.answer for run in runs] == [[1]]


class NeverReady(list[str]):
    """A command line that takes for ever, as starting a program from a dead network folder does."""

    def __contains__(self, _part: object) -> bool:
        time.sleep(PLENTY_SECONDS)
        return False


def test_a_start_that_never_comes_back_does_not_take_the_others_along() -> None:
    stuck = child.Job(argv=NeverReady(["/bin/sh"]), timeout_seconds=0.1, environment={})
    good = child.Job(argv=["/bin/sh", "-c", "exit 0"], timeout_seconds=0.1 + PLENTY_SECONDS, environment={})
    runs = Crew([stuck, good], attempt, slack_seconds=0.1).results()
    assert [run.outcome for run in runs] == [child.Outcome.UNKILLABLE, child.Outcome.OK]


def test_a_fault_in_a_watcher_reaches_the_caller() -> None:
    def broken(_job: child.Job, _stopping: Callable[[], bool]) -> child.Run:
        raise ZeroDivisionError("ours")

    job = child.Job(argv=[], timeout_seconds=PLENTY_SECONDS, environment={})
    with pytest.raises(ZeroDivisionError, match="ours"):
        Crew([job, job], broken).results()


# What follows


def shell(line: str, **more: Any) -> child.Job:
    return child.Job(argv=["/bin/sh", "-c", line], timeout_seconds=PLENTY_SECONDS, environment={}, **more)


def test_what_follows_a_job_starts_while_others_still_run(tmp_path: Path) -> None:
    """The second of the jobs waits for what only the follower writes."""
    os.mkfifo(tmp_path / "pipe")
    pipe = tmp_path / "pipe"
    waiting = shell(f"cat {pipe}")
    first = shell("echo seen", then=lambda run: [shell(f"echo {run.stdout.decode().strip()} > {pipe}")])
    runs = child.run_all([first, waiting])
    assert [run.stdout for run in runs] == [b"seen\n", b"seen\n", b""]
    assert {run.outcome for run in runs} == {child.Outcome.OK}


def test_nothing_follows_unless_it_is_asked_for() -> None:
    runs = child.run_all([shell("exit 3", then=lambda run: [] if run.exit_status else [shell("true")])])
    assert [run.exit_status for run in runs] == [3]


def test_followers_have_followers_and_keep_their_order() -> None:
    def then(run: child.Run) -> list[child.Job]:
        number = int(run.stdout)
        return [shell(f"echo {number + 1}", then=then)] if number < 4 else []

    runs = child.run_all([shell("echo 1", then=then), shell("echo other")])
    assert [run.stdout for run in runs] == [b"1\n", b"other\n", b"2\n", b"3\n", b"4\n"]


def test_a_fault_in_choosing_what_follows_reaches_the_caller() -> None:
    with pytest.raises(ZeroDivisionError):
        child.run_all([shell("true", then=lambda _run: [shell("true")] * (1 // 0))])


def test_nothing_follows_a_job_that_was_given_up() -> None:
    stuck = child.Job(argv=NeverReady(["/bin/sh"]), timeout_seconds=0.1, environment={},
                      then=lambda _run: [shell("true")])
    runs = Crew([stuck], attempt, slack_seconds=0.1).results()
    assert [run.outcome for run in runs] == [child.Outcome.UNKILLABLE]


def test_nothing_follows_when_the_caller_is_interrupted() -> None:
    started: list[child.Run] = []

    def then(run: child.Run) -> list[child.Job]:
        started.append(run)
        return []

    def interrupted() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        child.run_all([shell("sleep 60", then=then)], interrupted)
    assert started == []
