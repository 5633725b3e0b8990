"""Find each framework's package folder, the distribution it came from, its build file and its libraries.

Python imports the first package folder on sys.path, so that one counts. It belongs to the distribution whose
record lists its build file; when several do, to the one whose file lies there. A distribution that only asks
for another one (tensorflow on aarch64 and Windows was such a shell) owns nothing.
"""

import glob
import os
import re
import sys

from . import build_info, collisions, distributions, libraries

TYPE_CHECKING = False  # importing typing takes longer than most collectors
if TYPE_CHECKING:
    from typing import Any, Dict, List, Optional, Tuple

    Distribution = Dict[str, Any]

BUILD_FILE_BYTES_LIMIT = 1 << 16

# names: distributions that may provide it, by their record; known: that do even if their record cannot tell.
# build: the file that says what it was built for. code: where device code may be, best first.
# loaders: its library that opens or needs the CUDA libraries; the first of these that is there.
# start: the library that `import` loads first, if not the loader; what it needs follows from it.
FRAMEWORKS: "Dict[str, Dict[str, Any]]" = {
    "tensorflow": {
        "names": re.compile(r"(?:^|-)tensorflow(?:-|$)|^tf-nightly(?:-|$)"),
        "known": re.compile(
            r"^(?:(?:intel-)?tensorflow|tf-nightly|tf-nightly-(?:cpu|gpu|intel|rocm|macos)|tensorflow-(?:cpu|gpu|intel"
            r"|cpu-aws|aarch64|macos|rocm|directml|rocm-enhanced|eigen|mkl|base))$"
        ),
        "package": "tensorflow",
        "build": (
            "tensorflow/python/platform/build_info.py",
            "tensorflow_core/python/platform/build_info.py",
        ),
        "code": (
            re.compile(
                r"^tensorflow(?:_core)?/(?:libtensorflow_(?:cc|framework)\.so(?:\.[0-9]+)*"
                r"|python/_pywrap_tensorflow_internal\.so)$"
            ),
        ),
        "loaders": (
            "tensorflow/libtensorflow_framework.so.2",
            "tensorflow/libtensorflow_framework.so.1",
            "tensorflow_core/libtensorflow_framework.so.2",
            "tensorflow_core/libtensorflow_framework.so.1",
        ),
    },
    "torch": {
        "names": re.compile(r"^(?:py)?torch(?:-|$)"),
        "known": re.compile(r"^(?:torch|pytorch|torch-nightly|torch-cpu|torch-gpu)$"),
        "package": "torch",
        "build": ("torch/version.py",),
        "code": (
            re.compile(r"^torch/lib/libtorch_cuda\w*\.so$"),
            re.compile(r"^torch/lib/libtorch_hip\w*\.so$"),
        ),
        "loaders": ("torch/lib/libtorch_cuda.so",),
        "start": "torch/lib/libtorch_python.so",
    },
    "jax": {
        "names": re.compile(r"^jax$"),
        "known": re.compile(r"^jax$"),
        "package": "jax",
        "build": ("jax/version.py",),
        "code": (
            re.compile(r"^jax_plugins/xla_cuda[0-9]*/xla_cuda_plugin\.so$"),
            re.compile(r"^jaxlib/xla_extension\.so$"),
        ),
        "loaders": ("jax_plugins/xla_cuda*/xla_cuda_plugin.so", "jaxlib/xla_extension.so"),
    },
    "paddle": {
        "names": re.compile(r"^paddlepaddle(?:-|$)"),
        "known": re.compile(r"^paddlepaddle(?:-gpu|-rocm)?$"),
        "package": "paddle",
        "build": ("paddle/version/__init__.py", "paddle/version.py"),
        "code": (re.compile(r"^paddle/(?:libs/libphi\w*|(?:base|fluid)/(?:libpaddle|core_\w+))\.so$"),),
        "loaders": ("paddle/base/libpaddle.so", "paddle/fluid/libpaddle.so", "paddle/fluid/core_avx.so"),
    },
}
JAX_FAMILY = re.compile(r"^(?:jaxlib|jax-(?:cuda|rocm)[0-9]*-(?:plugin|pjrt))$")


