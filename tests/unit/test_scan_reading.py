"""Bytes of any kind to blocks of text: encodings, gzip, escapes, line ends, long lines, streams that fail."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
from collections.abc import Iterator
from typing import BinaryIO

import pytest

from gpudoctor.sources.heads import encoding_of
from gpudoctor.sources.reading import (
    CONTEXT_BYTES, LONGEST_BYTES, READ_BYTES, STRETCH_BYTES, Block, Reader, blocks, decompressed,
    without_escapes,
)


def text_of(data: bytes) -> tuple[bytes, list[str]]:
    """Return all text in a file, and what was told of it."""
    told: list[str] = []
    found = Reader(io.BytesIO(data), tell=told.append).blocks()
    return b"".join(block.data[block.begin:block.end] for block in found), told


LINES = "caf\u00e9: error\nlibcudnn.so.9: cannot open \u2018shared\u2019 object file\n"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_text_in_any_encoding_of_windows_and_linux(encoding: str) -> None:
    """PowerShell writes UTF-16, with a mark or, through other programs, without one."""
    assert text_of(LINES.encode(encoding)) == (LINES.encode(), [])


def test_utf16_whose_units_are_split_between_reads() -> None:
    """Half a character waits for its other half."""
    data = ("x" * 4095 + LINES * 3).encode("utf-16")
    told: list[str] = []
    chunks = (data[start:start + 4097] for start in range(0, len(data), 4097))
    found = b"".join(block.data for block in Reader(Pieces(chunks), tell=told.append).blocks())
    assert (found.decode(), told) == ("x" * 4095 + LINES * 3, [])


class Pieces(io.BytesIO):
    """A stream that gives what is there, as a pipe does."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        super().__init__()
        self._pieces = pieces

    def read1(self, size: int | None = -1, /) -> bytes:
        """Return the next piece."""
        piece = next(self._pieces, b"")
        assert size is None or len(piece) <= size
        return piece


def test_utf16_appended_to_another_text_loses_its_nul_bytes() -> None:
    """`>>` of PowerShell appends UTF-16 to whatever is there."""
    data = b"first line\n" * 20 + "then an error\n".encode("utf-16-le")
    assert text_of(data)[0] == b"first line\n" * 20 + b"then an error\n"


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("size", [1, 7, 4097, 1 << 18])
def test_8_bit_lines_appended_to_utf16_are_read_as_they_are(encoding: str, size: int) -> None:
    """`>>` of cmd and of a shell appends 8 bits to PowerShell's log: it was read as UTF-16, and was nonsense.

    The odd number of bytes put the UTF-16 behind it out of step as well.
    """
    wide = "\ufefffirst \u4e0a\u4e00 line\r\n", "then \u4e0a wide\r\n"
    narrow = "caf\u00e9: error\nlibcudnn.so.9: cannot open shared object file: No such file or directory\n"
    data = wide[0].encode(encoding) + narrow.encode() + wide[1].encode(encoding)
    pieces = (data[start:start + size] for start in range(0, len(data), size))
    found = b"".join(block.data for block in Reader(Pieces(pieces), tell=print).blocks()).decode()
    assert found.startswith("first \u4e0a\u4e00 line\r\n")
    assert "libcudnn.so.9: cannot open shared object file: No such file or directory\n" in found
    assert found.endswith("then \u4e0a wide\r\n")


def test_bytes_that_only_look_like_a_mark_of_utf16_do_not_hide_a_text() -> None:
    text = "libcudnn.so.9: cannot open shared object file: No such file or directory\n" * 3
    assert text_of(b"\xff\xfe" + text.encode())[0] == text.encode()


def test_utf16_of_any_script_is_read_as_utf16() -> None:
    """Characters with a line feed or a NUL among their bytes are no border of anything."""
    text = "\u4e0a\u4e00\u0a05\u0100\u2020 \ud55c\uad6d\uc5b4 \u0440\u0443\u0441 error\r\n" * 5000
    assert text_of(text.encode("utf-16"))[0] == text.encode()


def test_bytes_that_are_no_text_stay_what_they_are() -> None:
    """Whoever decodes them replaces them."""
    assert text_of(b"\xff\xfa error \xc3\n") == (b"\xff\xfa error \xc3\n", [])


def test_nul_bytes_are_taken_out() -> None:
    """A machine that lost its power leaves blocks of them in its logs."""
    assert text_of(b"NVRM: Xid\n" + b"\0" * 999 + b"next\n")[0] == b"NVRM: Xid\nnext\n"


@pytest.mark.parametrize(("head", "expected"), [
    (b"", "utf-8"), (b"a", "utf-8"), (b"\0", "utf-8"), (b"a\0b\0", "utf-16-le"), (b"\0a\0b", "utf-16-be"),
    (b"\0" * 100, "utf-8"), (b"ab\0\0" * 9, "utf-8"), (b"\xff\xfe", "utf-16-le"),
])
def test_encoding(head: bytes, expected: str) -> None:
    """Every second byte is NUL, or nothing is said about it."""
    assert encoding_of(head) == expected


