"""Say where the dynamic loader looks for GPU libraries and which of them lie there.

Its built-in folders are read out of the loader that this very process runs under, because distributions
compile in different ones (Debian: multiarch folders first; Red Hat: lib64 only; Nix: its own store; musl: a
list of its own).
"""

import functools
import os
import re
import stat
import sys

from . import elf, files, kernel, ldcache, symbols

TYPE_CHECKING = False  # importing typing takes longer than most collectors
if TYPE_CHECKING:
    from typing import Any, Dict, List, Optional

FILES_LIMIT = 4000
ENTRIES_LIMIT = 1000
LOADER_LIMIT_BYTES = 8 << 20
SAID_LIMIT_BYTES = 64 << 10

GPU_LIBRARY = re.compile(
    r"lib(cuda|cudnn|cublas|cufft|curand|cusolver|cusparse|cupti|cufile|cuinj|cutensor|cudss|cudla|cuobj"
    r"|nv(?!me)|nccl|npp).*\.so(\.[0-9.]+)?$"
)
_LOADER_NAME = re.compile(
    r"/(ld-linux[^/]*\.so\.[0-9]+|ld64\.so\.[0-9]+|ld-[0-9][0-9.]*\.so|ld-musl-([^/]+)\.so\.1)$")
_USUAL_LOADERS = (
    "/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1", "/lib64/ld64.so.2",
    "/lib/ld-musl-x86_64.so.1", "/lib/ld-musl-aarch64.so.1",
)
_FOLDER_RUN = re.compile(rb"(?:/[\x21-\x7e]*/\x00){1,8}")
_SEARCHED = re.compile(r"search path=(?:[^\t\n]*:)?/([^/:\s]+)\t+\(LD_LIBRARY_PATH\)")
_MUSL_FOLDERS = ["/lib", "/usr/local/lib", "/usr/lib"]
_TOKEN = re.compile(r"\$(?:\{(ORIGIN|LIB|PLATFORM)\}|(ORIGIN|LIB|PLATFORM)(?![A-Za-z0-9_]))")


def collect(request: "Dict[str, Any]") -> "Dict[str, Any]":
    """Answer with the cache, the built-in folders, LD_LIBRARY_PATH and the GPU libraries of all of these."""
    default = default_folders()
    cache = gpu_cache()
    value = os.environ.get("LD_LIBRARY_PATH")
    library_path = expand_library_path(value, default["folders"], program_of(request))
    folders = [entry["folder"] for entry in library_path or []] + default["folders"]
    left = [FILES_LIMIT]
    listed = [_describe_folder(folder, left) for folder in list(dict.fromkeys(folders))]
    seen = {record["path"] for folder in listed for record in folder.get("files", [])}
    cached = [entry["path"] for entry in cache.get("entries", []) if entry["path"] not in seen]
    return {
        "machine": kernel.name().machine,
        "loader": default["loader"],
        "default_folders": default["folders"],
        "default_error": default["error"],
        "cache": cache,
        "library_path": library_path,
        "folders": listed,
        "cached_files": [describe_file(path) for path in dict.fromkeys(cached)],
    }


@functools.lru_cache(maxsize=None)
def gpu_cache() -> "Dict[str, Any]":
    """Return the loader cache, cut down to GPU libraries of this machine's kind; do not change it."""
    cache = ldcache.read_cache()
    if "entries" in cache:
        fitting = ldcache.for_machine(cache["entries"], kernel.name().machine)
        cache["total"] = len(cache["entries"])
        cache["entries"] = [entry for entry in fitting if GPU_LIBRARY.match(entry["soname"])][:ENTRIES_LIMIT]
    return cache


@functools.lru_cache(maxsize=None)
def default_folders() -> "Dict[str, Any]":
    """Return {"loader", "folders", "error"}: this process's loader, what is built into it; do not change."""
    loader = _own_loader()
    if loader is None:
        return {"loader": None, "folders": [], "error": "no dynamic loader was found"}
    musl = _LOADER_NAME.search(loader)
    if musl and musl.group(2):
        return {"loader": loader, "folders": _musl_folders(musl.group(2)), "error": None}
    data, failure = files.read_bytes(loader, LOADER_LIMIT_BYTES)
    if data is None:
        return {"loader": loader, "folders": [], "error": str((failure or {}).get("error", "missing"))}
    folders = built_in_folders(data)
    error = None if folders else "its folders were not found in it"
    return {"loader": loader, "folders": folders, "error": error}


def built_in_folders(data: bytes) -> "List[str]":
    """Return the folders in the bytes of a GNU loader: a run of absolute paths, each ending with a slash."""
    runs = [run.decode("ascii").rstrip("\0").split("\0") for run in _FOLDER_RUN.findall(data)]
    runs = [run for run in runs if all(re.search(r"/lib(32|64|x32)?/", folder) for folder in run)]
    longest: List[str] = max(runs, key=len) if runs else []
    return [folder.rstrip("/") for folder in longest]


