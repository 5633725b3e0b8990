"""Read /etc/ld.so.cache as the GNU loader does: the libraries that ldconfig found, in the order of winning.

Two formats exist: the present one ("glibc-ld.so.cache" "1.1"), alone or behind the old one ("ld.so-1.7.0"),
and the old one alone. Offsets and counts in the file are claims of a stranger; each is bounded.
"""

import struct

from . import files

TYPE_CHECKING = False  # importing typing takes longer than most collectors
if TYPE_CHECKING:
    from typing import Any, Dict, List, Optional, Tuple

PATH = "/etc/ld.so.cache"
LIMIT_BYTES = 64 << 20
ENTRIES_LIMIT = 200000
STRING_LIMIT_BYTES = 4096

OLD_MAGIC = b"ld.so-1.7.0"
NEW_MAGIC = b"glibc-ld.so.cache1.1"
OLD_HEADER_BYTES, OLD_ENTRY_BYTES = 16, 12
NEW_HEADER_BYTES, NEW_ENTRY_BYTES = 48, 24
ENDIAN_AT, ENDIAN_BIG = 28, 3

# What ldconfig writes into an entry's flags for a library that this machine's 64-bit loader accepts.
MACHINE_FLAGS = {"x86_64": 0x0303, "aarch64": 0x0A03, "ppc64le": 0x0503, "riscv64": 0x1003}
FLAGS_MASK = 0xFFFF


class Malformed(Exception):
    """The bytes are no cache that can be read; the message says why."""


def read_cache(path: str = PATH) -> "Dict[str, Any]":
    """Return {"path", "entries": [{"soname", "path", "flags"}]} in file order, or a `files` failure."""
    data, failure = files.read_bytes(path, LIMIT_BYTES)
    answer = {"path": path}  # type: Dict[str, Any]
    if data is None:
        answer.update(failure or {"error": "no answer"})
        return answer
    try:
        answer["entries"] = parse(data)
    except Malformed as problem:
        answer["error"] = str(problem)
    except Exception as problem:  # noqa: BLE001 - a payload promises an answer whatever the file holds
        answer["error"] = "%s: %s" % (type(problem).__name__, problem)
    return answer


def parse(data: bytes) -> "List[Dict[str, Any]]":
    """Return the cache's entries; raises Malformed."""
    if data.startswith(NEW_MAGIC):
        return _entries(data, 0, NEW_HEADER_BYTES, NEW_ENTRY_BYTES, 20, 0)
    if not data.startswith(OLD_MAGIC):
        raise Malformed("not a cache of the GNU loader")
    (count,) = _unpack("<I", data, 12)
    old_end = OLD_HEADER_BYTES + count * OLD_ENTRY_BYTES
    for start in (old_end, (old_end + 7) & ~7):
        if data.startswith(NEW_MAGIC, start):
            return _entries(data, start, NEW_HEADER_BYTES, NEW_ENTRY_BYTES, 20, start)
    return _entries(data, 0, OLD_HEADER_BYTES, OLD_ENTRY_BYTES, 12, old_end)


def for_machine(entries: "List[Dict[str, Any]]", machine: str) -> "List[Dict[str, Any]]":
    """Return the entries that the loader of `machine` takes; all of them for a machine not in the list."""
    wanted = MACHINE_FLAGS.get(machine)
    return [entry for entry in entries if wanted is None or entry["flags"] & FLAGS_MASK == wanted]


def _entries(
    data: bytes, start: int, header_bytes: int, entry_bytes: int, count_at: int, strings_at: int
) -> "List[Dict[str, Any]]":
    endian = data[start + ENDIAN_AT:start + ENDIAN_AT + 1]
    if header_bytes == NEW_HEADER_BYTES and endian == bytes([ENDIAN_BIG]):
        raise Malformed("a cache of a big-endian machine")
    (count,) = _unpack("<I", data, start + count_at)
    if count > ENTRIES_LIMIT:
        raise Malformed("%d entries" % count)
    entries = []
    for index in range(count):
        flags, key, value = _unpack("<III", data, start + header_bytes + index * entry_bytes)
        soname, path = _string(data, strings_at + key), _string(data, strings_at + value)
        if soname is None or path is None:
            raise Malformed("entry %d points outside the file" % index)
        entries.append({"soname": soname, "path": path, "flags": flags})
    return entries


def _unpack(layout: str, data: bytes, offset: int) -> "Tuple[Any, ...]":
    if offset < 0 or offset + struct.calcsize(layout) > len(data):
        raise Malformed("truncated at %d bytes" % len(data))
    return struct.unpack_from(layout, data, offset)


def _string(data: bytes, offset: int) -> "Optional[str]":
    end = data.find(b"\0", offset, offset + STRING_LIMIT_BYTES)
    return None if end < 0 else data[offset:end].decode("utf-8", "backslashreplace")
