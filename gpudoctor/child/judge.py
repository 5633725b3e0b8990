"""Say how a child ended, and read its answer: pure."""

from __future__ import annotations

import json
import signal

from gpudoctor.child.streams import Kept, Streams
from gpudoctor.child.values import ANSWER, Job, Outcome, Run

_LINE_CHARACTERS = 300


def judged(job: Job, streams: Streams, status: int | None, *, in_time: bool, seconds: float) -> Run:
    """Name the outcome. `status` is Popen's return code, or None for a child that could not be buried."""
    answer, complaint = _answer(job, streams.answer)
    outcome, what = _verdict(job, status, complaint, in_time=in_time)
    own_status = status if in_time else None  # after the limit it tells of our own SIGKILL
    stderr = streams.stderr.value()
    return Run(
        outcome=outcome,
        seconds=seconds,
        exit_status=own_status if own_status is not None and own_status >= 0 else None,
        signal=-own_status if own_status is not None and own_status < 0 else None,
        stdout=streams.stdout.value(),
        stderr=stderr,
        left_out_bytes=streams.stdout.left_out_bytes + streams.stderr.left_out_bytes,
        answer=answer,
        was_reached=streams.answer.total_bytes > 0,
        detail=": ".join(part for part in (what, _last_line(stderr)) if part) if what else "",
    )


def _answer(job: Job, kept: Kept) -> tuple[object | None, str]:
    if ANSWER not in job.argv:
        return None, ""
    return (kept.value().decode("utf-8", "replace"), "") if job.journal else decoded(kept)


def _verdict(job: Job, status: int | None, complaint: str, *, in_time: bool) -> tuple[Outcome, str]:
    if status is None:
        return Outcome.UNKILLABLE, "was killed, but does not go"
    if not in_time:
        return Outcome.TIMEOUT, f"no end within {job.timeout_seconds:g} s"
    if status < 0:
        return Outcome.SIGNAL, _signal_name(-status)
    if status > 0:
        return Outcome.EXIT, f"exit status {status}"
    if complaint:
        return Outcome.GARBLED, complaint
    return Outcome.OK, ""


def decoded(kept: Kept) -> tuple[object | None, str]:
    """Return the answer and an empty string, or None and what is wrong with it."""
    if kept.left_out_bytes:
        return None, "its answer is too long"
    raw = kept.value()
    if not raw.strip():
        return None, "no answer"
    try:
        answer: object = json.loads(raw)
        if b"\\ud" in raw.lower():
            answer = json.loads(_without_half_characters(answer))
    except (ValueError, RecursionError, MemoryError) as error:
        return None, f"its answer is no JSON document ({one_line(str(error)) or type(error).__name__})"
    return answer, ""


def _without_half_characters(answer: object) -> str:
    """Replace lone surrogates (a path's undecodable bytes, say), which no output could take."""
    text = json.dumps(answer, ensure_ascii=False)
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # real-time signals have no names
        return f"signal {number}"


def _last_line(output: bytes) -> str:
    text = output[-4096:].decode(errors="replace").strip()
    return one_line(text.rpartition("\n")[2])


def one_line(text: str) -> str:
    """Return at most 300 printable characters."""
    return "".join(c if c.isprintable() else " " for c in text[:_LINE_CHARACTERS]).strip()
