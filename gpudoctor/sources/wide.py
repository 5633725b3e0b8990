"""UTF-16 to UTF-8, also where another program went on in characters of 8 bits, as `>>` of a shell does.

Read as UTF-16, such a part is nonsense, and all behind an odd number of its bytes as well. It is told by its
length: in UTF-16 no script has so many bytes one after another that are all printable ASCII or valid UTF-8.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator

# Nothing is looked at twice: a part begins with eight letters, and ends where it ends. Compiled when needed.
_NARROW = (rb"[\t\n\r\x1b -~]{8}"
           rb"(?:[\t\n\r\x1b -~]+|[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2})*")
_MOST_WIDE_BYTES = 31  # of a shorter part nobody can tell
_ASCII = bytes((*b"\t\n\r\x1b", *range(0x20, 0x7f)))
_UNDECIDED_BYTES = 4096
_KEPT_BYTES = 64  # enough to be told again as a part of 8 bits


def as_utf8(chunks: Iterable[bytes], encoding: str) -> Iterator[bytes]:
    """Yield what stands in UTF-16, and between it in 8 bits, as UTF-8 without NUL bytes and marks."""
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    held = b""
    for chunk in chunks:
        data = held + chunk
        decided = _decided(data)
        yield _converted(data[:decided], encoding, decoder)
        held = data[decided:]
    yield _converted(held, encoding, decoder) + _encoded(decoder.decode(b"", True))


def _decided(data: bytes) -> int:
    """Return up to where data is whole: bytes at its end may be of one part with those that follow."""
    undecided = len(data) - len(data.rstrip(_ASCII))
    return len(data) - (undecided if undecided <= _UNDECIDED_BYTES else _KEPT_BYTES)


def _converted(data: bytes, encoding: str, decoder: codecs.IncrementalDecoder) -> bytes:
    parts, position = [], 0
    for start, end in _narrow(data, encoding):
        parts += [_encoded(decoder.decode(data[position:start], True)), data[start:end]]
        decoder.reset()
        position = end
    return b"".join((*parts, _encoded(decoder.decode(data[position:]))))


def _narrow(data: bytes, encoding: str) -> Iterator[tuple[int, int]]:
    """Yield where parts in 8 bits stand; the NUL of a wide character beside one claims a byte of it."""
    if not (data[::2].strip(b"\0") and data[1::2].strip(b"\0")):
        return  # Latin letters alone, all of them wide
    for found in re.finditer(_NARROW, data):
        start, end = found.span()
        if encoding == "utf-16-be":
            start += data[start - 1:start] == b"\0"
        else:
            end -= data[end:end + 1] == b"\0"
        if end - start > _MOST_WIDE_BYTES:
            yield start, end


def _encoded(text: str) -> bytes:
    return text.replace("\0", "").replace("\ufeff", "").encode("utf-8", "replace")
