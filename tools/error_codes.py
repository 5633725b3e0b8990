"""The tables of return codes, read from the headers inside NVIDIA's published wheels.

Number, name, what a header says of a code's age and the releases that have it are read; what a code means is
said in our words in error_meanings.toml, once for each name; a code without a line there has no meaning yet.
"""

import re
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packaging.version import Version

from tools.table_file import Row, Table
from tools.wheel_cache import WheelCache
from tools.wheel_index import CONNECTIONS, WheelFile, WheelIndex, preference, read_text

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

MEANINGS = Path(__file__).with_name("error_meanings.toml")
# Raised when the way to read a header changes: all are then read anew.
READ = "error-codes-1"


@dataclass(frozen=True, kw_only=True)
class Codes:
    """One library's return codes: the wheels that have its header, and how the enumeration there begins."""

    name: str
    library: str
    distributions: tuple[str, ...]
    headers: tuple[str, ...]
    success: str
    version: str = "package_version"
    by_major: bool = False
    informative: bool = True

    def numbering(self, major: int) -> dict[str, Any]:
        """Return the column that says whose numbers a row has, where each major release has its own."""
        return {f"{self.library.lower()}_major": major} if self.by_major else {}

    @property
    def table(self) -> Table:
        """Return the head of the table."""
        major = dict.fromkeys(self.numbering(0), "integer")
        return Table(
            summary=f"Return codes of {self.library}, and what they mean. The header of each release from "
            "`since` to `until` that was published as a wheel has the code; without `until` the newest has "
            "it, too. `deprecated` is what the header says of that.",
            key=(*major, "code"),
            columns={
                **major, "code": "integer", "name": "text", "aliases": "texts", "meaning": "text",
                "deprecated": "text", "since": self.version, "until": self.version, "member": "text",
                "wheel_sha256": "text",
            },
            generated_by="tools/update_tables.py",
            origin="the headers in published wheels and tools/error_meanings.toml",
            informative=self.informative,
        )


_RUNTIME = ("nvidia-cuda-runtime-cu11", "nvidia-cuda-runtime-cu12", "nvidia-cuda-runtime")
ALL = (
    Codes(name="cuda_errors", library="the CUDA driver API", distributions=_RUNTIME, headers=("cuda.h",),
          success="CUDA_SUCCESS", version="cuda_version", informative=False),
    Codes(name="cuda_runtime_errors", library="the CUDA runtime", distributions=_RUNTIME,
          headers=("driver_types.h",), success="cudaSuccess", version="cuda_version", informative=False),
    Codes(name="nvml_errors", library="NVML", headers=("nvml.h",), success="NVML_SUCCESS",
          distributions=("nvidia-nvml-dev-cu11", "nvidia-nvml-dev-cu12", "nvidia-nvml-dev"),
          version="cuda_version"),
    Codes(name="cublas_errors", library="cuBLAS", headers=("cublas_api.h",), success="CUBLAS_STATUS_SUCCESS",
          distributions=("nvidia-cublas-cu11", "nvidia-cublas-cu12", "nvidia-cublas")),
    Codes(name="cufft_errors", library="cuFFT", headers=("cufft.h",), success="CUFFT_SUCCESS",
          distributions=("nvidia-cufft-cu11", "nvidia-cufft-cu12", "nvidia-cufft")),
    Codes(name="curand_errors", library="cuRAND", headers=("curand.h",), success="CURAND_STATUS_SUCCESS",
          distributions=("nvidia-curand-cu11", "nvidia-curand-cu12", "nvidia-curand")),
    Codes(name="cusolver_errors", library="cuSOLVER", headers=("cusolver_common.h",),
          success="CUSOLVER_STATUS_SUCCESS",
          distributions=("nvidia-cusolver-cu11", "nvidia-cusolver-cu12", "nvidia-cusolver")),
    Codes(name="cusparse_errors", library="cuSPARSE", headers=("cusparse.h",),
          success="CUSPARSE_STATUS_SUCCESS",
          distributions=("nvidia-cusparse-cu11", "nvidia-cusparse-cu12", "nvidia-cusparse")),
    Codes(name="nvrtc_errors", library="NVRTC", headers=("nvrtc.h",), success="NVRTC_SUCCESS",
          distributions=("nvidia-cuda-nvrtc-cu11", "nvidia-cuda-nvrtc-cu12", "nvidia-cuda-nvrtc"),
          version="cuda_version"),
    Codes(name="cudnn_errors", library="cuDNN", headers=("cudnn_ops_infer.h", "cudnn_graph.h"),
          success="CUDNN_STATUS_SUCCESS", by_major=True,
          distributions=("nvidia-cudnn-cu11", "nvidia-cudnn-cu12", "nvidia-cudnn-cu13")),
    Codes(name="nccl_errors", library="NCCL", headers=("nccl.h",), success="ncclSuccess",
          distributions=("nvidia-nccl-cu11", "nvidia-nccl-cu12", "nvidia-nccl-cu13")),
)
_PART = re.compile(r"""(?P<comment>/\*.*?\*/|//[^\n]*)
                     | (?P<name>[A-Za-z]\w*)(?P<macro>(?:\s+[A-Z][A-Z_]+)*)\s*=\s*(?P<value>-?\w+)""",
                   re.VERBOSE | re.DOTALL)
