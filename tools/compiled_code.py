"""What compiled code says of the CUDA and the cuDNN that it was made with, where the wheel itself is silent.

Machine code for a GPU is an ELF file of its own, and nvcc up to CUDA 12 writes its version into the header
(102 is 10.2). The file may be compressed (LZ4): its header is then what is unpacked first. A cuDNN that is
linked in has a function that answers with its version: `mov eax, 7605; ret`.
"""

from __future__ import annotations

import mmap
import struct
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from gpudoctor.payloads.fatbin import ENTRY, HEADER, MAGIC, SASS, SECTION

COMPRESSED = 1 << 13
LEAST_VERSION = 50  # ELF's own number for the version is 1
CUDNN_VERSION = b"cudnnGetVersion"
SYMBOL = struct.Struct("<IBBHQQ")
SYMBOL_TABLE = 2
ANSWER = struct.Struct("<BIB")
MOVE, RETURN = 0xB8, 0xC3


def compiled_with(library: Path) -> str | None:
    """Return the CUDA that compiled most of the machine code in a library, None where none says it."""
    with library.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        found = Counter(version for version in map(_version_of, _machine_code(mapped)) if version)
    version = max(found, key=lambda one: found[one], default=0)
    return f"{version // 10}.{version % 10}" if version else None


def _machine_code(mapped: mmap.mmap) -> Iterator[tuple[int, bytes]]:
    """Yield (flags, its beginning) of every entry with machine code."""
    start = mapped.find(MAGIC)
    while start >= 0:
        position = start + HEADER.size
        end = position + HEADER.unpack(mapped[start:position].ljust(HEADER.size, b"\0"))[3]
        while position < min(end, len(mapped) - ENTRY.size):
            kind, _, header_bytes, code_bytes, *_, flags = ENTRY.unpack_from(mapped, position)
            position += header_bytes
            if kind == SASS:
                yield flags, mapped[position:position + 64]
            position += code_bytes
            if not header_bytes:
                break  # these four bytes were a constant in host code
        start = mapped.find(MAGIC, start + len(MAGIC))


def _version_of(entry: tuple[int, bytes]) -> int | None:
    flags, code = entry
    header = unpacked(code) if flags & COMPRESSED else code
    version = int.from_bytes(header[20:24], "little")
    return version if header.startswith(b"\x7fELF") and version >= LEAST_VERSION else None


def unpacked(block: bytes) -> bytes:
    """Return what the beginning of an LZ4 block holds, as far as it is there and makes sense."""
    out, at = bytearray(), 0
    while at < len(block):
        literals, repeated = block[at] >> 4, (block[at] & 15) + 4
        out += block[at + 1:at + 1 + literals]
        at += 1 + literals
        back = int.from_bytes(block[at:at + 2], "little")
        at += 2
        if literals == 15 or not 0 < back <= len(out):
            break  # so many literals go on beyond a header
        for _ in range(repeated):
            out.append(out[-back])
        if repeated == 19:
            break  # so does what is repeated as often or oftener
    return bytes(out)


def linked_cudnn(library: Path) -> str | None:
    """Return the version of the cuDNN that is linked into a library, as its function answers; else None."""
    with library.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        place = next(_places_of(mapped, CUDNN_VERSION), None)
        if place is None or place + ANSWER.size > len(mapped):
            return None
        move, version, back = ANSWER.unpack_from(mapped, place)
    if (move, back) != (MOVE, RETURN):
        return None
    return f"{version // 1000}.{version % 1000 // 100}.{version % 100}"


def _places_of(mapped: mmap.mmap, name: bytes) -> Iterator[int]:
    """Yield where in an x86_64 file a function of that name begins, by its table of symbols."""
    if mapped[:6] != b"\x7fELF\x02\x01":
        return
    table, size, count = *struct.unpack_from("<Q", mapped, 40), *struct.unpack_from("<HH", mapped, 58)
    sections = [SECTION.unpack_from(mapped, table + number * size) for number in range(count)]
    for _, kind, _, _, offset, length, linked, *_ in sections:
        if kind != SYMBOL_TABLE:
            continue
        names = sections[linked]
        wanted = mapped.find(b"\0" + name + b"\0", names[4], names[4] + names[5]) + 1 - names[4]
        for own, _, _, section, address, _ in SYMBOL.iter_unpack(mapped[offset:offset + length]):
            if own == wanted and 0 < section < count:
                yield address - sections[section][3] + sections[section][4]
