"""Walk the fat binaries of a library: for which GPUs it holds machine code (SASS) and for which only PTX.

nvcc packs the device code of one source file into one fat binary, an entry for each architecture. For each
fat binary on its own the driver takes the entry that suits the card, so what counts is each one's set of
entries (its signature), not the sum over the library. Entries may be compressed; their headers never are.

    fat binary   u32 magic 0xBA55ED50, u16 version, u16 bytes of this header, u64 bytes of all entries
    entry        u16 kind (1 PTX, 2 SASS), u16 version, u32 bytes of this header, u64 bytes of the payload,
                 u32, u32, u16 minor and u16 major PTX ISA version, u32 architecture (90 is 9.0), u64,
                 u64 flags (bit 20: architecture-specific, sm_90a; bit 21: family-specific, sm_100f)

Code compiled for linking (nvcc -dc; NCCL inside TensorFlow) is kept in a section of its own, __nv_relfatbin.
What is loaded is the code linked from it, which is among the others.

The layout, the two flags among it, was found by compiling for known architectures with nvcc 13.0; cuobjdump
lists the same entries, but shows family-specific machine code without its letter.
"""

import mmap
import re
import struct

TYPE_CHECKING = False  # importing typing takes longer than most collectors
if TYPE_CHECKING:
    from typing import Any, Dict, FrozenSet, List, Optional, Set, Tuple, Union

    Signature = Tuple[FrozenSet[str], FrozenSet[str]]
    Buffer = Union[bytes, mmap.mmap]

MAGIC = b"\x50\xed\x55\xba"
_MAGIC = re.compile(re.escape(MAGIC))  # in a mapped file it is found in half the time that find() takes
HEADER = struct.Struct("<4sHHQ")
ENTRY = struct.Struct("<HHIQIIHHIQQ")
PTX, SASS = 1, 2
ARCHITECTURE_SPECIFIC = 1 << 20
FAMILY_SPECIFIC = 1 << 21
ENTRIES_LIMIT = 4096
SECTION = struct.Struct("<IIQQQQIIQQ")
RELOCATABLE_SECTION = b"__nv_relfatbin\0"
RELOCATABLE_SECTIONS_LIMIT = 256


def scan_file(path: str) -> "Dict[str, Any]":
    """Describe the device code in the file at `path`: what scan_buffer answers, and `error` (None or why).

    Never raises.
    """
    try:
        with open(path, "rb") as stream:
            if not stream.read(1):
                return dict(_answer({}, {}, 0), error="empty file")
            with mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
                return dict(scan_buffer(mapped), error=None)
    except OSError as problem:
        return dict(_answer({}, {}, 0), error=problem.strerror or str(problem))
    except Exception as problem:  # noqa: BLE001 - a payload promises an answer whatever the file holds
        return dict(_answer({}, {}, 0), error=f"{type(problem).__name__}: {problem}")


def scan_buffer(buffer: "Buffer") -> "Dict[str, Any]":
    """Count the fat binaries in `buffer` that are loaded (`fat_binaries`), and for each signature (`code`).

    A signature lists its architectures as compute capabilities: `sass` ["8.0", "9.0a"], `ptx` with the ISA
    version that a driver must know to compile it ["9.0@8.5"]. `relocatable` has those that were only kept for
    linking: their code is, linked, in one of the others. `unreadable` counts fat binaries whose entries make
    no sense.
    """
    loaded: Dict[Signature, int] = {}
    relocatable: Dict[Signature, int] = {}
    unreadable = 0
    kept_for_linking = _relocatable_ranges(buffer)
    start = _next(buffer, 0)
    while start >= 0:
        end = _end_of_fat_binary(buffer, start)
        signature = None if end is None else _signature(buffer, start + HEADER.size, end)
        if signature is not None:
            among = relocatable if any(low <= start < high for low, high in kept_for_linking) else loaded
            among[signature] = among.get(signature, 0) + 1
        elif end is not None:
            unreadable += 1
        # Without a signature these four bytes may be a constant in host code: a true start may follow.
        resume = start + len(MAGIC) if signature is None or end is None else end
        start = _next(buffer, resume)
    return _answer(loaded, relocatable, unreadable)


