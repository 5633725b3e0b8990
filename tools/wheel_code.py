"""Columns that are measured in a wheel's libraries: device code, what is loaded, and from where."""

import hashlib
import mmap
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
from tools import compiled_code, jax_versions, loader_trace
from tools.table_file import Row
from tools.wheel_index import LARGE_BUFFER_BYTES, WheelFile, WheelIndex

# The library of each framework that opens NVIDIA's; of CuPy's many the one with most device code.
LOADERS = (
    "libtensorflow_framework.so.2",
    "libtorch_cuda.so",
    "xla_cuda_plugin.so",
    "_versions.so",
    "libphi.so",
    "libpaddle.so",
    "core_avx.so",
    "thrust.so",
)
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
# Libraries opened by name, where the compiler left the name whole: it turns short ones into instructions.
OPENED_BY_NAME = re.compile(
    rb"lib(?:cu(?:da|dnn|blas|blasLt|fft|rand|solver|sparse|pti)|nccl|nvrtc|nvinfer)\.so(?:\.\d+)*\0"
)
# Of Paddle: its core a second time, for processors without AVX; libraries for the processor; other projects'
# libraries (warp-ctc, warp-rnnt), whose device code says nothing about Paddle's own.
SET_ASIDE = re.compile(
    r"core_noavx.*|_foo.*|lib(iomp5|mkl|dnnl|mkldnn|blas|lapack|gfortran|quadmath|warp).*"
    r"|(mkl|mkldnn|dnnl|openblas|warp).*\.dll"
)

# NVIDIA's libraries that CuPy before 9 carried along: nine tenths of the wheel, and none of CuPy's code.
CARRIED_BY_CUPY = re.compile(r"cupy/(_lib|\.data)/.*")


def observe(
    index: WheelIndex, wheel: WheelFile, libraries: dict[str, str | None], *, tensorrt: bool
) -> dict[str, Any]:
    """Read the `libraries` (member -> sha256 that RECORD lists) of a wheel and look into each.

    Returns each member's device code (`scans`), dynamic section (`dynamic`) and `sha256`, which in some torch
    wheels is not the one that RECORD lists, the names of libraries that its code holds (`named`), which CUDA
    compiled it (`compiled`) and which cuDNN is linked into it (`linked`), and what TensorFlow or JAX `opened`
    and said that it was built for (`built`).
    """
    kinds = ("scans", "dynamic", "sha256", "named", "compiled", "linked", "opened", "built")
    seen: dict[str, Any] = {kind: {} for kind in kinds}
    with (
        tempfile.TemporaryDirectory() as folder,
        index.open(wheel, buffer_bytes=LARGE_BUFFER_BYTES) as archive,
    ):
        # In the order of the file: what was fetched along with one member is the beginning of the next.
        for member in sorted(libraries, key=lambda name: archive.getinfo(name).header_offset):
            copy = Path(folder) / Path(member).name
            seen["sha256"][member] = _extract(archive, member, copy)
            seen["dynamic"][member] = read_elf(str(copy))
            seen["scans"][member] = scan_file(str(copy))
            seen["named"][member] = _names_in(copy)
            seen["compiled"][member] = compiled_code.compiled_with(copy)
            seen["linked"][member] = compiled_code.linked_cudnn(copy)
            if copy.name == LOADERS[0] and loader_trace.can_trace():
                loads, optional = loader_trace.libraries_opened(copy, tensorrt=tensorrt)
                seen["opened"] = {"loads": loads, "loads_optional": optional}
            if copy.name == jax_versions.MODULE and (python := jax_versions.interpreter(wheel)):
                seen["built"] = jax_versions.built_for(copy, python)
                seen["opened"] = {"loads": jax_versions.libraries_opened(copy, python)}
            copy.unlink()
    return seen


def worth_observing(libraries: dict[str, str | None]) -> dict[str, str | None]:
    """Leave out the large libraries that say nothing about the framework's own device code."""
    return {
        member: sha256
        for member, sha256 in libraries.items()
        if not (SET_ASIDE.fullmatch(Path(member).name) or CARRIED_BY_CUPY.fullmatch(member))
    }


def declared_difference(declared: list[str], code: list[dict[str, Any]]) -> list[str] | None:
    """Return how the cards that a wheel declares differ from those it has code for, None if not.

    The frequent signatures tell what a wheel was built for. Of several the one nearest to what is declared
    counts: the others are libraries that are linked in, such as cuDNN, which in torch 1.11 has a few fat
    binaries more than torch's own kernels. What only some have beyond what is declared is told with their
    number. sm_80 is machine code; TensorFlow's compute_90 is PTX, before 2.8 with machine code as well.
    """
    most = max((record["fat_binaries"] for record in code), default=0)
    main = [record for record in code if 2 * record["fat_binaries"] >= most]
    found = [_differences(declared, record) for record in main or [{"sass": [], "ptx": []}]]
    nearest = min(found, key=lambda differences: sum(map(len, differences.values())))
    said = [f"{what}: {' '.join(sorted(cards, key=_order))}" for what, cards in nearest.items() if cards]
    return said + _in_some(declared, code, told=nearest["there, not declared"]) or None


