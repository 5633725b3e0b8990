"""List the GPU libraries that lie in a Python environment, and where a framework's library looks for them."""

import os
import re

from . import elf, symbols

TYPE_CHECKING = False  # importing typing takes longer than most collectors
if TYPE_CHECKING:
    from typing import Any, Dict, Iterable, List, Optional, Set

FILES_LIMIT = 4000
FOLDERS_LIMIT = 2000
DEPTH_LIMIT = 6
# Folders of NVIDIA's packages that hold thousands of headers and never a library that a loader would open.
PRUNED = frozenset({"include", "cccl", "samples", "doc", "share", "src", "stubs", "__pycache__"})

GPU_LIBRARY = re.compile(
    r"^lib(?:cuda|cudart|cublas|cudnn|cufft|cufile|cuinj|cupti|curand|cusolver|cusparse|cutensor|accinj|npp|nccl"
    r"|nvidia-|nvrtc|nvJitLink|nvjitlink|nvinfer|nvonnxparser|nvparsers|nvblas|nvjpeg|nvfatbin|nvptxcompiler|nvvm"
    r"|nvperf|nvshmem|nvToolsExt|nvtx|OpenCL|mathdx|cudss|caffe2_nvrtc|c10_cuda|torch_cuda"
    r"|torch_nvshmem|tensorflow)[\w.+-]*\.so(?:\.[\w.]+)?$"
)
_OWN = re.compile(r"^lib(?:torch|c10|caffe2|tensorflow)")
_SHARED = re.compile(r"^lib[^/]*\.so(?:\.[\w.]+)?$")


def is_from_nvidia(name: str) -> bool:
    """Return whether a library of that name is one of NVIDIA's, rather than a framework's own."""
    return GPU_LIBRARY.match(name) is not None and _OWN.match(name) is None


def describe_loader(path: str) -> "Optional[Dict[str, Any]]":
    """Describe the library at `path` as the loader sees it, None if there is no such file."""
    if not os.path.exists(path):
        return None
    described = elf.read_elf(path)
    return {
        "path": path,
        "rpath": _distinct(described["rpath"]),
        "runpath": _distinct(described["runpath"]),
        "error": described["error"],
    }


def needed_from(path: str, folder_is_its_own: bool = True) -> "List[str]":
    """Return the GPU libraries that the one at `path` needs, itself or through others in its own folder.

    Those that lie in that folder are part of the framework; where others share it (PREFIX/lib of conda),
    NVIDIA's are named all the same.
    """
    folder = os.path.dirname(path)
    waiting, reached = [os.path.basename(path)], {os.path.basename(path): True}
    while waiting and len(reached) < FILES_LIMIT:
        for name in elf.read_elf(os.path.join(folder, waiting.pop()))["needed"]:
            if name not in reached and "/" not in name:
                shared = not folder_is_its_own and is_from_nvidia(name)
                reached[name] = not shared and os.path.exists(os.path.join(folder, name))
                waiting += [name] if reached[name] else []
    return sorted(name for name, is_own in reached.items() if not is_own and GPU_LIBRARY.match(name))


def _distinct(entries: "Optional[List[str]]") -> "Optional[List[str]]":
    """Drop repetitions, which change nothing: TensorFlow's search path has some folders many times over."""
    return None if entries is None else list(dict.fromkeys(entries))


def search_folders(loader: "Dict[str, Any]") -> "List[str]":
    """Return the existing folders that a library's RPATH and RUNPATH name."""
    origin = os.path.dirname(os.path.realpath(loader["path"]))
    found = []
    for entry in (loader["rpath"] or []) + (loader["runpath"] or []):
        expanded = entry.replace("${ORIGIN}", origin).replace("$ORIGIN", origin)
        folder = os.path.normpath(expanded)
        if expanded.startswith("/") and folder not in found and os.path.isdir(folder):
            found.append(folder)
    return found[:FOLDERS_LIMIT]


def nvidia_folders(package_folders: "Iterable[str]") -> "List[str]":
    """Return the folders with shared libraries below every `nvidia` package folder."""
    found: List[str] = []
    left = [(os.path.join(folder, "nvidia"), 0) for folder in package_folders]
    visited = 0
    while left and visited < FOLDERS_LIMIT:
        folder, depth = left.pop()
        visited += 1
        has_library = False
        for entry in _entries(folder):
            if _SHARED.match(entry.name):
                has_library = True
            elif depth < DEPTH_LIMIT and entry.name not in PRUNED and _is_folder(entry):
                left.append((entry.path, depth + 1))
        if has_library:
            found.append(folder)
    return sorted(found)


def _entries(folder: str) -> "List[os.DirEntry[str]]":
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []


def _is_folder(entry: "os.DirEntry[str]") -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False


def describe_files(nvidia: "Iterable[str]", others: "Iterable[str]") -> "List[Dict[str, Any]]":
    """Describe every shared library in the `nvidia` folders and the GPU libraries in `others`."""
    found: List[Dict[str, Any]] = []
    seen: Set[str] = set()
    for folders, pattern in ((nvidia, _SHARED), (others, GPU_LIBRARY)):
        for folder in folders:
            if folder in seen:
                continue
            seen.add(folder)
            for entry in sorted(_entries(folder), key=lambda e: e.name):
                if pattern.match(entry.name) and len(found) < FILES_LIMIT:
                    found.append(_describe_file(entry.path))
    return found


def _describe_file(path: str) -> "Dict[str, Any]":
    try:
        size = os.stat(path).st_size
    except OSError as problem:
        return {"path": path, "soname": None, "machine": None, "size_bytes": None, "error": problem.strerror}
    described = elf.read_elf(path)
    answer = {
        "path": path,
        "soname": described["soname"],
        "machine": described["machine"],
        "size_bytes": size,
        "error": described["error"],
    }
    answer.update(elf.needs(described, GPU_LIBRARY.match))
    answer.update(symbols.asked_and_given(path, described))
    return answer
