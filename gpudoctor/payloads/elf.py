"""Read what the dynamic loader reads of a 64-bit ELF file: its name, what it needs, where it looks for that.

Only headers are read, by seeking, so a library of a gigabyte costs a few kilobytes. Everything comes from
the program headers: section headers may have been stripped. Sizes and counts in the file are claims of a
stranger: each is bounded.
"""

import struct

TYPE_CHECKING = False  # importing typing takes longer than most collectors
if TYPE_CHECKING:
    from typing import Any, BinaryIO, Callable, Dict, List, Optional, Tuple

    Segment = Tuple[int, int, int]  # address, offset in the file, bytes in the file

MACHINES = {3: "x86", 40: "arm", 62: "x86_64", 183: "aarch64", 21: "ppc64le", 243: "riscv64"}
PROGRAM_HEADER_BYTES = 56
PROGRAM_HEADERS_LIMIT = 4096
DYNAMIC_BYTES_LIMIT = 1 << 18
NAME_BYTES_LIMIT = 1 << 12
SEARCH_PATH_BYTES_LIMIT = 1 << 22  # TensorFlow repeats itself over tens of kilobytes
NEEDED_LIMIT = 1024

PT_LOAD, PT_DYNAMIC = 1, 2
DT_NULL, DT_NEEDED, DT_STRTAB, DT_SONAME, DT_RPATH, DT_RUNPATH = 0, 1, 5, 14, 15, 29


class Malformed(Exception):
    """The file is no ELF file that can be read; the message says why."""


def read_elf(path: str) -> "Dict[str, Any]":
    """Describe the ELF file at `path`.

    `machine`, `elf_class` (32 or 64) and `soname` are None where unknown, `needed` is a list of names,
    `rpath` and `runpath` are lists of entries as they stand ($ORIGIN kept), None where there is no such tag.
    `error` is None, or says why the answer is incomplete. Never raises.
    """
    answer: Dict[str, Any] = {
        "machine": None,
        "elf_class": None,
        "soname": None,
        "needed": [],
        "rpath": None,
        "runpath": None,
        "error": None,
    }
    try:
        with open(path, "rb") as stream:
            _describe(stream, answer)
    except Malformed as problem:
        answer["error"] = str(problem)
    except OSError as problem:
        answer["error"] = problem.strerror or str(problem)
    except Exception as problem:  # noqa: BLE001 - a payload promises an answer whatever the file holds
        answer["error"] = f"{type(problem).__name__}: {problem}"
    return answer


def needs(described: "Dict[str, Any]", wanted: "Callable[[str], Any]") -> "Dict[str, List[str]]":
    """Return what a described file needs of the libraries that are `wanted`, and where it looks for them.

    Nothing where it needs none of them: then nobody asks where it looks.
    """
    needed = [name for name in described["needed"] if wanted(name)]
    if not needed:
        return {}
    return {"needed": needed, "rpath": described["rpath"] or [], "runpath": described["runpath"] or []}


def segments_of(stream: "BinaryIO") -> "Tuple[List[Segment], Optional[Tuple[int, int]]]":
    """Return the loaded segments and the place of the dynamic section of a file that `read_elf` reads."""
    return _segments(stream, read_at(stream, 0, 64))


def dynamic_entries(stream: "BinaryIO", dynamic: "Tuple[int, int]") -> "Dict[int, int]":
    """Return the dynamic section's values by their tags, of a repeated one the last."""
    return _dynamic(stream, dynamic)[1]


def _describe(stream: "BinaryIO", answer: "Dict[str, Any]") -> None:
    header = stream.read(64)
    if not header:
        raise Malformed("empty file")
    if header[:4] != b"\x7fELF":
        raise Malformed("not an ELF file")
    if len(header) < 20:
        raise Malformed("truncated ELF header")
    answer["elf_class"] = {1: 32, 2: 64}.get(header[4])
    if header[5] != 1:
        raise Malformed("not a little-endian ELF file")
    machine = struct.unpack_from("<H", header, 18)[0]
    answer["machine"] = MACHINES.get(machine, f"other ({machine})")
    if answer["elf_class"] != 64:
        raise Malformed("not a 64-bit ELF file")
    if len(header) < 64:
        raise Malformed("truncated ELF header")
    segments, dynamic = _segments(stream, header)
    if dynamic is not None:
        _read_dynamic(stream, segments, dynamic, answer)


