"""The four pipes of one child (stdin, stdout, stderr, answer), drained by whoever waits for it."""

from __future__ import annotations

import contextlib
import io
import os
import select
import sys
import time
from collections.abc import Callable

from gpudoctor.child.values import Job

if sys.platform != "win32":
    import fcntl

_CHUNK_BYTES = 64 * 1024
_MOST_CHUNKS_OF_THE_DEAD = 64  # four times the largest pipe that an ordinary user may have
_TICK_SECONDS = 0.1
_SHORT_TICK_SECONDS = 0.01


class Kept:
    """The first and the last bytes of a stream of any length, `total_bytes`."""

    def __init__(self, limit_bytes: int) -> None:
        self._half = max(1, limit_bytes // 2)
        self._head = bytearray()
        self._tail = bytearray()
        self.total_bytes = 0

    def add(self, chunk: bytes) -> None:
        room = self._half - len(self._head)
        self.total_bytes += len(chunk)
        self._head += chunk[:room]
        self._tail += chunk[room:]
        if len(self._tail) > 2 * self._half + _CHUNK_BYTES:  # seldom, as cutting moves the whole tail
            del self._tail[: -self._half]

    @property
    def left_out_bytes(self) -> int:
        return max(0, self.total_bytes - 2 * self._half)

    def value(self) -> bytes:
        mark = b"\n[... %d bytes left out ...]\n" % self.left_out_bytes if self.left_out_bytes else b""
        return bytes(self._head) + mark + bytes(self._tail[-self._half :])


class Streams:
    """The child's ends until it has started, ours until it has ended; `ends` closes what is still open."""

    def __init__(self, job: Job, ends: contextlib.ExitStack) -> None:
        self._ends = ends
        self._ending: io.FileIO | None = None
        self._poller = select.poll()
        self._tick_seconds = _SHORT_TICK_SECONDS
        self._to_send = memoryview(job.stdin or b"")
        self.child_stdin, self._stdin = _pipe(ends)
        stdout, self.child_stdout = _pipe(ends)
        stderr, self.child_stderr = _pipe(ends)
        answer, self.child_answer = _pipe(ends)
        self.stdout, self.stderr = Kept(job.output_limit_bytes), Kept(job.output_limit_bytes)
        self.answer = Kept(job.answer_limit_bytes)
        self._kept_from = {stdout: self.stdout, stderr: self.stderr, answer: self.answer}
        self._by_number = {end.fileno(): end for end in (stdout, stderr, answer, self._stdin)}
        for number, end in self._by_number.items():
            os.set_blocking(number, False)
            self._poller.register(number, select.POLLOUT if end is self._stdin else select.POLLIN)

    def started(self, process_id: int) -> None:
        """Let go of the child's ends, and be woken when it ends, where the system offers that."""
        for end in (self.child_stdin, self.child_stdout, self.child_stderr, self.child_answer):
            end.close()
        # Refused by an old kernel or a container's filter, and not there but on Linux.
        with contextlib.suppress(OSError, AttributeError):
            self._ending = self._ends.enter_context(io.FileIO(os.pidfd_open(process_id), "r"))
            self._poller.register(self._ending, select.POLLIN)
            self._tick_seconds = _TICK_SECONDS

    def follow(self, has_ended: Callable[[], bool], *, deadline: float, stopping: Callable[[], bool]) -> bool:
        """Drain until the child has ended (True), or its time is over or nobody wants it any more (False)."""
        while not has_ended():
            left_seconds = deadline - time.monotonic()
            if left_seconds <= 0 or stopping():
                return False
            self._turn(min(left_seconds, self._tick_seconds))
        return True

    def take_the_rest(self) -> None:
        """Read what a dead child left in its pipes; bounded, for a stray of its may still be writing."""
        if self._ending is not None:
            self._poller.unregister(self._ending)  # would wake us all the time now
        for end in self._kept_from:
            for _ in range(_MOST_CHUNKS_OF_THE_DEAD):
                if end.closed or not self._receive(end):
                    break
        deadline = time.monotonic() + _TICK_SECONDS  # the others of its group may still be dying
        while not self.at_end() and time.monotonic() < deadline:
            self._turn(_SHORT_TICK_SECONDS)

    def at_end(self) -> bool:
        return all(end.closed for end in self._kept_from)

    def open_pipes(self) -> frozenset[str]:
        """Name the pipes that somebody still holds open, the way the links in /proc/PID/fd name them."""
        still_open = [end for end in self._kept_from if not end.closed]
        return frozenset(f"pipe:[{os.fstat(end.fileno()).st_ino}]" for end in still_open)

    def _turn(self, wait_seconds: float) -> None:
        for number, _ in self._poller.poll(int(wait_seconds * 1000) + 1):
            end = self._by_number.get(number)
            if end is self._stdin:
                self._send()
            elif end is not None:
                self._receive(end)

    def _receive(self, end: io.FileIO) -> bool:
        chunk = end.read(_CHUNK_BYTES)  # None: nothing there now; empty: nobody can write any more
        if chunk:
            self._kept_from[end].add(chunk)
        elif chunk is not None:
            self._close(end)
        return bool(chunk)

    def _send(self) -> None:
        try:
            self._to_send = self._to_send[self._stdin.write(self._to_send) or 0 :]
        except BrokenPipeError:  # the child reads no more
            self._to_send = self._to_send[:0]
        if not self._to_send:
            self._close(self._stdin)

    def _close(self, end: io.FileIO) -> None:
        self._poller.unregister(end)
        del self._by_number[end.fileno()]
        end.close()


def _pipe(ends: contextlib.ExitStack) -> tuple[io.FileIO, io.FileIO]:
    """Make a pipe (reading end, writing end) whose numbers are never those of the standard streams.

    A parent whose standard streams are closed would get 0, 1 and 2, which those of the child overwrite.
    """
    reading, writing = (_above_standard(number) for number in os.pipe())
    return ends.enter_context(io.FileIO(reading, "r")), ends.enter_context(io.FileIO(writing, "w"))


def _above_standard(number: int) -> int:
    if number > 2:
        return number
    try:
        return fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, 3)
    finally:
        os.close(number)
