"""Run a command whose output passes through untouched, stream by stream, while the last of it is kept.

Where our own stream is a terminal the command gets one too (a pseudo-terminal that changes no byte), else a
pipe. It stays in our process group: what the terminal sends reaches it without us, and signals that are sent
to us alone are handed on.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import selectors
import signal
import subprocess
import termios
from collections.abc import Iterator, Mapping, Sequence
from types import FrameType

from gpudoctor.frozen import frozen

HEAD_BYTES, TAIL_BYTES = 1 << 20, 8 << 20
_READ_BYTES = 64 * 1024
_SECONDS_TO_WAIT = 0.1
_HANDED_ON = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
_OF_TERMINAL = (signal.SIGINT, signal.SIGQUIT)  # the command gets these from the terminal itself


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
    ends = [_ends(stream) for stream in streams]
    theirs = [writing for _, writing in ends]
    try:
        process = subprocess.Popen(command, stdout=theirs[0], stderr=theirs[1], start_new_session=apart,
                                   stdin=subprocess.DEVNULL if apart else None)
    finally:
        for writing in theirs:
            os.close(writing)
    kept = _Kept()
    pairs = {reading: stream for stream, (reading, _) in zip(streams, ends, strict=True)}
    with _signals(process, pairs, apart) as heard:
        _pass_through(process, pairs, kept)
        code = process.wait()
    return Ended(code=code, said=kept.all(), signals=tuple(heard))


def _ends(stream: int) -> tuple[int, int]:
    """Return where we read and where the command writes: a terminal's two sides, or a pipe's."""
    if not os.isatty(stream):
        return os.pipe()
    ours, theirs = pty.openpty()
    mode = termios.tcgetattr(stream)
    mode[1] &= ~termios.OPOST  # the real terminal turns line feeds into new lines; once is enough
    termios.tcsetattr(theirs, termios.TCSANOW, mode)
    _resize(ours, stream)
    return ours, theirs


def _resize(terminal: int, like: int) -> None:
    with contextlib.suppress(OSError):
        size = fcntl.ioctl(like, termios.TIOCGWINSZ, bytes(8))
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, size)


@contextlib.contextmanager
def _signals(process: subprocess.Popen[bytes], pairs: Mapping[int, int], apart: bool) -> Iterator[list[int]]:
    """Let the command decide what signals do, and hear of a new size; yield what would have ended us."""
    heard: list[int] = []

    def hand_on(number: int, _: FrameType | None) -> None:
        heard.append(number)
        with contextlib.suppress(OSError):
            if apart:
                os.killpg(process.pid, number)
            else:
                process.send_signal(number)

    def hear(number: int, _: FrameType | None) -> None:
        heard.append(number)

    def resize(_number: int, _frame: FrameType | None) -> None:
        for reading, stream in pairs.items():
            if os.isatty(reading):
                _resize(reading, stream)

    before = {number: signal.signal(number, hand_on) for number in _HANDED_ON}
    before |= {number: signal.signal(number, hand_on if apart else hear) for number in _OF_TERMINAL}
    before[signal.SIGWINCH] = signal.signal(signal.SIGWINCH, resize)
    try:
        yield heard
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _pass_through(process: subprocess.Popen[bytes], streams: dict[int, int], kept: _Kept) -> None:
    """Copy until both streams end, or the command has ended and nothing more is there to read."""
    with selectors.DefaultSelector() as selector:
        for reading, stream in streams.items():
            selector.register(reading, selectors.EVENT_READ, stream)
        while selector.get_map():
            ready = selector.select(_SECONDS_TO_WAIT)
            if not ready and process.poll() is not None:
                return  # what it left behind holds the streams, and says nothing now
            for key, _ in ready:
                data = _read(key.fd)
                if data:
                    kept.add(data)
                if not data or not _written(key.data, data):
                    selector.unregister(key.fd)
                    os.close(key.fd)  # then the command learns that nobody reads any more


def _read(descriptor: int) -> bytes:
    """Return what is there, b"" at the end; a terminal whose other side is closed answers with an error."""
    try:
        return os.read(descriptor, _READ_BYTES)
    except OSError:
        return b""


def _written(stream: int, data: bytes) -> bool:
    """Write all of it; say whether somebody takes it."""
    view = memoryview(data)
    try:
        while view:
            view = view[os.write(stream, view):]
    except OSError:
        return False
    return True