# -- gzip --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("data", "is_binary"), [
    (bytes(range(256)) * 8, True),
    (bytes((7 * place * place) % 251 for place in range(5000)), True),
    (b"error\0 in line\0\0 7\n", False),
    (b"\x1b[31merror\x1b[0m 10%\r 20%\r\x08\x08done\n", False),
    ("caf\u00e9: erreur \u00e0 la ligne\n".encode("latin-1"), False),
    ("error\n".encode("utf-16-le"), False),
])
def test_what_is_binary_is_said_to_be(data: bytes, is_binary: bool) -> None:
    """A log that NUL bytes, colours, progress bars or Latin letters stand in is none."""
    told: list[str] = []
    reader = Reader(io.BytesIO(data), tell=told.append)
    list(reader.blocks())
    assert (told == ["is binary, not a text"], reader.has_text) == (is_binary, not is_binary)


@pytest.mark.parametrize("data", [b"", b" \n\t\r\n", b"\0\0\0", gzip.compress(b"\n", mtime=0)])
def test_a_stream_without_a_letter_has_no_text(data: bytes) -> None:
    """Whatever stands in it instead."""
    told: list[str] = []
    reader = Reader(io.BytesIO(data), tell=told.append)
    list(reader.blocks())
    assert not reader.has_text


def test_gzip_is_recognised_by_its_content() -> None:
    """Also several members one after the other, with padding behind them."""
    data = gzip.compress(b"one\n") + gzip.compress(b"two\n") + b"\0" * 512
    assert text_of(data) == (b"one\ntwo\n", [])


def test_gzip_of_utf16() -> None:
    """What is in it is looked at in turn."""
    assert text_of(gzip.compress(LINES.encode("utf-16")))[0] == LINES.encode()


@pytest.mark.parametrize("end", range(1, 60, 7))
def test_gzip_that_ends_too_early(end: int) -> None:
    """What can be read is read, and it is said that it ends."""
    data = gzip.compress(b"0123456789" * 50_000)
    text, told = text_of(data[:-end])
    assert (b"0123456789" * 50_000).startswith(text)
    assert [said[:27] for said in told] == ["is gzip, and ends too early"]


def test_gzip_that_is_damaged() -> None:
    """What was read before counts."""
    whole = bytes(range(32, 127)) * 4000
    data = bytearray(gzip.compress(whole, mtime=0))
    data[-6] ^= 0xFF  # in the checksum, behind all of the text
    text, told = text_of(bytes(data))
    assert text == whole
    assert [said[:26] for said in told] == ["is gzip, and damaged after"]


def test_gzip_with_something_else_behind_it() -> None:
    """That is said, and left."""
    text, told = text_of(gzip.compress(b"one\n") + b"no gzip")
    assert (text, len(told)) == (b"one\n", 1)
    assert "damaged" in told[0]


def test_a_bomb_is_read_in_pieces_and_only_so_far() -> None:
    """No piece is larger than a read, and what is too much is not read."""
    bomb = gzip.compress(b"\0" * 40_000_000)
    told: list[str] = []
    pieces = [len(piece) for piece in decompressed(iter([bomb]), told.append, most_bytes=10_000_000)]
    assert max(pieces) <= READ_BYTES
    assert 10_000_000 <= sum(pieces) <= 10_000_000 + READ_BYTES
    assert told == ["is gzip, and holds more than 9 MiB of text: the rest was not read"]


@pytest.mark.parametrize("data", [
    b"PK\x03\x04rest", b"\x89PNG\r\n", b"%PDF-1.7", b"\x7fELF", bz2.compress(b"x"), lzma.compress(b"x"),
])
def test_what_is_no_text_is_named_instead_of_searched(data: bytes) -> None:
    """Its user learns what to do."""
    text, told = text_of(data)
    assert (text, len(told)) == (b"", 1)


# -- escapes -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("data", "expected"), [
    (b"\x1b[31mred\x1b[0m", b"red"),
    (b"\x1b[38;2;255;100;0mrgb\x1b[m", b"rgb"),
    (b"a\x1b[2K\x1b[1Gb", b"ab"),
    (b"\x1b]0;title\x07text", b"text"),
    (b"\x1b]8;;https://a.b\x1b\\link\x1b]8;;\x1b\\.", b"link."),
    (b"\x1b]0;no end\ntext", b"\ntext"),
    (b"\x1b]0;no end\r\ntext", b"\r\ntext"),
    (b"\x1b(Btext\x1b=\x1b7", b"text"),
    (b"\x1bPq#0;2\x1b\\text", b"text"),
    (b"cut \x1b[31", b"cut "),
    (b"cut \x1b[31\nnext", b"cut \nnext"),
    (b"cut \x1b", b"cut "),
    (b"\x1b\nnext", b"\nnext"),
    (b"\x1b\x1b[1mx", b"x"),
    (b"no\xc2\xa0break", b"no break"),
])
def test_escapes_are_taken_out(data: bytes, expected: bytes) -> None:
    """Colours, the cursor, titles, links; an escape ends with its line."""
    assert without_escapes(data) == expected
    assert without_escapes(expected) == expected


