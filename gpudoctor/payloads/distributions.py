"""Find the installed distributions of this interpreter and read what their own records say.

Names and versions come from folder names, which costs one listing for each entry of sys.path. Only the few
distributions that matter are opened. A RECORD may be megabytes long: it is searched, never split whole.
"""

import base64
import binascii
import os
import re

from . import files

TYPE_CHECKING = False  # importing typing takes longer than most collectors
if TYPE_CHECKING:
    from typing import Any, Dict, Iterable, List, Optional, Tuple

    Distribution = Dict[str, Any]  # name, version, folder, path
    Entry = Dict[str, Any]  # sha256 (hex or None), size_bytes (or None)

DISTRIBUTIONS_LIMIT = 1000000  # beyond it nothing is said of any: no list is ever cut short without a word
RECORD_BYTES_LIMIT = 16 << 20
METADATA_BYTES_LIMIT = 1 << 20
REQUIREMENTS_LIMIT = 500
LIBRARIES_LIMIT = 20000

_FOR_PYTHON = re.compile(r"py[0-9.]")
_LIBRARY = re.compile(r"\.so(?:\.[\w.]+)?$")


def normalize(name: str) -> str:
    """Return the name as the package index compares it; without re, for there may be thousands."""
    found = name.replace("_", "-").replace(".", "-")
    while "--" in found:
        found = found.replace("--", "-")
    return found.lower()


class TooMany(Exception):
    """More distributions than are read: whether a certain one is among them cannot be told."""


def find(folders: "Iterable[str]", limit: int = DISTRIBUTIONS_LIMIT) -> "List[Distribution]":
    """List the distributions in `folders`, in their order: of one name, the first is the one Python sees.

    Raises TooMany where there are more than `limit`.
    """
    found: List[Distribution] = []
    for folder in folders:
        before = os.path.join(folder, "")
        for name in files.list_folder(folder, limit + 1, _is_information).get("names", []):
            _add(found, folder, name, before + name)
        if len(found) > limit:
            raise TooMany("more than %d distributions on sys.path" % limit)
        if folder.endswith(".egg"):
            _add(found, folder, os.path.basename(folder), os.path.join(folder, "EGG-INFO"))
    return found


def _is_information(name: str) -> bool:
    return name.endswith((".dist-info", ".egg-info"))


def _add(found: "List[Distribution]", folder: str, name: str, path: str) -> None:
    words = name.rpartition(".")[0].split("-")  # NAME-VERSION.dist-info; of eggs, -py3.8 may follow
    if "" in words[:2] or (len(words) > 2 and not _FOR_PYTHON.match(words[2])):
        return
    found.append({
        "name": normalize(words[0]), "version": words[1] if len(words) > 1 else None,
        "folder": folder, "path": path,
    })


def describe(distribution: "Distribution") -> "Dict[str, Any]":
    """Return what METADATA, WHEEL and INSTALLER say, beside the distribution's name, version and place."""
    path = distribution["path"]
    metadata = _metadata_text(path)
    headers = _headers(metadata.get("text", ""))
    wheel = _headers(files.read_text(os.path.join(path, "WHEEL")).get("text", ""))
    installer = files.read_text(os.path.join(path, "INSTALLER"), 256)
    return {
        "name": distribution["name"],
        "version": _first(headers, "version") or distribution["version"],
        "folder": distribution["folder"],
        "path": path,
        "metadata": None if "text" in metadata else metadata.get("error", "missing"),
        "requires": headers.get("requires-dist", []),
        "requires_python": _first(headers, "requires-python"),
        "extras": headers.get("provides-extra", []),
        "tags": wheel.get("tag", []),
        "installer": installer.get("text", "").strip() or None,
        "requested": os.path.exists(os.path.join(path, "REQUESTED")),
        "direct_url": os.path.exists(os.path.join(path, "direct_url.json")),
    }


