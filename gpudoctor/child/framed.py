"""Talk with a program at the other end of a stream that carries its output and its errors in frames.

Container engines send both over one connection: eight bytes before each piece say which it is and how long.
"""

from __future__ import annotations

import contextlib
import os
import select
import time

from gpudoctor.frozen import frozen

_HEAD_BYTES, _READ_BYTES, _WRITE_BYTES = 8, 1 << 16, 1 << 15
_OUTPUT, _ERRORS = 1, 2
_MOST_WAITED_SECONDS = 0.2  # in one turn, so that Ctrl-C is heard


@frozen
class Said:
    """What the program said until its end, or until the limit (then `late`); what is too long is cut off."""

    output: bytes
    errors: bytes
    late: bool = False


def talk(descriptor: int, given: bytes, *, limit_seconds: float, output_limit_bytes: int,
         errors_limit_bytes: int) -> Said:
    """Hand in the input and take the streams apart, to the end of the stream or the limit."""
    kept = {_OUTPUT: bytearray(), _ERRORS: bytearray()}
    most = {_OUTPUT: output_limit_bytes, _ERRORS: errors_limit_bytes}
    frames, rest = _Frames(), memoryview(given)
    until, late, at_end = time.monotonic() + limit_seconds, False, False
    while not at_end and not late:
        writing = [descriptor] if rest else []
        readable, writable, _ = select.select([descriptor], writing, [], _MOST_WAITED_SECONDS)
        if writable:
            rest = _written(descriptor, rest)
        data = _read(descriptor) if readable else None
        for stream, piece in frames.taken(data or b""):
            if stream in kept:
                kept[stream] += piece[:most[stream] - len(kept[stream])]
        at_end = data == b""
        late = time.monotonic() > until and not at_end
    return Said(output=bytes(kept[_OUTPUT]), errors=bytes(kept[_ERRORS]), late=late)


def _written(descriptor: int, rest: memoryview) -> memoryview:
    """Write some of it; to a program that has ended nothing more is written."""
    try:
        return rest[os.write(descriptor, rest[:_WRITE_BYTES]):]
    except BlockingIOError:
        return rest
    except OSError:
        return rest[:0]


def _read(descriptor: int) -> bytes | None:
    """Return what is there, b"" at the end, None for nothing yet."""
    with contextlib.suppress(BlockingIOError):
        try:
            return os.read(descriptor, _READ_BYTES)
        except ConnectionError:
            return b""
    return None


class _Frames:
    """Pieces of a stream, of which a frame's head may be anywhere; a frame need not be there at once."""

    def __init__(self) -> None:
        self._head = bytearray()
        self._left = 0

    def taken(self, data: bytes) -> list[tuple[int, bytes]]:
        """Return (stream, piece) of what has come; no more is kept than a head."""
        found = []
        while data:
            if self._left == 0:
                wanted = _HEAD_BYTES - len(self._head)
                self._head += data[:wanted]
                data = data[wanted:]
                if len(self._head) < _HEAD_BYTES:
                    break
                self._left = int.from_bytes(self._head[4:], "big")
            piece, data = data[:self._left], data[self._left:]
            found.append((self._head[0], piece))
            self._left -= len(piece)
            if self._left == 0:
                self._head.clear()
        return found