class Records:
    """The RECORD files that were read already."""

    def __init__(self) -> None:
        self._known: Dict[str, Optional[bytes]] = {}

    def of(self, distribution: "Distribution") -> "Optional[bytes]":
        """Return the raw RECORD of a distribution, None if it has none."""
        path = distribution["path"]
        if path not in self._known:
            self._known[path] = distributions.read_record(distribution)
        return self._known[path]


def examine(
    name: str, installed: "List[Distribution]", folders: "List[str]", records: Records
) -> "Optional[Dict[str, Any]]":
    """Describe the framework `name` in this environment, None if there is no sign of it."""
    layout = FRAMEWORKS[name]
    folder = _import_folder(layout["package"], folders)
    providers = _providers(layout, installed, records, folder)
    build = _build(layout, folder or (providers[0]["folder"] if providers else None))
    if not providers and (build is None or "values" not in build):
        return None
    chosen = _choose(providers, layout, records, folder)
    family = [d for d in installed if name == "jax" and JAX_FAMILY.match(d["name"])]
    start = os.path.join(folder or "", layout.get("start", ""))
    beside = _loader(layout, folder, family)
    loader = beside or _loader_elsewhere(layout, start)
    return {
        "name": name,
        "location": os.path.join(folder, layout["package"]) if folder else None,
        "folder": folder,
        "distribution": distributions.describe(chosen) if chosen else None,
        "others": [_brief(d) for d in providers if d is not chosen and d["folder"] == folder],
        "build": build,
        "code_libraries": _code_libraries(
            layout, [d for d in [chosen] if d] + _first_of_each(family), records
        ),
        "loader": loader,
        "needed": _needed(start, loader["path"], beside is None) if loader else [],
        "plugins": [_brief(d) for d in _first_of_each(family)],
    }


def _import_folder(package: str, folders: "List[str]") -> "Optional[str]":
    """Return the folder of sys.path from which `import package` would take it."""
    for folder in folders:
        if os.path.isfile(os.path.join(folder, package, "__init__.py")):
            return folder
    return None


def _providers(
    layout: "Dict[str, Any]", installed: "List[Distribution]", records: Records, folder: "Optional[str]"
) -> "List[Distribution]":
    """Return the distributions that the package in `folder` may come from; if gone, those that claim it."""
    named = [d for d in installed if layout["names"].search(d["name"])]
    owners = [d for d in named if _marker_entry(d, layout, records) is not None]
    beside = [d for d in owners if d["folder"] == folder]
    if beside:
        return beside
    # Without such a record (conda, Debian, editable installations) the name decides. A package that lies
    # before every distribution of its name on sys.path belongs to none of them.
    unclear = [d for d in named if d not in owners and layout["known"].match(d["name"])]
    if folder is None:
        return owners or unclear
    return [
        d
        for d in unclear
        if d["folder"] == folder or os.path.exists(os.path.join(d["path"], "direct_url.json"))
    ]


def _marker_entry(
    distribution: "Distribution", layout: "Dict[str, Any]", records: Records
) -> "Optional[Tuple[str, Any]]":
    """Return (member, entry) of the framework's build file in a distribution's record."""
    record = records.of(distribution)
    for member in layout["build"]:
        entry = distributions.record_entry(record, member)
        if entry is not None:
            return member, entry
    return None


def _choose(
    providers: "List[Distribution]", layout: "Dict[str, Any]", records: Records, folder: "Optional[str]"
) -> "Any":
    """Return the provider whose build file lies there (the last one installed), else the first, if any."""
    if len(providers) < 2 or folder is None:
        return providers[0] if providers else None
    for provider in providers:
        found = _marker_entry(provider, layout, records)
        if found is not None:
            digest = collisions.sha256_of(os.path.join(folder, found[0]), BUILD_FILE_BYTES_LIMIT)
            if digest is not None and digest == found[1]["sha256"]:
                return provider
    return providers[0]