def _own_loader() -> "Optional[str]":
    maps = files.read_text("/proc/self/maps")
    for line in maps.get("text", "").splitlines():
        path = line[line.find("/"):] if "/" in line else ""
        if _LOADER_NAME.search(path):
            return str(path)
    return next((path for path in _USUAL_LOADERS if os.path.exists(path)), None)


def _musl_folders(machine: str) -> "List[str]":
    listed = files.read_text("/etc/ld-musl-%s.path" % machine)
    if "text" not in listed:
        return list(_MUSL_FOLDERS)
    return [folder for folder in re.split(r"[:\n]", listed["text"]) if folder]


def program_of(request: "Dict[str, Any]") -> str:
    """Return the program whose folder $ORIGIN stands for: the patient if the request names it, else ours."""
    named = request.get("executable")
    return named if isinstance(named, str) and named else sys.executable or "/"


def expand_library_path(
    value: "Optional[str]", default: "List[str]", program: str
) -> "Optional[List[Dict[str, str]]]":
    """Return LD_LIBRARY_PATH as [{"written", "folder"}] in order, None when it is not set.

    As the GNU loader has it: colons and semicolons part entries, an empty entry is the working folder, a
    wholly empty value is no entry; $ORIGIN is the folder of the program, $LIB the library folder's name,
    $PLATFORM the kind of processor, as this machine's loader has it.
    """
    if value is None:
        return None
    if value == "":
        return []
    tokens = {
        "ORIGIN": os.path.dirname(os.path.realpath(program)),
        "LIB": default[0].lstrip("/") if default else "lib64",
    }
    if "PLATFORM" in value:
        tokens["PLATFORM"] = _platform()
    answer = []
    for written in re.split("[:;]", value):
        folder = _TOKEN.sub(lambda found: tokens[found.group(1) or found.group(2)], written)
        whole = os.path.join(_working_folder(), folder).rstrip("/")  # ".." stays: it may lead through a link
        answer.append({"written": written, "folder": whole or "/"})
    return answer


def _platform() -> str:
    """Return what the loader puts for $PLATFORM: with some releases of glibc a kind of processor ("haswell").

    It is asked itself, by its search for what this interpreter needs; if it says nothing, the machine's name.
    """
    asked = {"LD_DEBUG": "libs", "LD_LIBRARY_PATH": "/$PLATFORM"}
    try:
        said = _said_by([_own_loader() or "/", "--list", os.path.realpath(sys.executable)], asked)
    except OSError:
        said = ""
    found = _SEARCHED.search(said)
    return found.group(1) if found else kernel.name().machine


def _said_by(argv: "List[str]", environment: "Dict[str, str]") -> str:
    """Return the first of what a program prints; not by subprocess: sys.path is the patient's by now."""
    reading, writing = os.pipe()
    process = os.fork()
    if process == 0:
        try:
            os.dup2(writing, 1)
            os.dup2(writing, 2)
            os.execve(argv[0], argv, environment)
        finally:
            os._exit(127)
    os.close(writing)
    with open(reading, "rb") as said:
        text = said.read(SAID_LIMIT_BYTES)
    os.waitpid(process, 0)
    return text.decode("utf-8", "replace")


def _working_folder() -> str:
    try:
        return os.getcwd()
    except OSError:
        return "/"  # the folder was deleted under us: no relative entry can lead anywhere


def _describe_folder(folder: str, left: "List[int]") -> "Dict[str, Any]":
    """List the GPU libraries of one folder; `left` holds how many files may still be described."""
    answer: Dict[str, Any] = {"path": folder}
    listing = files.list_folder(folder, wanted=GPU_LIBRARY.match)
    if "names" not in listing:
        answer.update(listing)
        answer["closed"] = not os.access(folder, os.X_OK)  # then the loader can open nothing in it either
        return answer
    names = listing["names"]
    answer["files"] = [describe_file(os.path.join(folder, name)) for name in names[:left[0]]]
    if len(names) > left[0]:
        answer["left_out"] = len(names) - left[0]
    left[0] -= len(answer["files"])
    return answer


def describe_file(path: str) -> "Dict[str, Any]":
    """Say what the loader would find at `path`: real path, size, machine, class and SONAME, or the error."""
    answer: Dict[str, Any] = {"path": path, "real_path": os.path.realpath(path)}
    try:
        status = os.stat(path)
    except OSError as error:
        answer["error"] = error.strerror or type(error).__name__
        return answer
    if not stat.S_ISREG(status.st_mode):
        answer["error"] = "not a regular file"
        return answer
    answer["size_bytes"] = status.st_size
    header = elf.read_elf(path)
    for name in ("machine", "elf_class", "soname", "error"):
        answer[name] = header[name]
    answer.update(elf.needs(header, GPU_LIBRARY.match))
    answer.update(symbols.asked_and_given(path, header))
    return answer
