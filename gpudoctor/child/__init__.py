"""Run commands where they can do no harm: own session, limits, and an outcome instead of an exception.

Every stream of a child (stdin, stdout, stderr and the answer) is a pipe that one watching thread drains
while it waits. No pipe is ever left unread, so nothing can deadlock; no folder has to be writable; and each
bound is exact, because what lies beyond it is read and dropped. (Files in memory could be bounded only by
RLIMIT_FSIZE, which would change the child under examination.)

A child writes its answer, one JSON document, to the descriptor whose number replaces `ANSWER` in its command
line. POSIX only: on Windows the package can be imported, every run is `not-started`, and nothing was tried.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence

from gpudoctor.child.attempt import attempt
from gpudoctor.child.crew import Crew, ending_signals_raised
from gpudoctor.child.values import (
    ANSWER, ANSWER_LIMIT_BYTES, OUTPUT_LIMIT_BYTES, REAP_SECONDS, Job, Outcome, Run,
)

__all__ = [
    "ANSWER", "ANSWER_LIMIT_BYTES", "OUTPUT_LIMIT_BYTES", "REAP_SECONDS", "Job", "Outcome", "Run", "run",
    "run_all",
]


def run(
    argv: Sequence[str],
    *,
    timeout_seconds: float,
    environment: Mapping[str, str],
    stdin: bytes | None = None,
    answer_limit_bytes: int = ANSWER_LIMIT_BYTES,
    output_limit_bytes: int = OUTPUT_LIMIT_BYTES,
) -> Run:
    """Run one command to its end or its limit; see `Job`."""
    job = Job(
        argv=argv,
        timeout_seconds=timeout_seconds,
        environment=environment,
        stdin=stdin,
        answer_limit_bytes=answer_limit_bytes,
        output_limit_bytes=output_limit_bytes,
    )
    return run_all([job])[0]


def run_all(jobs: Sequence[Job], meanwhile: Callable[[], object] | None = None) -> list[Run]:
    """Run all jobs at the same time; return their results in the same order, then those of what followed.

    `meanwhile` is called in the caller's thread, which has nothing else to do, when all are being started.
    An exception in the caller (Ctrl-C; SIGTERM and SIGHUP as SystemExit) ends every child and then goes on.
    """
    if sys.platform == "win32":
        if meanwhile is not None:
            meanwhile()
        return [Run(outcome=Outcome.NOT_STARTED, seconds=0.0, detail="needs a POSIX system") for _ in jobs]
    with ending_signals_raised():
        return Crew(jobs, attempt).results(meanwhile)
