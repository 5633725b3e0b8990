"""Start, watch, end and judge one child, in the calling thread."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable

from gpudoctor.child.judge import judged, one_line
from gpudoctor.child.strays import kill_strays, start_ticks
from gpudoctor.child.streams import Streams
from gpudoctor.child.values import ANSWER, REAP_SECONDS, Job, Outcome, Run


def attempt(job: Job, stopping: Callable[[], bool]) -> Run:
    """Run a job until its end, its limit, or until `stopping` says that nobody wants it any more."""
    begun_at = time.monotonic()
    with contextlib.ExitStack() as ends:
        try:
            streams = Streams(job, ends)
            if stopping():
                raise InterruptedError("interrupted before its start")
            process = _started(job, streams)
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            seconds = time.monotonic() - begun_at
            return Run(outcome=Outcome.NOT_STARTED, seconds=seconds, detail=one_line(str(error)))
        deadline = begun_at + job.timeout_seconds
        in_time = streams.follow(lambda: _has_ended(process), deadline=deadline, stopping=stopping)
        ticks = start_ticks(process.pid)  # gone with the burial
        buried = _kill_and_bury(process)
        streams.take_the_rest()
        if buried and not streams.at_end():
            kill_strays(streams.open_pipes(), began_after=ticks)
        seconds = time.monotonic() - begun_at
    status = process.returncode if buried else None
    return judged(job, streams, status, in_time=in_time, seconds=seconds)


def _started(job: Job, streams: Streams) -> subprocess.Popen[bytes]:
    number = streams.child_answer.fileno()
    process = subprocess.Popen(
        [str(number) if part == ANSWER else part for part in job.argv],
        stdin=streams.child_stdin,
        stdout=streams.child_stdout,
        stderr=streams.child_stderr,
        pass_fds=(number,) if ANSWER in job.argv else (),
        start_new_session=True,  # one group to kill, and no terminal whose state it could change
        env=job.environment,
    )
    streams.started(process.pid)
    return process


def _has_ended(process: subprocess.Popen[bytes]) -> bool:
    """Say whether the child is dead; unburied, so that its number, and its group's, stays its own."""
    if not hasattr(os, "waitid"):  # macOS before Python 3.13
        return process.poll() is not None
    try:
        return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:  # somebody else buried it
        return True
    except OSError:  # a filter of system calls refuses the question
        return process.poll() is not None


def _kill_and_bury(process: subprocess.Popen[bytes]) -> bool:
    """Kill the whole group, also after a normal end, and say whether the child could be buried in time."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)  # it leads its session, and so can never leave its group
    try:
        process.wait(REAP_SECONDS)
    except subprocess.TimeoutExpired:
        return False
    return True