def requirements_of(distribution: "Distribution") -> "Tuple[List[str], Optional[str]]":
    """Return the lines in which a distribution's metadata requires others, and why they cannot be read."""
    metadata = _metadata_text(distribution["path"])
    return _headers(metadata.get("text", "")).get("requires-dist", []), metadata.get("error")


def _first(headers: "Dict[str, List[str]]", name: str) -> "Optional[str]":
    values = headers.get(name)
    return values[0] if values else None


def _metadata_text(path: str) -> "Dict[str, Any]":
    if os.path.isfile(path):  # an egg-info may be the file itself
        return dict(files.read_text(path, METADATA_BYTES_LIMIT))
    answer: Dict[str, Any] = {}
    for name in ("METADATA", "PKG-INFO"):
        answer = dict(files.read_text(os.path.join(path, name), METADATA_BYTES_LIMIT))
        if not answer.get("missing"):
            break
    return answer


def _headers(text: str) -> "Dict[str, List[str]]":
    """Parse the header lines up to the first empty one; names in lower case, continuation lines joined."""
    found: Dict[str, List[str]] = {}
    name = None
    for line in text.splitlines():
        if not line.strip():
            break
        if line[0] in " \t" and name is not None:
            found[name][-1] += " " + line.strip()
            continue
        name, separator, value = line.partition(":")
        name = name.strip().lower() if separator else None
        if name is not None and len(found.setdefault(name, [])) < REQUIREMENTS_LIMIT:
            found[name].append(value.strip())
    return found


def read_record(distribution: "Distribution") -> "Optional[bytes]":
    """Return the raw RECORD, None if there is none (egg-info, conda packages without one)."""
    path = os.path.join(distribution["path"], "RECORD")
    data: Optional[bytes] = files.read_bytes(path, RECORD_BYTES_LIMIT)[0]
    return data


def record_entry(record: "Optional[bytes]", member: str) -> "Optional[Entry]":
    """Return the entry of one file, None if it is not listed."""
    if record is None:
        return None
    wanted = member.encode("utf-8", "surrogateescape") + b","
    start = 0 if record.startswith(wanted) else record.find(b"\n" + wanted) + 1
    if start == 0 and not record.startswith(wanted):
        return None
    end = record.find(b"\n", start)
    parsed = _entry_of(record[start : end if end >= 0 else len(record)])
    return None if parsed is None else parsed[1]


def record_libraries(record: "Optional[bytes]") -> "Dict[str, Entry]":
    """Return the shared libraries that a RECORD lists: path as written, relative to the package folder."""
    found: Dict[str, Entry] = {}
    position = -1 if record is None else record.find(b".so")
    while record is not None and position >= 0 and len(found) < LIBRARIES_LIMIT:
        start = record.rfind(b"\n", 0, position) + 1
        end = record.find(b"\n", position)
        end = len(record) if end < 0 else end
        parsed = _entry_of(record[start:end])
        if parsed is not None and _LIBRARY.search(parsed[0]):
            found[parsed[0]] = parsed[1]
        position = record.find(b".so", end)
    return found


def _entry_of(line: bytes) -> "Optional[Tuple[str, Entry]]":
    """Parse `path,sha256=...,size`; lines with quoted paths (a comma in the name) hold no library of ours."""
    parts = line.decode("utf-8", "surrogateescape").strip().rsplit(",", 2)
    if len(parts) != 3 or not parts[0] or parts[0][0] == '"' or len(parts[0]) > 1000:
        return None
    size = int(parts[2]) if parts[2].isdecimal() and len(parts[2]) < 16 else None
    return parts[0], {"sha256": _hex_of(parts[1]), "size_bytes": size}


def _hex_of(digest: str) -> "Optional[str]":
    """Turn RECORD's urlsafe base64 without padding into hex."""
    algorithm, _, text = digest.partition("=")
    if algorithm != "sha256" or len(text) != 43:
        return None
    try:
        return binascii.hexlify(base64.urlsafe_b64decode(text.encode("ascii") + b"=")).decode("ascii")
    except (ValueError, UnicodeError):
        return None