def _next(buffer: "Buffer", position: int) -> int:
    """Return where the magic number stands next, -1 for nowhere."""
    found = _MAGIC.search(buffer, position)
    return found.start() if found else -1


def _relocatable_ranges(buffer: "Buffer") -> "List[Tuple[int, int]]":
    """Return where code kept for linking stands; nothing for a file without section headers."""
    header = buffer[:64]
    if len(header) < 64 or header[:6] != b"\x7fELF\x02\x01":
        return []
    table = struct.unpack_from("<Q", header, 40)[0]
    entry_bytes, count, names_index = struct.unpack_from("<HHH", header, 58)
    headers = buffer[table : table + count * SECTION.size]
    if entry_bytes != SECTION.size or len(headers) != count * SECTION.size or names_index >= count:
        return []
    sections = list(SECTION.iter_unpack(headers))
    names = sections[names_index][4]
    wanted = len(RELOCATABLE_SECTION)
    found = [
        (section[4], section[4] + section[5])
        for section in sections
        if buffer[names + section[0] : names + section[0] + wanted] == RELOCATABLE_SECTION
    ]
    return found[:RELOCATABLE_SECTIONS_LIMIT]


def _end_of_fat_binary(buffer: "Buffer", start: int) -> "Optional[int]":
    """Return the offset just behind the fat binary at `start`, None if there is none."""
    if start + HEADER.size > len(buffer):
        return None
    _, version, header_bytes, entries_bytes = HEADER.unpack(buffer[start : start + HEADER.size])
    end = start + HEADER.size + entries_bytes
    if version != 1 or header_bytes != HEADER.size or entries_bytes == 0 or end > len(buffer):
        return None
    return int(end)


def _signature(buffer: "Buffer", position: int, end: int) -> "Optional[Signature]":
    """Return the architectures with SASS and with PTX of the entries that fill position..end exactly."""
    sass: Set[str] = set()
    ptx: Set[str] = set()
    for _ in range(ENTRIES_LIMIT):
        if position == end:
            return frozenset(sass), frozenset(ptx)
        if position + ENTRY.size > end:
            return None
        fields = ENTRY.unpack(buffer[position : position + ENTRY.size])
        kind, _, header_bytes, payload_bytes, _, _, isa_minor, isa_major, architecture, _, flags = fields
        position += header_bytes + payload_bytes
        if header_bytes < ENTRY.size or position > end:
            return None
        # Other kinds (8: code for the link-time optimizer) never run as they are.
        if kind == SASS:
            sass.add(_compute_capability(architecture, flags))
        elif kind == PTX:
            ptx.add(f"{_compute_capability(architecture, flags)}@{isa_major}.{isa_minor}")
    return None


def _compute_capability(architecture: int, flags: int) -> str:
    suffix = "a" if flags & ARCHITECTURE_SPECIFIC else "f" if flags & FAMILY_SPECIFIC else ""
    return f"{architecture // 10}.{architecture % 10}{suffix}"


def _answer(
    loaded: "Dict[Signature, int]", relocatable: "Dict[Signature, int]", unreadable: int
) -> "Dict[str, Any]":
    return {
        "fat_binaries": sum(loaded.values()),
        "code": _records(loaded),
        "relocatable": _records(relocatable),
        "unreadable": unreadable,
    }


def _records(counts: "Dict[Signature, int]") -> "List[Dict[str, Any]]":
    records: List[Dict[str, Any]] = [
        {"sass": sorted(sass, key=_sort_key), "ptx": sorted(ptx, key=_sort_key), "fat_binaries": count}
        for (sass, ptx), count in counts.items()
    ]
    return sorted(records, key=lambda record: (-record["fat_binaries"], record["sass"], record["ptx"]))


def _sort_key(text: str) -> "Tuple[float, str]":
    """Order "9.0" before "9.0a" before "10.0"; PTX ("9.0@8.5") by architecture, then ISA."""
    capability, _, _ = text.partition("@")
    major, minor = capability.rstrip("af").split(".")
    return int(major) * 10 + int(minor), text
