"""What a stream is, by its first bytes: in which encoding, of another program, or no text at all."""

from __future__ import annotations

import codecs

HEAD_BYTES = 4096
_NO_TEXT = (
    (b"PK\x03\x04", "a zip archive: unpack it, and name the files in it"),
    (b"\xfd7zXZ\0", "compressed by xz: decompress it first"),
    (b"\x28\xb5\x2f\xfd", "compressed by zstd: decompress it first"),
    (b"BZh", "compressed by bzip2: decompress it first"),
    (b"\x89PNG", "an image: only text can be read"),
    (b"\xff\xd8\xff", "an image: only text can be read"),
    (b"%PDF-", "a PDF: copy the text out of it"),
    (b"\x7fELF", "a program or a core file, not a text"),
)
# Bytes that no text has but those of lines, tabs, progress bars and colours; NUL is taken out anywhere.
_NEVER_WRITTEN = bytes(byte for byte in range(1, 32) if byte not in b"\a\b\t\n\v\f\r\x1b")
_MOST_NEVER_WRITTEN = 0.04  # of the first bytes; of any bytes at all they are a tenth


def kind_of(head: bytes) -> str | None:
    """Return what a file is that holds no text, and what to do with it; None of any other."""
    return next((kind for magic, kind in _NO_TEXT if head.startswith(magic)), None)


def is_of_no_text(head: bytes) -> bool:
    """Say whether a beginning is of no text: NUL alone does not make it so, nor does any encoding."""
    if encoding_of(head) != "utf-8":
        return False
    left = head[:HEAD_BYTES].replace(b"\0", b"")
    return len(left) - len(left.translate(None, _NEVER_WRITTEN)) > _MOST_NEVER_WRITTEN * len(left)


def encoding_of(head: bytes) -> str:
    """Return UTF-16 where a mark says so, or NUL in every second place, else UTF-8."""
    if head.startswith(codecs.BOM_UTF16_LE):
        return "utf-16-le"
    if head.startswith(codecs.BOM_UTF16_BE):
        return "utf-16-be"
    even, odd = head[0:HEAD_BYTES:2], head[1:HEAD_BYTES:2]
    if odd.count(0) * 2 > len(odd) and even.count(0) * 16 <= len(even):
        return "utf-16-le"
    if odd and even.count(0) * 2 > len(even) and odd.count(0) * 16 <= len(odd):
        return "utf-16-be"
    return "utf-8"
