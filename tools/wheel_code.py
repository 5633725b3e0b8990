"""Columns that are measured in a wheel's libraries: device code, what is loaded, and from where."""

import hashlib
import re
import tempfile
import zipfile
from collections import Counter
from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from typing import Any

from gpudoctor.payloads.elf import read_elf
from gpudoctor.payloads.fatbin import scan_file
from tools import loader_trace
from tools.table_file import Row
from tools.wheel_index import WheelFile, WheelIndex

LOADERS = ("libtensorflow_framework.so.2", "libtorch_cuda.so")
# Libraries of NVIDIA that old torch wheels carried along: their device code says nothing about torch's own.
BUNDLED = re.compile(
    r"(lib)?(cudart|cudnn|cublas|cufft|curand|cusolver|cusparse|cupti|nvrtc|nvToolsExt|nvJitLink|nccl)[-_.\dA-Z_a-z]*"
)
# What every manylinux wheel may expect of the system.
SYSTEM_LIBRARIES = frozenset(
    "libc.so.6 libm.so.6 libdl.so.2 librt.so.1 libpthread.so.0 libgcc_s.so.1 libstdc++.so.6 libutil.so.1 "
    "ld-linux-x86-64.so.2 ld-linux-aarch64.so.1 libz.so.1".split()
)
IMPORT_START = "libtorch_python.so"


def observe(
    index: WheelIndex, wheel: WheelFile, libraries: dict[str, str], *, tensorrt: bool
) -> dict[str, Any]:
    """Download a wheel and look into each of its `libraries` (member -> sha256 that RECORD lists).

    Returns each member's device code (`scans`), dynamic section (`dynamic`) and `sha256`, which in some torch
    wheels is not the one that RECORD lists, and what TensorFlow `opened`.
    """
    scans: dict[str, Any] = {}
    dynamic: dict[str, Any] = {}
    opened: Row = {}
    hashes = {}
    with tempfile.TemporaryDirectory() as folder:
        whole = Path(folder) / wheel.filename
        index.download(wheel, whole)
        with zipfile.ZipFile(whole) as archive:
            for member in libraries:
                copy = Path(folder) / Path(member).name
                hashes[member] = _extract(archive, member, copy)
                dynamic[member] = read_elf(str(copy))
                scans[member] = scan_file(str(copy))
                if copy.name == LOADERS[0] and loader_trace.can_trace():
                    loads, optional = loader_trace.libraries_opened(copy, tensorrt=tensorrt)
                    opened = {"loads": loads, "loads_optional": optional}
                copy.unlink()
    return {"scans": scans, "dynamic": dynamic, "sha256": hashes, "opened": opened}


def measured_columns(observed: dict[str, Any], libraries: dict[str, str]) -> Row:
    """Return the columns that follow from what was observed in a wheel."""
    scans = {
        member: scan for member, scan in observed["scans"].items() if not BUNDLED.fullmatch(Path(member).name)
    }
    differing = sorted(member for member, sha256 in observed["sha256"].items() if sha256 != libraries[member])
    return {
        **_code_columns(scans, libraries),
        **_loading_columns(observed["dynamic"]),
        **observed["opened"],
        "record_differs": differing or None,
    }


def _extract(archive: zipfile.ZipFile, member: str, copy: Path) -> str:
    """Write a member to a file and return its sha256 in hex."""
    digest = hashlib.sha256()
    with archive.open(member) as source, copy.open("wb") as target:
        while piece := source.read(1 << 20):
            digest.update(piece)
            target.write(piece)
    return digest.hexdigest()


def _code_columns(scans: dict[str, dict[str, Any]], libraries: dict[str, str]) -> Row:
    """Sum the signatures over the libraries and name the one with most device code."""
    for member, scan in scans.items():
        if scan["error"] or scan["unreadable"]:
            raise ValueError(f"{member}: {scan['error'] or 'unreadable fat binaries'}")
    code, relocatable = (_summed(scan[kind] for scan in scans.values()) for kind in ("code", "relocatable"))
    fat_binaries = sum(record["fat_binaries"] for record in code)
    columns: Row = {"fat_binaries": fat_binaries, "code": code, "relocatable": relocatable or None}
    if code:
        code_library = max(sorted(scans), key=lambda member: int(scans[member]["fat_binaries"]))
        columns |= {"code_library": code_library, "measured_library_sha256": libraries[code_library]}
    return columns


def _summed(lists: Iterable[list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Add up the counts of equal signatures, the most frequent first."""
    counts: Counter[tuple[tuple[str, ...], tuple[str, ...]]] = Counter()
    for record in chain.from_iterable(lists):
        counts[tuple(record["sass"]), tuple(record["ptx"])] += record["fat_binaries"]
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return [{"sass": list(sass), "ptx": list(ptx), "fat_binaries": count} for (sass, ptx), count in ordered]


def _loading_columns(dynamic: dict[str, dict[str, Any]]) -> Row:
    """Describe the library that does the loading; its search paths lose entries that only repeat others."""
    by_name = {Path(member).name: member for member in dynamic}
    loader = next((by_name[name] for name in LOADERS if name in by_name), None)
    if loader is None or dynamic[loader]["machine"] is None:
        return {}
    columns: Row = {"loader": loader}
    for name in ("runpath", "rpath"):
        if dynamic[loader][name] is not None:
            columns[name] = list(dict.fromkeys(dynamic[loader][name]))
    if IMPORT_START in by_name:
        needed = {name: dynamic[member]["needed"] for name, member in by_name.items()}
        at_import = set(_needed_from(IMPORT_START, needed))
        everything = {name for names in needed.values() for name in names}
        columns["loads"] = sorted(at_import - set(needed) - SYSTEM_LIBRARIES)
        columns["loads_optional"] = sorted(everything - at_import - set(needed) - SYSTEM_LIBRARIES)
    return columns


def _needed_from(start: str, needed: dict[str, list[str]]) -> Iterable[str]:
    """Return every library that is needed, directly or through another shipped one."""
    reached: set[str] = set()
    waiting = [start]
    while waiting:
        for name in needed.get(waiting.pop(), []):
            if name not in reached:
                reached.add(name)
                waiting.append(name)
    return reached
