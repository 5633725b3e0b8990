"""The tables of framework wheels: which distributions and releases each holds, and its columns."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from packaging.version import Version

from tools.table_file import Row, Table
from tools.wheel_index import WheelFile, WheelIndex, preference

TABLES_FOLDER = Path(__file__).resolve().parent.parent / "rules" / "tables"
COLUMNS = {
    "version": "package_version",
    "platform": "text",
    "build": "text",
    "tensorrt_build": "flag",
    "cuda": "cuda_version",
    "cuda_from": "text",
    "build_file": "text",
    "cudnn": "cudnn_version",
    "cudnn_from": "text",
    "declared": "texts",
    "declared_differs": "texts",
    "numpy": "text",
    "python": "texts",
    "glibc": "glibc_version",
    "uploaded": "text",
    "wheel_bytes": "integer",
    "delegates_to": "text",
    "requires": "texts",
    "requires_nvidia": "texts",
    "extras": "texts",
    "loader": "text",
    "loads": "texts",
    "loads_optional": "texts",
    "runpath": "texts",
    "rpath": "texts",
    "code_library": "text",
    "library_sha256": "texts",
    "measured_library_sha256": "text",
    "record_differs": "texts",
    "fat_binaries": "integer",
    "code": "records",
    "relocatable": "records",
    "wheel_sha256": "text",
    "measured_from": "text",
}
# What only a look into the libraries tells.
MEASURED = frozenset((
    "loader",
    "loads",
    "loads_optional",
    "runpath",
    "rpath",
    "code_library",
    "library_sha256",
    "measured_library_sha256",
    "record_differs",
    "fat_binaries",
    "code",
    "relocatable",
))
# In tables of many rows: a wheel is named well enough by its hash, an empty list says nothing.
COMPACT_LEAVES_OUT = (
    "build_file", "measured_from", "measured_library_sha256", "relocatable", "tensorrt_build", "loader",
)


@dataclass(frozen=True, kw_only=True)
class Project:
    """A table; its distributions, each with its oldest release that gets a row ("newest": only that one).

    Final releases get a row, and a newer pre-release. `extra` is the one that brings NVIDIA's libraries.
    """

    name: str
    summary: str
    distributions: Mapping[str, str]
    extra: str
    extras: re.Pattern[str] | None = None
    compact: bool = True
    informative: bool = False

    @property
    def table(self) -> Table:
        columns = dict(COLUMNS)
        if self.compact:
            left = {name: kind for name, kind in COLUMNS.items() if name not in COMPACT_LEAVES_OUT}
            columns = {"distribution": "text"} | left
        if self.extras is None:
            del columns["extras"]
        key = ("distribution", "version", "platform") if self.compact else ("version", "platform")
        return Table(summary=self.summary, key=key, columns=columns, informative=self.informative)

    @property
    def path(self) -> Path:
        return TABLES_FOLDER / f"{self.name}.toml"

    def fitted(self, row: Row) -> Row:
        """Return the row with the columns that this table has."""
        if not self.compact:
            return row
        known = self.table.columns
        distribution = row["source"].removeprefix("pypi:").partition("==")[0]
        return {"distribution": distribution} | {
            name: value
            for name, value in row.items()
            if (name in known or name == "source") and value not in (None, [])
        }


CUPY_SUFFIXES = (
    "80", "90", "91", "92", "100", "101", "102", "110", "111", "112", "113", "114", "115",
    "11x", "12x", "13x", "14x",
)
PROJECTS = (
    Project(
        name="tensorflow",
        summary="Wheels of tensorflow: a row for each version and platform, read from one wheel.",
        distributions={"tensorflow": "2.0"},
        extra="and-cuda",
        compact=False,
    ),
    Project(
        name="torch",
        summary="Wheels of torch: a row for each version and platform, read from one wheel; what it declares "
        "is what torch.cuda.get_arch_list() answers, a text in libtorch_python.so, which names the NumPy "
        "that it was compiled with, by its major version.",
        distributions={"torch": "1.8"},
        extra="",
        compact=False,
    ),
    Project(
        name="tensorflow_distributions",
        summary="Wheels of TensorFlow under its other names: a row for each version and platform; the build "
        "file is tensorflow/python/platform/build_info.py, before 2.2 in tensorflow_core.",
        distributions={
            "tensorflow-gpu": "2.0",
            "tensorflow-cpu": "2.1",
            "tensorflow-intel": "2.0",
            "tensorflow-macos": "2.0",
            "tensorflow-cpu-aws": "2.0",
            "tensorflow-aarch64": "2.0",
            "tensorflow-rocm": "2.0",
            "tensorflow-tpu": "2.0",
            "intel-tensorflow": "2.0",
            "intel-tensorflow-avx512": "2.0",
            "tf-nightly": "newest",
            "tf-nightly-cpu": "newest",
        },
        extra="and-cuda",
    ),
    Project(
        name="jax_distributions",
        summary="Wheels of jax, jaxlib and the CUDA plugins: a row for each version and platform.",
        distributions={
            "jax": "0.4",
            "jaxlib": "0.4",
            "jax-cuda11-plugin": "0.4",
            "jax-cuda11-pjrt": "0.4",
            "jax-cuda12-plugin": "0.4",
            "jax-cuda12-pjrt": "0.4",
            "jax-cuda13-plugin": "0.4",
            "jax-cuda13-pjrt": "0.4",
        },
        extra="with-cuda",
        extras=re.compile(r"cuda\d*|cuda\d+[-_]pip|tpu"),
    ),
    Project(
        name="paddle_distributions",
        summary="Wheels of paddlepaddle and paddlepaddle-gpu: a row for each version and platform; of the "
        "libraries that it opens by name those whose name stands whole in the code (loads_optional). "
        "The build file is paddle/version/__init__.py.",
        distributions={"paddlepaddle-gpu": "1.7", "paddlepaddle": "1.7"},
        extra="",
    ),
    Project(
        name="cupy_distributions",
        summary="Wheels of cupy-cuda*, from CuPy 4 on: a row for each version and platform; the build file "
        "is cupy/.data/_wheel.json.",
        distributions={f"cupy-cuda{suffix}": "4.0" for suffix in CUPY_SUFFIXES},
        extra="ctk",
    ),
)


@dataclass(frozen=True, kw_only=True)
class Release:
    """One row to be: the wheels of a version for a platform, and the one of them that is read."""

    chosen: WheelFile
    wheels: tuple[WheelFile, ...]


def releases(project: Project, index: WheelIndex) -> list[Release]:
    """Return the releases that get a row, by distribution, newest version last."""
    return [
        release
        for distribution, oldest in project.distributions.items()
        for release in releases_of(index.wheels(distribution), oldest)
    ]


def releases_of(wheels: Iterable[WheelFile], oldest: str) -> list[Release]:
    """Return the releases of one distribution that get a row, newest version last."""
    ordered = sorted(
        (wheel for wheel in wheels if wheel.platform != "any" or wheel.project == "jax"),
        key=lambda wheel: (Version(wheel.version), wheel.platform, _python_order(wheel), preference(wheel)),
    )
    if not ordered:
        return []
    final = [Version(wheel.version) for wheel in ordered if not Version(wheel.version).is_prerelease]
    newest = Version(ordered[-1].version)
    found = []
    for (version, _), group in groupby(ordered, key=lambda wheel: (Version(wheel.version), wheel.platform)):
        passing = version.is_prerelease and (version != newest or version < max(final, default=newest))
        too_old = version < (newest if oldest == "newest" else Version(oldest))
        if too_old or passing:
            continue
        members = tuple(group)
        found.append(Release(chosen=members[-1], wheels=members))
    return found


def _python_order(wheel: WheelFile) -> tuple[int, ...]:
    """Order wheels by Python, the newest last; those for free-threaded Python, which list none, come first.

    JAX's plugin is asked what it was built for: by a Python that is there.
    """
    own = wheel.project.startswith("jax-cuda") and "cp312" in wheel.pythons
    return (int(own), *(int(tag[2:].lstrip("p") or 0) for tag in wheel.pythons if tag[2:].isdecimal()))