# -- lines and blocks --------------------------------------------------------------------------------


def test_lines_are_counted_by_line_feeds() -> None:
    """A state of a progress bar is not a line to an editor."""
    found = list(blocks(iter([b"a\r\nb\rb", b"b\nc", b"\r", b"\nd"])))
    assert [(block.line, block.data) for block in found] == [
        (1, b"a\r\nb\r"), (2, b"bb\n"), (3, b"c\r\n"), (4, b"d")]


def rebuilt(found: list[Block]) -> bytes:
    """Return the text that the blocks own."""
    return b"".join(block.data[block.begin:block.end] for block in found)


@pytest.mark.parametrize("length", [
    LONGEST_BYTES - 1, LONGEST_BYTES, LONGEST_BYTES + 1, 2 * STRETCH_BYTES, 5 * LONGEST_BYTES + 7,
])
@pytest.mark.parametrize("ending", [b"\n", b"\r\n", b""])
def test_a_long_line_comes_in_stretches_that_touch(length: int, ending: bytes) -> None:
    """Each owns its bytes, and shows what stands around them."""
    line = b"".join(b"%08d" % number for number in range(length // 8 + 1))[:length]
    data = b"first\n" + line + ending + b"last"
    for size in (1000, READ_BYTES):
        found = list(blocks(data[start:start + size] for start in range(0, len(data), size)))
        assert rebuilt(found) == data
        stretches = [block for block in found if not block.whole]
        assert bool(stretches) == (length + len(ending or b"last") > LONGEST_BYTES)
        assert all(block.line == 2 for block in stretches)
        assert all(block.end - block.begin <= LONGEST_BYTES for block in stretches)
        assert all(block.begin == CONTEXT_BYTES for block in stretches[1:])
        assert max(len(block.data) for block in found) <= LONGEST_BYTES + READ_BYTES


# -- streams -----------------------------------------------------------------------------------------


class Broken(io.BytesIO):
    """A stream that gives something, and then an error."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(b"an error\nand mo")
        self._error = error

    def read1(self, size: int | None = -1, /) -> bytes:
        """Return what there is, then fail."""
        data = super().read1(size)
        if not data:
            raise self._error
        return data


def read(stream: BinaryIO) -> tuple[bytes, list[str], bool]:
    """Return the text, what was told, and whether it was interrupted."""
    told: list[str] = []
    reader = Reader(stream, tell=told.append)
    return rebuilt(list(reader.blocks())), told, reader.interrupted


def test_a_stream_that_fails_gives_what_it_gave() -> None:
    """A disk, a network folder or a folder can do that."""
    said = ["could not be read to its end: Input/output error"]
    assert read(Broken(OSError(5, "Input/output error"))) == (b"an error\nand mo", said, False)


def test_an_interrupted_stream_gives_what_it_gave() -> None:
    """Ctrl-C ends the text, not the work."""
    assert read(Broken(KeyboardInterrupt())) == (b"an error\nand mo", [], True)


class Endless(io.RawIOBase):
    """A stream that gives the same block for ever."""

    def __init__(self, block: bytes) -> None:
        self._block = block

    def read(self, size: int = -1, /) -> bytes:
        """Return the block, or as much of it, once more."""
        return self._block[:size]


@pytest.mark.parametrize("block", [bytes(65536), b" \n" * 32768, bytes(range(256)) * 256],
                         ids=["zeros", "blanks", "random"])
def test_a_stream_without_an_end_and_without_a_text_is_left(block: bytes) -> None:
    """`cat /dev/zero |` was read until Ctrl-C; what comes after so much of nothing is not waited for."""
    told: list[str] = []
    reader = Reader(Endless(block), tell=told.append,  # type: ignore[arg-type]
                    textless_bytes=1024 * 1024)
    assert sum(len(each.data) for each in reader.blocks()) <= 2 * 1024 * 1024
    assert (reader.has_text, told[-1]) == (False, "holds no text in its first 1 MiB: the rest was not read")


def test_a_text_behind_a_hole_is_read() -> None:
    """A log that was cut off while its program wrote on: NUL bytes first, and then as many lines as come."""
    told: list[str] = []
    reader = Reader(io.BytesIO(bytes(900_000) + b"an error\n" * 200_000), tell=told.append,
                    textless_bytes=1024 * 1024)
    assert (rebuilt(list(reader.blocks())).count(b"an error\n"), told) == (200_000, [])


def test_progress_counts_what_was_read() -> None:
    """As it stands in the file: a compressed one has its own size."""
    counted: list[int] = []
    data = gzip.compress(b"x\n" * 1_000_000)
    reader = Reader(io.BytesIO(data), tell=counted.clear, progress=counted.append)  # type: ignore[arg-type]
    assert len(rebuilt(list(reader.blocks()))) == 2_000_000
    assert counted[-1] == reader.bytes_read == len(data)
