"""What a child is asked and how it ended: values only."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum

from gpudoctor.frozen import frozen

ANSWER = "{answer}"
ANSWER_LIMIT_BYTES = 64 * 1024 * 1024
OUTPUT_LIMIT_BYTES = 1024 * 1024
REAP_SECONDS = 2.0  # from SIGKILL until a child that does not go is left behind


class Outcome(str, Enum):
    """How a run ended."""

    OK = "ok"
    TIMEOUT = "timeout"
    SIGNAL = "signal"
    EXIT = "exit"
    GARBLED = "garbled"  # ended well, but an answer was asked for and what came is none
    NOT_STARTED = "not-started"
    UNKILLABLE = "unkillable"  # stuck in the kernel (a hung driver call, a dead network folder)


@frozen
class Run:
    """What became of one job. A whole `answer` is kept whatever the outcome: a crash may come after it.

    `was_reached`: something came where the answer is expected, be it a blank. Payloads write one when their
    collector begins; what ended before that ended for reasons of the interpreter, or of what starts it.
    """

    outcome: Outcome
    seconds: float
    exit_status: int | None = None
    signal: int | None = None
    stdout: bytes = b""
    stderr: bytes = b""
    left_out_bytes: int = 0  # of stdout and stderr together: the middle of what was longer than its limit
    answer: object | None = None
    was_reached: bool = False
    detail: str = ""  # one printable line


@frozen
class Job:
    """One command; `environment` is used exactly as given.

    Entries of `argv` that equal `ANSWER` become the number of the answer's descriptor; without one, no answer
    is expected. A `journal` is an answer of many lines that count as soon as they stand there, whatever comes
    later; `Run.answer` then is its text. `then` is asked, in a watcher's thread, what to start when this one
    has ended so; the runs of that come behind those of the jobs that were given.
    """

    argv: Sequence[str]
    timeout_seconds: float
    environment: Mapping[str, str]
    stdin: bytes | None = None  # None: empty
    answer_limit_bytes: int = ANSWER_LIMIT_BYTES
    output_limit_bytes: int = OUTPUT_LIMIT_BYTES
    journal: bool = False
    then: Callable[[Run], Sequence[Job]] | None = None
