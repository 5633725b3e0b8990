"""Say which functions a library asks of another, and which one has to give: where versions of two part ways.

Only for libraries whose releases are told apart by their functions and nothing else: cuSPARSE of CUDA 12.9
asks nvJitLink for __nvJitLinkCreate_12_9, and every nvJitLink of CUDA 12 has the same name and the same
symbol version. Read from the dynamic section, as the loader does; all counts in the file are bounded.
"""

import struct

from . import elf

TYPE_CHECKING = False  # importing typing takes longer than most collectors
if TYPE_CHECKING:
    from typing import Any, BinaryIO, Dict, List, Optional, Tuple

COMPARED = ("libnvJitLink.so.", "libcublasLt.so.")
SYMBOLS_LIMIT = 20000
STRINGS_BYTES_LIMIT = 1 << 22

DT_HASH, DT_SYMTAB, DT_STRSZ, DT_GNU_HASH, DT_VERSYM, DT_VERNEED, DT_VERNEEDNUM = (
    4, 6, 10, 0x6FFFFEF5, 0x6FFFFFF0, 0x6FFFFFFE, 0x6FFFFFFF)
_UNDEFINED, _GLOBAL, _HIDDEN = 0, 1, 0x8000


def asked_and_given(path: str, described: "Dict[str, Any]") -> "Dict[str, List[str]]":
    """Return {"asks": ["libnvJitLink.so.12 __nvJitLinkCreate_12_9"], "gives": [names]}, as far as either is.

    `described` is what `elf.read_elf` says of the file. Nothing for a library that is not compared and needs
    none that is, nor where the file cannot be read so far. Never raises.
    """
    needs = [name for name in described["needed"] if name.startswith(COMPARED)]
    is_compared = str(described["soname"] or "").startswith(COMPARED)
    if described["error"] or not (needs or is_compared):
        return {}
    try:
        with open(path, "rb") as stream:
            symbols = _symbols(stream)
    except Exception:  # noqa: BLE001 - a payload promises an answer whatever the file holds
        return {}
    answer = {}  # type: Dict[str, List[str]]
    asks = ["%s %s" % (file, name) for name, file, is_given in symbols if not is_given and file in needs]
    gives = [name for name, _, is_given in symbols if is_given]
    if asks:
        answer["asks"] = asks
    if is_compared and gives:
        answer["gives"] = gives
    return answer


def _symbols(stream: "BinaryIO") -> "List[Tuple[str, Optional[str], bool]]":
    """Return (name, the library that it is asked of, whether it is defined here) of the global symbols."""
    segments, dynamic = elf.segments_of(stream)
    if dynamic is None:
        return []
    tags = elf.dynamic_entries(stream, dynamic)
    if tags[DT_STRSZ] > STRINGS_BYTES_LIMIT:
        raise elf.Malformed("string table of %d bytes" % tags[DT_STRSZ])
    strings = elf.read_at(stream, elf.offset_of(segments, tags[elf.DT_STRTAB]), tags[DT_STRSZ])
    count = _count(stream, segments, tags)
    table = elf.read_at(stream, elf.offset_of(segments, tags[DT_SYMTAB]), 24 * count)
    numbers = elf.read_at(stream, elf.offset_of(segments, tags[DT_VERSYM]), 2 * count)
    versions = struct.unpack("<%dH" % count, numbers)
    files = _needed_versions(stream, segments, tags, strings)
    found = []
    for index in range(1, count):
        name, info, _, section = struct.unpack_from("<IBBH", table, 24 * index)
        if info >> 4 == _GLOBAL:  # a weak one may stay without a definition
            file = files.get(versions[index] & ~_HIDDEN)
            found.append((_text(strings, name), file, section != _UNDEFINED))
    return found


def _count(stream: "BinaryIO", segments: "List[elf.Segment]", tags: "Dict[int, int]") -> int:
    """Return how many symbols there are: the dynamic section does not say, but both hash tables do."""
    if DT_HASH in tags:
        _, count = struct.unpack("<2I", elf.read_at(stream, elf.offset_of(segments, tags[DT_HASH]), 8))
    else:
        count = _hashed(stream, elf.offset_of(segments, tags[DT_GNU_HASH]))
    if count > SYMBOLS_LIMIT:
        raise elf.Malformed("%d symbols" % count)
    return int(count)


def _hashed(stream: "BinaryIO", offset: int) -> int:
    """Return the number behind the last symbol of a GNU hash table: where the last bucket's chain ends."""
    buckets, first, bloom, _ = struct.unpack("<4I", elf.read_at(stream, offset, 16))
    if buckets > SYMBOLS_LIMIT or bloom > SYMBOLS_LIMIT:
        raise elf.Malformed("hash table of %d buckets" % buckets)
    start = offset + 16 + 8 * bloom
    last = max(struct.unpack("<%dI" % buckets, elf.read_at(stream, start, 4 * buckets)), default=0)
    if last < first:
        return int(first)
    stream.seek(start + 4 * buckets + 4 * (last - first))
    chain = stream.read(4 * SYMBOLS_LIMIT)
    for position in range(0, len(chain) - 3, 4):
        if chain[position] & 1:
            return int(last) + position // 4 + 1
    raise elf.Malformed("hash table without an end")


def _needed_versions(
    stream: "BinaryIO", segments: "List[elf.Segment]", tags: "Dict[int, int]", strings: bytes
) -> "Dict[int, str]":
    """Return the number of each version that is asked for, and the library it is asked of."""
    files = {}  # type: Dict[int, str]
    if DT_VERNEED not in tags:
        return files
    offset = elf.offset_of(segments, tags[DT_VERNEED])
    for _ in range(min(tags.get(DT_VERNEEDNUM, 0), elf.NEEDED_LIMIT)):
        _, entries, file, first, further = struct.unpack("<HHIII", elf.read_at(stream, offset, 16))
        position = offset + first
        for _ in range(entries):
            _, _, number, _, after = struct.unpack("<IHHII", elf.read_at(stream, position, 16))
            files[number] = _text(strings, file)
            if not after or len(files) > elf.NEEDED_LIMIT:
                break
            position += after
        if not further:
            break
        offset += further
    return files


def _text(strings: bytes, offset: int) -> str:
    return strings[offset:strings.find(b"\0", offset)].decode("utf-8", "replace")