def _brief(distribution: "Distribution") -> "Dict[str, Any]":
    return {key: distribution[key] for key in ("name", "version", "folder")}


def _first_of_each(found: "List[Distribution]") -> "List[Distribution]":
    """Keep the first distribution of each name: the one Python sees."""
    first: Dict[str, Distribution] = {}
    for distribution in found:
        first.setdefault(distribution["name"], distribution)
    return list(first.values())


def _build(layout: "Dict[str, Any]", folder: "Optional[str]") -> "Optional[Dict[str, Any]]":
    """Return what the build file says; of several places the first that is there, None without a folder."""
    answers = [build_info.read(os.path.join(folder, member)) for member in layout["build"]] if folder else []
    return next((a for a in answers if not a.get("missing")), answers[0] if answers else None)


def _code_libraries(
    layout: "Dict[str, Any]", owners: "List[Distribution]", records: Records
) -> "List[Dict[str, Any]]":
    """List the libraries that may hold device code, as RECORD does: path, sha256, size_bytes, folder."""
    listed = [
        dict(entry, path=member, folder=owner["folder"], owner=owner["name"])
        for owner in owners
        for member, entry in distributions.record_libraries(records.of(owner)).items()
    ]
    for pattern in layout["code"]:
        matching = [library for library in listed if pattern.match(library["path"])]
        if matching:
            return matching
    return []


def shipped_libraries(framework: "Dict[str, Any]", claims: "List[Dict[str, Any]]") -> "List[str]":
    """Return the paths of a framework's own libraries, without NVIDIA's that old wheels carried along."""
    names = [d["name"] for d in [framework.get("distribution")] if d] + [
        d["name"] for d in framework["plugins"]
    ]
    wanted = [os.path.join(library["folder"], library["path"]) for library in framework["code_libraries"]]
    if not wanted and framework.get("loader"):
        wanted = [framework["loader"]["path"]]  # conda: the library belongs to no distribution of Python's
    others = [
        claim["path"]
        for claim in claims
        if claim["owner"] in names
        and os.path.exists(claim["path"])
        and not libraries.is_from_nvidia(os.path.basename(claim["path"]))
    ]
    return list(dict.fromkeys(wanted + others))


def _loader(
    layout: "Dict[str, Any]", folder: "Optional[str]", family: "List[Distribution]"
) -> "Optional[Dict[str, Any]]":
    """Describe the loading library; JAX's plugins may lie in another folder than jax itself."""
    for pattern in layout["loaders"]:
        for place in ([folder] if folder else []) + [d["folder"] for d in family]:
            for path in sorted(glob.glob(os.path.join(glob.escape(place), pattern))):
                described = libraries.describe_loader(path)
                if described is not None:
                    return described
    return None


def _loader_elsewhere(layout: "Dict[str, Any]", start: str) -> "Optional[Dict[str, Any]]":
    """Describe a loading library apart from the package: conda-forge's torch has it in PREFIX/lib."""
    if "start" not in layout:
        return None
    first = libraries.describe_loader(start)
    folders = libraries.search_folders(first) if first else []
    for pattern in layout["loaders"]:
        for folder in (*folders, os.path.join(sys.prefix, "lib")):
            described = libraries.describe_loader(os.path.join(folder, os.path.basename(pattern)))
            if described is not None:
                return described
    return None


def _needed(start: str, loader: str, apart: bool) -> "List[str]":
    """Return what loading both brings with it: the loader is reached through `start` unless it lies apart."""
    begin = start if os.path.isfile(start) else loader
    if not apart:
        return libraries.needed_from(begin)
    needed = set(libraries.needed_from(loader, folder_is_its_own=False))
    if begin != loader:
        needed.update(libraries.needed_from(begin))
    return sorted(needed - {os.path.basename(loader)})
