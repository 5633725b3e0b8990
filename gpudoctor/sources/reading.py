"""Bytes of any kind to text: what a stream holds, as UTF-8, in blocks of whole lines and with bounded memory.

Recognised by content: gzip, UTF-16 (from PowerShell, with and without its mark). NUL bytes and the escape
sequences of terminals are taken out. A line ends with a line feed or a carriage return (each state of a
progress bar is one), and is counted by line feeds, as editors do. A line that is too long for one block comes
in stretches, cut where its own beginning says, so that no border of a read shows in what is found.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import BinaryIO

from gpudoctor.frozen import frozen
from gpudoctor.sources import wide
from gpudoctor.sources.heads import HEAD_BYTES, encoding_of, is_of_no_text, kind_of
from gpudoctor.sources.inspections import without_prose

READ_BYTES = 256 * 1024
STRETCH_BYTES = 256 * 1024
# What a stretch of a line shows on both sides of its own bytes; no pattern spans more.
CONTEXT_BYTES = 16 * 1024
LONGEST_BYTES = STRETCH_BYTES + CONTEXT_BYTES
DECOMPRESSED_BYTES = 16 * 1024 ** 3
# A log that was cut off while a program went on writing begins with as many NUL bytes as it had before.
TEXTLESS_BYTES = 4 * 1024 ** 3
_GZIP = b"\x1f\x8b\x08"
_NO_BREAK_SPACE = "\u00a0".encode()
_MARK = "\ufeff".encode()

Tell = Callable[[str], None]
Progress = Callable[[int], None]


@frozen
class Block:
    """Whole lines, or a stretch of one long line; `line` is the number of the first, counted from 1.

    `feeds` line feeds are in what it owns. A stretch owns the bytes from `begin` to `end`; what stands around
    them belongs to its neighbours.
    """

    data: bytes
    line: int
    feeds: int
    begin: int
    end: int
    whole: bool


class Reader:
    """One stream, read once. What it met that its user should know goes to `tell`.

    Ctrl-C during a read ends the text there: what was read before is still handed out.
    """

    def __init__(self, stream: BinaryIO, *, tell: Tell, progress: Progress | None = None,
                 textless_bytes: int = TEXTLESS_BYTES) -> None:
        self._stream = stream
        self._textless_bytes = textless_bytes
        self._tell = tell
        self._progress = progress
        self.bytes_read = 0
        self.interrupted = False
        self.has_text = False  # whether anything stood in it that may be text

    def blocks(self) -> Iterator[Block]:
        """Yield the text, cleaned, in order."""
        return blocks(self._texts())

    def _texts(self) -> Iterator[bytes]:
        """Yield the text as UTF-8, in pieces of at most `READ_BYTES`."""
        chunks = _with_head(self._reads())
        first = next(chunks, b"")
        if first.startswith(_GZIP):
            chunks = _with_head(decompressed(_together(first, chunks), self._tell))
            first = next(chunks, b"")
        kind = kind_of(first)
        if kind is not None:
            self._tell(f"is {kind}")
            return
        is_binary = is_of_no_text(first)
        if is_binary:
            self._tell("is binary, not a text")
        texts = _as_utf8(first, chunks)
        for text in without_prose(next(texts, b""), texts):
            self.has_text = self.has_text or not (is_binary or not text.strip())
            if not self.has_text and self.bytes_read > self._textless_bytes:
                self._tell(f"holds no text in its first {self._textless_bytes >> 20} MiB: "
                           "the rest was not read")
                return
            yield from (text[start:start + READ_BYTES] for start in range(0, len(text), READ_BYTES))

    def _reads(self) -> Iterator[bytes]:
        # A pipe gives what is there: waiting for a whole read would keep back the last lines before Ctrl-C.
        read = getattr(self._stream, "read1", self._stream.read)
        while True:
            try:
                data: bytes | None = read(READ_BYTES)
            except KeyboardInterrupt:
                self.interrupted = True
                return
            except (OSError, ValueError) as error:
                self._tell(f"could not be read to its end: {getattr(error, 'strerror', None) or error}")
                return
            if not data:
                return
            self.bytes_read += len(data)
            if self._progress is not None:
                self._progress(self.bytes_read)
            yield data


def _together(first: bytes, chunks: Iterable[bytes]) -> Iterator[bytes]:
    yield first
    yield from chunks


def _with_head(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the chunks, the first one long enough to tell what it is, unless there is no more."""
    head = b""
    left = iter(chunks)
    for chunk in left:
        head += chunk
        if len(head) >= HEAD_BYTES:
            break
    if head:
        yield head
    yield from left


def decompressed(chunks: Iterable[bytes], tell: Tell, *,
                 most_bytes: int = DECOMPRESSED_BYTES) -> Iterator[bytes]:
    """Yield what gzip holds, never more than a read at once; what is damaged ends there."""
    machine, total, within = zlib.decompressobj(wbits=31), 0, False
    for chunk in chunks:
        data, more = chunk, True
        while data or more:
            within = True
            before = machine.copy()
            try:
                text = machine.decompress(data, READ_BYTES)
            except zlib.error as error:
                text = _rescued(before, data)
                tell(f"is gzip, and damaged after {total + len(text)} bytes of text: {error}")
                yield text
                return
            total += len(text)
            if text:
                yield text
            if total > most_bytes:
                tell(f"is gzip, and holds more than {most_bytes >> 20} MiB of text: the rest was not read")
                return
            data = machine.unconsumed_tail
            more = len(text) == READ_BYTES  # the machine may hold more, without any more bytes for it
            if machine.eof:
                data, more, within = machine.unused_data.lstrip(b"\0"), False, False  # filled-up blocks
                machine = zlib.decompressobj(wbits=31)
    if within:
        tell(f"is gzip, and ends too early, after {total} bytes of text")


