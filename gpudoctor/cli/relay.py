"""Run a command whose output passes through untouched, stream by stream, while the last of it is kept.

Where our own stream is a terminal the command gets one too (a pseudo-terminal that changes no byte), else a
pipe; where none is to be had (a root without /dev/pts), a pipe as well, and that is said. It stays in our
process group: what the terminal sends reaches it without us, and signals that are sent to us alone are handed
on, so that it gets each of them once.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import functools
import os
import selectors
import signal
import subprocess
import sys
import termios
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import FrameType

from gpudoctor.cli.lookout import Lookout
from gpudoctor.frozen import frozen

HEAD_BYTES, TAIL_BYTES = 1 << 20, 8 << 20
_READ_BYTES = 64 * 1024
_SECONDS_TO_WAIT = 0.1
_SECONDS_OF_A_REST = 1.0  # so long what a command left behind may speak on, when the command has ended
_ENDING = (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
_STOPPING = (signal.SIGTSTP, signal.SIGCONT)


@frozen
class Ended:
    """How a command ended (a negative code is a signal), and the beginning and the end of what it said.

    `signals` came to us meanwhile and would have ended us.
    """

    code: int
    said: bytes
    signals: tuple[int, ...] = ()


class _Kept:
    """The first and the last bytes of what was said."""

    def __init__(self) -> None:
        self._head = bytearray()
        self._tail = bytearray()
        self._cut = False

    def add(self, data: bytes) -> None:
        room = HEAD_BYTES - len(self._head)
        self._head += data[:max(room, 0)]
        self._tail += data[max(room, 0):]
        if len(self._tail) > 2 * TAIL_BYTES:
            self._cut = True
            del self._tail[:-TAIL_BYTES]

    def all(self) -> bytes:
        return bytes(self._head) + (b"\n" if self._cut else b"") + bytes(self._tail)


def run(command: Sequence[str], *, streams: tuple[int, int] = (1, 2), apart: bool = False) -> Ended:
    """Run the command to its end; raise OSError where it cannot be started.

    Its output and errors go to our `streams`. `apart` from our terminal it reads nothing, and is a session of
    its own, to all of which the signals are handed on that come to us.
    """
    if apart:
        return _run(command, streams, None)
    with contextlib.closing(Lookout()) as lookout:
        return _run(command, streams, lookout)


def _run(command: Sequence[str], streams: tuple[int, int], lookout: Lookout | None) -> Ended:
    ends = {stream: _ends(stream) for stream in dict.fromkeys(streams)}  # one for both keeps their order
    theirs = [ends[stream][1] for stream in streams]
    try:
        process = subprocess.Popen(command, stdout=theirs[0], stderr=theirs[1],
                                   start_new_session=lookout is None,
                                   stdin=subprocess.DEVNULL if lookout is None else None)
    finally:
        for _, writing in ends.values():
            os.close(writing)
    kept = _Kept()
    pairs = {reading: stream for stream, (reading, _) in ends.items()}
    with _signals(process, pairs, lookout) as heard:
        _pass_through(process, pairs, kept)
        code = process.wait()
    return Ended(code=code, said=kept.all(), signals=tuple(heard))


def _ends(stream: int) -> tuple[int, int]:
    """Return where we read and where the command writes: a terminal's two sides, or a pipe's."""
    if not os.isatty(stream):
        return os.pipe()
    try:
        ours, theirs = os.openpty()
    except OSError as error:
        _say_that_there_is_no_terminal(str(error.strerror))
        return os.pipe()
    mode = termios.tcgetattr(stream)
    mode[1] &= ~termios.OPOST  # the real terminal turns line feeds into new lines; once is enough
    termios.tcsetattr(theirs, termios.TCSANOW, mode)
    _resized(ours, stream)
    return ours, theirs


@functools.cache  # once is enough, whatever number of streams and commands
def _say_that_there_is_no_terminal(why: str) -> None:
    sys.stderr.write(f"gpudoctor: no terminal can be made for what is run ({why}; is devpts mounted on "
                     "/dev/pts?), so its output comes through a pipe\n")
    sys.stderr.flush()


def _resized(terminal: int, like: int) -> bool:
    """Give a terminal the size of another one; say whether that is a new one."""
    with contextlib.suppress(OSError):
        size = fcntl.ioctl(like, termios.TIOCGWINSZ, bytes(8))
        if size != fcntl.ioctl(terminal, termios.TIOCGWINSZ, bytes(8)):
            fcntl.ioctl(terminal, termios.TIOCSWINSZ, size)
            return True
    return False


@contextlib.contextmanager
def _signals(process: subprocess.Popen[bytes], pairs: Mapping[int, int],
             lookout: Lookout | None) -> Iterator[list[int]]:
    """Let the command decide what signals do, and hear of a new size; yield what would have ended us."""
    heard: list[int] = []

    def resize(_number: int, _frame: FrameType | None) -> None:
        terminals = [pair for pair in pairs.items() if os.isatty(pair[0])]
        if sum(_resized(reading, stream) for reading, stream in terminals):
            os.kill(0, signal.SIGWINCH)  # who had heard of it before us has read the old size

    decide = _decider(process, heard, lookout)
    before = {number: signal.signal(number, decide) for number in _ENDING}
    if lookout is not None:
        before |= {number: signal.signal(number, decide) for number in _STOPPING}
    before[signal.SIGWINCH] = signal.signal(signal.SIGWINCH, resize)
    try:
        yield heard
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _decider(process: subprocess.Popen[bytes], heard: list[int],
             lookout: Lookout | None) -> Callable[[int, FrameType | None], None]:
    """Return what hands signals on to the command, those that it has not got already, one after the other."""
    waiting: deque[int] = deque()
    is_busy = False

    def decide(number: int, _: FrameType | None) -> None:
        nonlocal is_busy
        waiting.append(number)
        if is_busy:  # one came while another was looked at, which will see to it
            return
        is_busy = True
        while waiting:
            number = waiting.popleft()
            with contextlib.suppress(OSError):
                if lookout is None:
                    os.killpg(process.pid, number)
                elif not lookout.saw(number):
                    process.send_signal(number)
            if number in _ENDING:
                heard.append(number)
            elif number == signal.SIGTSTP:
                _stop(decide)
        is_busy = False

    return decide


def _stop(go_on: Callable[[int, FrameType | None], None]) -> None:
    """Stop as the command does; return when we are continued."""
    signal.signal(signal.SIGTSTP, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGTSTP)
    signal.signal(signal.SIGTSTP, go_on)


def _pass_through(process: subprocess.Popen[bytes], streams: dict[int, int], kept: _Kept) -> None:
    """Copy until both streams end, or the command has ended and what it said was read.

    What it left behind may hold the streams; a little of what that says is passed on.
    """
    rest = _Rest()
    with selectors.DefaultSelector() as selector:
        for reading, stream in streams.items():
            selector.register(reading, selectors.EVENT_READ, stream)
        while selector.get_map():
            ready = selector.select(_SECONDS_TO_WAIT)
            if process.poll() is not None and (not ready or rest.is_read(selector)):
                return
            for key, _ in ready:
                data = _read(key.fd)
                rest.less(len(data))
                if data:
                    kept.add(data)
                if not data or not _written(key.data, data):
                    selector.unregister(key.fd)
                    os.close(key.fd)  # then the command learns that nobody reads any more


class _Rest:
    """What was in the streams when the command was first seen to have ended."""

    def __init__(self) -> None:
        self._seen = 0.0
        self._left_bytes = 0

    def is_read(self, selector: selectors.BaseSelector) -> bool:
        """Say, after the command's end, whether all of it was read and the time for more is over."""
        if not self._seen:
            self._seen = time.monotonic()
            self._left_bytes = sum(_waiting_bytes(key.fd) for key in selector.get_map().values())
        return self._left_bytes <= 0 and time.monotonic() - self._seen > _SECONDS_OF_A_REST

    def less(self, count: int) -> None:
        """Hear that so much was read."""
        self._left_bytes -= count


def _waiting_bytes(descriptor: int) -> int:
    return int.from_bytes(fcntl.ioctl(descriptor, termios.FIONREAD, bytes(4)), sys.byteorder)


def _read(descriptor: int) -> bytes:
    """Return what is there, b"" at the end; a terminal whose other side is closed answers with an error."""
    try:
        return os.read(descriptor, _READ_BYTES)
    except OSError:
        return b""


def _written(stream: int, data: bytes) -> bool:
    """Write all of it; say whether somebody takes it.

    The command sees a closed pipe, whatever the reason: a full disk it could not tell of.
    """
    view = memoryview(data)
    try:
        while view:
            view = view[os.write(stream, view):]
    except OSError as error:
        if error.errno != errno.EPIPE:
            sys.stderr.write(f"gpudoctor: what the command says cannot be passed on: {error.strerror}\n")
        return False
    return True
