"""Find local files that Python would import instead of a framework or of a module that frameworks import.

A script's own folder (and for `python -m` and `python -c` the current one) comes before the package folders,
so a file `random.py` or `torch.py` lying there wins. A folder wins only if it has an `__init__.py`.
"""

import os

from . import files

TYPE_CHECKING = False  # importing typing takes longer than most collectors
if TYPE_CHECKING:
    from typing import Any, Dict, Iterable, List, Set

PACKAGES = ("tensorflow", "torch", "jax", "jaxlib", "keras", "paddle", "numpy", "scipy")
# What importing TensorFlow 2.21 and torch 2.13 loads of the standard library, beyond what a start loads.
STANDARD = frozenset(
    """
argparse array ast asyncio base64 binascii bisect bz2 calendar cmath cmd code codeop collections colorsys
concurrent contextlib contextvars copy copyreg csv ctypes dataclasses datetime decimal difflib dis email
enum fcntl fnmatch fractions functools getpass gettext glob grp gzip hashlib heapq hmac http importlib
inspect ipaddress json keyword linecache locale logging lzma math mimetypes mmap multiprocessing ntpath
numbers opcode operator pathlib pdb pickle pickletools pkgutil platform pprint queue quopri random re
reprlib runpy select selectors shlex shutil signal socket ssl string stringprep struct subprocess sysconfig
tarfile tempfile termios textwrap threading timeit token tokenize traceback types typing unicodedata
unittest urllib uuid warnings weakref xml zipfile zlib
""".split()
)
# A package folder with one of these is a build of the framework, wherever it lies.
BUILD_FILES = {
    "tensorflow": ("python/platform/build_info.py",),
    "torch": ("version.py",),
    "jax": ("version.py",),
    "jaxlib": ("version.py",),
    "paddle": ("version/__init__.py",),
}
NAMES_LIMIT = 20000
FOLDERS_LIMIT = 50


def find(folders: "Iterable[str]", standard_library: str) -> "List[Dict[str, Any]]":
    """List name and path of what lies in `folders` and hides a module; where pip installs, nothing hides."""
    found: List[Dict[str, Any]] = []
    seen: Set[str] = {os.path.realpath(standard_library)}
    for folder in list(folders)[:FOLDERS_LIMIT]:
        real = os.path.realpath(folder)
        if real not in seen:
            seen.add(real)
            found += _hiding(folder)
    return found


def _hiding(folder: str) -> "List[Dict[str, Any]]":
    names = files.list_folder(folder, NAMES_LIMIT, _is_telling).get("names", [])
    if any(name.endswith((".dist-info", ".egg-info")) for name in names):
        return []
    found = []
    for name in names:
        module, path = _module(name), os.path.join(folder, name)
        if (module in STANDARD or module in PACKAGES) and _wins(path, module):
            found.append({"name": module, "path": path})
    return found


def _module(name: str) -> str:
    return name[:-3] if name.endswith(".py") else name


def _is_telling(name: str) -> bool:
    """Return whether a name says something here: a working folder may hold a million pictures beside it."""
    module = _module(name)
    return name.endswith((".dist-info", ".egg-info")) or module in STANDARD or module in PACKAGES


def _wins(path: str, module: str) -> bool:
    if path.endswith(".py"):
        return os.path.isfile(path)
    if any(os.path.exists(os.path.join(path, name)) for name in BUILD_FILES.get(module, ())):
        return False
    return os.path.isfile(os.path.join(path, "__init__.py"))