def _rescued(machine: zlib._Decompress, data: bytes) -> bytes:
    """Return what stands before the damage: of a call that fails, nothing else is left."""
    found = bytearray()
    with suppress(zlib.error):
        for at in range(len(data)):
            found += machine.decompress(data[at:at + 1])
    return bytes(found)


def _as_utf8(first: bytes, chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the chunks as UTF-8 without NUL bytes; what is neither UTF-8 nor UTF-16 stays as it is."""
    encoding = encoding_of(first)
    if encoding == "utf-8":
        for chunk in _together(first.removeprefix(_MARK), chunks):
            # Not replace(): of NUL bytes alone, as in a bomb, it takes seventeen times as long.
            yield chunk.translate(None, b"\0") if b"\0" in chunk else chunk
        return
    yield from wide.as_utf8(_together(first, chunks), encoding)


def blocks(chunks: Iterable[bytes]) -> Iterator[Block]:
    """Yield blocks of text that comes in chunks of at most `LONGEST_BYTES`."""
    cutter = _Cutter()
    for chunk in chunks:
        yield from cutter.blocks(chunk)
    yield from cutter.blocks(b"", last=True)


class _Cutter:
    """Keeps what has no end yet, the number of its line, and what stands before it in a long line."""

    def __init__(self) -> None:
        self._rest = self._before = b""
        self._pending: list[bytes] = []
        self._pending_bytes = 0
        self._number = 1

    def blocks(self, chunk: bytes, *, last: bool = False) -> Iterator[Block]:
        """Yield what is complete with this chunk.

        Chunks that end no line are put together later: a pipe may give a long line byte by byte.
        """
        self._pending.append(chunk)
        self._pending_bytes += len(chunk)
        if not last and self._pending_bytes < READ_BYTES and b"\n" not in chunk and b"\r" not in chunk:
            return
        rest = b"".join((self._rest, *self._pending))
        self._pending, self._pending_bytes = [], 0
        while rest:
            end = _line_end(rest, last=last)
            if (end or len(rest)) > LONGEST_BYTES:
                after = rest[STRETCH_BYTES:LONGEST_BYTES]
                yield _stretch(self._before, rest[:STRETCH_BYTES], after, self._number, 0)
                self._before = rest[STRETCH_BYTES - CONTEXT_BYTES:STRETCH_BYTES]
                rest = rest[STRETCH_BYTES:]
                continue
            if not end:
                break
            end = end if self._before else _last_end(rest, last=last)
            feeds = rest.count(b"\n", 0, end)
            if self._before:
                yield _stretch(self._before, rest[:end], b"", self._number, feeds)
                self._before = b""
            else:
                data = without_escapes(rest[:end])
                yield Block(data=data, line=self._number, feeds=feeds, begin=0, end=len(data), whole=True)
            self._number += feeds
            rest = rest[end:]
        self._rest = rest


def _line_end(data: bytes, *, last: bool) -> int:
    """Return where the first line ends, behind what ends it; 0 when that does not stand here yet."""
    feed = data.find(b"\n")
    back = data.find(b"\r", 0, feed if feed >= 0 else len(data) - (not last))
    if back >= 0 and back + 1 != feed:
        return back + 1
    return feed + 1 or (len(data) if last else 0)


def _last_end(data: bytes, *, last: bool) -> int:
    """Return where the last line ends; a carriage return at the very end may be half of an ending."""
    return len(data) if last else max(data.rfind(b"\n"), data.rfind(b"\r", 0, len(data) - 1)) + 1


def _stretch(before: bytes, own: bytes, after: bytes, number: int, feeds: int) -> Block:
    parts = [without_escapes(part) for part in (before, own, after)]
    begin = len(parts[0])
    end = begin + len(parts[1])
    return Block(data=b"".join(parts), line=number, feeds=feeds, begin=begin, end=end, whole=False)


def without_escapes(data: bytes) -> bytes:
    """Return the text without the sequences that colour it, move the cursor, or name a window or a link."""
    if not data.isascii() and _NO_BREAK_SPACE in data:
        data = data.replace(_NO_BREAK_SPACE, b" ")
    if b"\x1b" not in data:
        return data
    plain, *escaped = data.split(b"\x1b")
    return b"".join((plain, *map(_after_escape, escaped)))


def _after_escape(text: bytes) -> bytes:
    """Return what is left of a text that follows an escape character."""
    first = text[:1]
    if first == b"[":  # parameters, intermediate bytes, one final byte
        left = text[1:65].lstrip(b"0123456789:;<=>?").lstrip(b" !\"#$%&'()*+,-./")
        return left[b"@" <= left[:1] <= b"~":] + text[65:]
    if first in (b"]", b"P", b"X", b"^", b"_"):  # a string, up to a bell, the next escape, or the line's end
        return _behind(text, b"\x07")
    left = text.lstrip(b" !\"#$%&'()*+,-./") if first < b"0" else text
    return left[b"0" <= left[:1] <= b"~":]


def _behind(text: bytes, bell: bytes) -> bytes:
    end = min((at for at in (text.find(b"\n"), text.find(b"\r")) if at >= 0), default=len(text))
    rung = text.find(bell, 0, end)
    return text[rung + 1:] if rung >= 0 else text[end:]