def _in_some(declared: list[str], code: list[dict[str, Any]], *, told: set[str]) -> list[str]:
    """Return what some fat binaries have beyond it: "there in 107 of 500, not declared: 5.0 6.0"."""
    counts: Counter[str] = Counter()
    as_ptx = {_dotted(name) for name in declared if not name.startswith("sm_")}
    for record in code:
        ptx = {name.partition("@")[0] for name in record["ptx"]} - as_ptx
        beyond = _differences(declared, record)["there, not declared"] | {f"PTX:{card}" for card in ptx}
        counts.update(dict.fromkeys(beyond - told, record["fat_binaries"]))
    total = sum(record["fat_binaries"] for record in code)
    return [
        f"there in {count} of {total}, not declared: "
        + " ".join(sorted((card for card, of_it in counts.items() if of_it == count), key=_order))
        for count in sorted(set(counts.values()), reverse=True)
    ]


def _differences(declared: list[str], record: dict[str, Any]) -> dict[str, set[str]]:
    sass, ptx = set(record["sass"]), {name.partition("@")[0] for name in record["ptx"]}
    wants_ptx = {_dotted(name) for name in declared if name.startswith("compute_")}
    wants_sass = {_dotted(name) for name in declared} - wants_ptx
    return {
        "declared, not there": (wants_sass - sass) | (wants_ptx - ptx),
        "there, not declared": sass - wants_sass - wants_ptx,
    }


def _dotted(name: str) -> str:
    found = re.fullmatch(r"(?:sm_|compute_)(\d+)(\d[af]?)", name)
    return f"{found[1]}.{found[2]}" if found else name


def _order(capability: str) -> tuple[list[int], str]:
    return [int(number) for number in re.findall(r"\d+", capability)], capability


def _names_in(library: Path) -> list[str]:
    with library.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        return sorted({name[:-1].decode() for name in OPENED_BY_NAME.findall(mapped)})


def measured_columns(observed: dict[str, Any], libraries: dict[str, str | None]) -> Row:
    """Return the columns that follow from what was observed in a wheel."""
    scans = {
        member: scan for member, scan in observed["scans"].items() if not BUNDLED.fullmatch(Path(member).name)
    }
    differing = sorted(member for member, sha256 in observed["sha256"].items() if sha256 != libraries[member])
    code = _code_columns(scans, libraries)
    return {
        **code,
        **loading_columns(observed, libraries),
        **_compiled_columns(observed, code.get("code_library")),
        **observed["built"],
        "record_differs": differing or None,
    }


def _compiled_columns(observed: dict[str, Any], code_library: str | None) -> Row:
    """Return the CUDA that compiled the framework's own device code, and the cuDNN that is linked in."""
    linked = next(filter(None, observed["linked"].values()), None)
    told = {"cuda": observed["compiled"].get(code_library), "cudnn": linked}
    return {column: value for what, version in told.items() if version
            for column, value in ((what, version), (f"{what}_from", "compiled code"))}


def _extract(archive: zipfile.ZipFile, member: str, copy: Path) -> str:
    """Write a member to a file and return its sha256 in hex."""
    digest = hashlib.sha256()
    with archive.open(member) as source, copy.open("wb") as target:
        while piece := source.read(1 << 20):
            digest.update(piece)
            target.write(piece)
    return digest.hexdigest()


def _code_columns(scans: dict[str, dict[str, Any]], libraries: dict[str, str | None]) -> Row:
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


def loading_columns(observed: dict[str, Any], libraries: Iterable[str]) -> Row:
    """Describe the library that does the loading; its search paths lose entries that only repeat others."""
    shipped = {Path(member).name for member in libraries}
    dynamic: dict[str, dict[str, Any]] = observed["dynamic"]
    # CuPy's modules carry Python's tag: thrust.cpython-312-x86_64-linux-gnu.so.
    by_name = {re.sub(r"\.cpython-[^.]+", "", Path(member).name): member for member in dynamic}
    loader = next((by_name[name] for name in LOADERS if name in by_name), None)
    if loader is None or dynamic[loader]["machine"] is None:
        return {}
    columns: Row = {"loader": loader}
    for name in ("runpath", "rpath"):
        if dynamic[loader][name] is not None:
            columns[name] = list(dict.fromkeys(dynamic[loader][name]))
    needed = {name: dynamic[member]["needed"] for name, member in by_name.items()}
    everything = {name for names in needed.values() for name in names}
    if IMPORT_START in by_name:
        at_import = set(_needed_from(IMPORT_START, needed))
        columns["loads"] = sorted(at_import - set(needed) - SYSTEM_LIBRARIES)
        columns["loads_optional"] = sorted(everything - at_import - set(needed) - SYSTEM_LIBRARIES)
    elif Path(loader).name not in LOADERS[:1]:
        named = {name for names in observed["named"].values() for name in names}
        columns["loads"] = sorted(everything - shipped - SYSTEM_LIBRARIES)
        columns["loads_optional"] = sorted(named - everything - shipped)
    opened: Row = observed["opened"]
    return columns | opened


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