def _segments(stream: "BinaryIO", header: bytes) -> "Tuple[List[Segment], Optional[Tuple[int, int]]]":
    """Return the loaded segments (address, offset, size in the file) and where the dynamic section stands."""
    table_offset = struct.unpack_from("<Q", header, 32)[0]
    entry_bytes, count = struct.unpack_from("<HH", header, 54)
    if count == 0:
        return [], None
    if entry_bytes != PROGRAM_HEADER_BYTES or count > PROGRAM_HEADERS_LIMIT:
        raise Malformed(f"unusable program headers ({count} of {entry_bytes} bytes)")
    table = read_at(stream, table_offset, entry_bytes * count)
    loaded, dynamic = [], None
    for index in range(count):
        kind, _, offset, address, _, size = struct.unpack_from("<IIQQQQ", table, index * entry_bytes)
        if kind == PT_LOAD:
            loaded.append((address, offset, size))
        elif kind == PT_DYNAMIC and dynamic is None:
            dynamic = (offset, size)
    return loaded, dynamic


def _read_dynamic(
    stream: "BinaryIO", segments: "List[Segment]", dynamic: "Tuple[int, int]", answer: "Dict[str, Any]"
) -> None:
    needed, last = _dynamic(stream, dynamic)
    if DT_STRTAB not in last:
        raise Malformed("dynamic section without a string table")
    if len(needed) > NEEDED_LIMIT:
        raise Malformed(f"{len(needed)} needed libraries")
    strings = offset_of(segments, last[DT_STRTAB])
    if DT_SONAME in last:
        answer["soname"] = _string_at(stream, strings + last[DT_SONAME], NAME_BYTES_LIMIT)
    for value in needed:
        answer["needed"].append(_string_at(stream, strings + value, NAME_BYTES_LIMIT))
    for name, tag in (("rpath", DT_RPATH), ("runpath", DT_RUNPATH)):
        if tag in last:
            answer[name] = _string_at(stream, strings + last[tag], SEARCH_PATH_BYTES_LIMIT).split(":")


def _dynamic(stream: "BinaryIO", dynamic: "Tuple[int, int]") -> "Tuple[List[int], Dict[int, int]]":
    """Return the needed names' places in the string table, and the other entries by tag."""
    offset, size = dynamic
    if size > DYNAMIC_BYTES_LIMIT:
        raise Malformed(f"dynamic section of {size} bytes")
    table = read_at(stream, offset, size - size % 16)
    needed: List[int] = []
    last: Dict[int, int] = {}
    for position in range(0, len(table), 16):
        tag, value = struct.unpack_from("<QQ", table, position)
        if tag == DT_NULL:
            break
        if tag == DT_NEEDED:
            needed.append(value)
        else:
            last[tag] = value  # as glibc: of a repeated tag the last one counts
    return needed, last


def offset_of(segments: "List[Segment]", address: int) -> int:
    """Return the offset in the file of an address in memory."""
    for start, offset, size in segments:
        if start <= address < start + size:
            return address - start + offset
    raise Malformed(f"address {address:#x} lies in no segment")


def read_at(stream: "BinaryIO", offset: int, size: int) -> bytes:
    """Return exactly so many bytes, or raise `Malformed`."""
    if offset >= 1 << 63:
        raise Malformed(f"offset {offset:#x} is beyond every file")
    stream.seek(offset)
    data = stream.read(size)
    if len(data) != size:
        raise Malformed(f"truncated: {len(data)} of {size} bytes at offset {offset}")
    return data


def _string_at(stream: "BinaryIO", offset: int, limit: int) -> str:
    if offset >= 1 << 63:
        raise Malformed(f"offset {offset:#x} is beyond every file")
    stream.seek(offset)
    pieces: List[bytes] = []
    for _ in range(0, limit, 4096):
        piece, end, _ = stream.read(4096).partition(b"\0")
        pieces.append(piece)
        if end:
            return b"".join(pieces).decode("utf-8", "surrogateescape")
        if not piece:
            break
    raise Malformed(f"the string at offset {offset} has no end")