_BEHIND = ("//!<", "///<", "/**<")  # a comment on what stands before it
_DEPRECATED = re.compile(r"(?:[\\@]deprecated|\bDeprecated:)\s*(?P<said>.+?)(?:\.?\s*$|\.\s)", re.DOTALL)
_COUNTS = re.compile(r"Num[A-Z]\w*s\Z")  # ncclNumResults: how many there are is no result


def codes_in(header: str, success: str) -> list[dict[str, Any]]:
    """Return the codes of the enumeration that begins with `success`: name, code, deprecated."""
    body = re.search(rf"\{{((?:[^{{}}])*\b{success}\s*=\s*0(?:x0)?\b[^{{}}]*)\}}", header)
    if body is None:
        raise ValueError(f"no enumeration begins with {success} = 0")
    found: dict[str, dict[str, Any]] = {}
    ahead, last = "", ""
    for part in _PART.finditer(body[1]):
        if comment := part["comment"]:
            if not comment.startswith(_BEHIND):
                ahead = comment
            elif last and (said := _deprecated(comment)):
                found[last]["deprecated"] = said
            continue
        last, value = part["name"], part["value"]
        code = found[value]["code"] if value in found else int(value, 0)
        found[last] = {"name": last, "code": code, "deprecated": _deprecated(ahead), "alias": value in found}
        ahead = ""
    return [one for name, one in found.items() if not _COUNTS.search(name)]


def _deprecated(comment: str) -> str | None:
    words = " ".join(re.sub(r"^\s*(?:/\*+<?|\*+/?|//!?<?)|\*/\s*$", "", line).strip()
                     for line in comment.splitlines())
    said = _DEPRECATED.search(words)
    return None if said is None else said["said"]


def code_tables(index: WheelIndex, cache: WheelCache) -> dict[str, tuple[Table, list[Row]]]:
    """Return every table of codes by its name; the runtime's codes mean what the driver's of a number do."""
    meanings = read_meanings()
    tables = {codes.name: (codes.table, code_rows(codes, index, cache, meanings.get(codes.name, {})))
              for codes in ALL}
    driver = {row["code"]: row["meaning"] for row in tables["cuda_errors"][1]}
    for row in tables["cuda_runtime_errors"][1]:
        row["meaning"] = row["meaning"] or driver.get(row["code"])
    return tables


def code_rows(
    codes: Codes, index: WheelIndex, cache: WheelCache, meanings: Mapping[str, str]
) -> list[Row]:
    """Return a row for each code that some header has, named and described as in the newest of them."""
    wheels = _newest_patches(codes, index)
    with ThreadPoolExecutor(CONNECTIONS) as pool:
        headers = list(pool.map(lambda wheel: _read(codes, index, cache, wheel), wheels.values()))
    rows: dict[tuple[int, int], Row] = {}
    names: dict[tuple[int, int], set[str]] = {}
    newest: dict[int, tuple[int, int]] = {}
    for (release, wheel), header in zip(wheels.items(), headers, strict=True):
        numbering = release[0] if codes.by_major else 0
        newest[numbering] = release
        for one in header["codes"]:
            key = numbering, one["code"]
            names.setdefault(key, set()).add(one["name"])
            if not one["alias"]:
                rows[key] = {
                    "code": one["code"], "name": one["name"], "meaning": meanings.get(one["name"]),
                    "deprecated": one["deprecated"], "since": rows.get(key, {}).get("since", release),
                    "until": release, "member": header["member"], "wheel_sha256": wheel.sha256,
                    "source": f"pypi:{wheel.project}=={wheel.version}",
                }
    return [
        (codes.numbering(key[0]) | rows[key]) | {
            "aliases": sorted(names[key] - {rows[key]["name"]}) or None,
            "since": _release(rows[key]["since"]),
            "until": None if rows[key]["until"] == newest[key[0]] else _release(rows[key]["until"]),
        }
        for key in sorted(rows)
    ]


def _release(release: tuple[int, int]) -> str:
    return f"{release[0]}.{release[1]}"


def read_meanings() -> dict[str, dict[str, str]]:
    """Return what each code means, by table and name."""
    said: dict[str, dict[str, str]] = tomllib.loads(MEANINGS.read_text(encoding="utf-8"))
    return said


def _newest_patches(codes: Codes, index: WheelIndex) -> dict[tuple[int, int], WheelFile]:
    """Return the wheel of the newest patch of each minor release, in order; the later distribution counts."""
    found: dict[tuple[int, int], tuple[Version, WheelFile]] = {}
    for distribution in codes.distributions:
        for wheel in sorted(index.wheels(distribution), key=preference):
            version = Version(wheel.version)
            if wheel.platform not in ("linux_x86_64", "any") or version.is_prerelease or not version.major:
                continue
            release = (version.major, version.minor)
            if release not in found or found[release][0] <= version:
                found[release] = version, wheel
    return {release: found[release][1] for release in sorted(found)}


def _read(codes: Codes, index: WheelIndex, cache: WheelCache, wheel: WheelFile) -> Any:
    """Return the codes of the wheel's header, and which member that is."""

    def ask() -> Any:
        with index.open(wheel) as archive:
            member = next(name for name in archive.namelist() if name.rpartition("/")[2] in codes.headers)
            return {"member": member, "codes": codes_in(read_text(archive, member), codes.success)}

    return cache.get(f"{READ}/{codes.name}", wheel.sha256, ask)
