"""Look at Horovod's extension for each framework: whether it is there, and what was compiled into it.

Horovod is compiled where it is installed. `horovodrun --check-build` says how, but has to import it.
The names of the C++ classes that work on a GPU and through NCCL stand in the extension if they were compiled
into it, also when it is stripped, and when NCCL is linked statically, as it is by default.
"""

import glob
import mmap
import os

from . import elf

TYPE_CHECKING = False  # importing typing takes longer than most collectors
if TYPE_CHECKING:
    from typing import Any, Dict, List, Optional

EXTENSIONS = {"torch": "horovod/torch/mpi_lib_v2*.so", "tensorflow": "horovod/tensorflow/mpi_lib*.so"}
MARKS = {"gpu": b"12GPUAllreduce", "nccl": b"13NCCLAllreduce"}  # as C++ spells them: the length comes first
RUNTIME = "libcudart.so."


def examine(framework: str, folders: "List[str]") -> "Optional[Dict[str, Any]]":
    """Describe the extension for a framework; None where Horovod is not installed, or has none for such."""
    pattern = EXTENSIONS.get(framework)
    folder = next((f for f in folders if os.path.isfile(os.path.join(f, "horovod", "__init__.py"))), None)
    if pattern is None or folder is None:
        return None
    answer = {"folder": os.path.join(folder, "horovod"), "extensions": []}  # type: Dict[str, Any]
    for path in sorted(glob.glob(os.path.join(glob.escape(folder), pattern))):
        answer["extensions"].append(_describe(path))
    return answer


def _describe(path: str) -> "Dict[str, Any]":
    try:
        with open(path, "rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data:
            found = {name: data.find(mark) >= 0 for name, mark in MARKS.items()}  # type: Dict[str, Any]
    except (OSError, ValueError) as error:  # ValueError: an empty file
        return {"path": path, "error": "%s: %s" % (type(error).__name__, error)}
    needed = elf.read_elf(path)["needed"]
    return dict(found, path=path, runtimes=[name for name in needed if name.startswith(RUNTIME)])
