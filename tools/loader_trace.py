"""Ask TensorFlow's own loader which CUDA libraries it opens, by calling it and watching the dynamic linker.

The names cannot be read out of the file: the compiler turns "cudart" and "12" into instructions. But the
function that opens them all is exported, needs no GPU and, without CUDA libraries on the machine, only looks
for them. This runs code of the published wheel: it works on Linux x86_64 only and belongs on a maintainer's
machine.
"""

import os
import platform
import re
import subprocess
import sys
import tempfile
from pathlib import Path

CALL_LIMIT_SECONDS = 120
# What this machine has installed is not to be found: a library that is there ends the search for others.
WITHOUT_LOADER_CACHE = ("/lib64/ld-linux-x86-64.so.2", "--inhibit-cache")
SYMBOLS = re.compile(rb"_ZN[0-9a-z_]{1,60}9DsoLoader\d+([A-Za-z]+)Ev(?=\x00)")
GPU_LIST = ("MaybeTryDlopenGPULibraries", "TryDlopenCUDALibraries")
NVML = "GetNvmlDsoHandle"
TENSORRT = "TryDlopenTensorRTLibraries"
LOOKED_FOR = re.compile(r"find library=(\S+)")
OPENED = re.compile(r"calling init: (\S+)")
CHILD = """
import ctypes, sys
loader = ctypes.CDLL(sys.argv[1])
for symbol in sys.argv[2:]:
    call = getattr(loader, symbol)
    call.restype = ctypes.c_void_p
    call(ctypes.create_string_buffer(4096))  # room for the status that C++ returns by address
"""


def can_trace() -> bool:
    """Tell whether this machine can run the wheels' Linux x86_64 code."""
    return sys.platform == "linux" and platform.machine() == "x86_64"


def libraries_opened(loader: Path, *, tensorrt: bool) -> tuple[list[str], list[str]]:
    """Return the names that listing GPUs opens, and those that TensorRT support opens, in order."""
    symbols = loader_symbols(loader)
    listing = next((symbols[name] for name in GPU_LIST if name in symbols), None)
    if listing is None:
        raise LookupError(f"{loader.name} exports none of {', '.join(GPU_LIST)}")
    calls = [listing, *([symbols[NVML]] if NVML in symbols else [])]
    opened = _trace(loader, calls)
    optional = _trace(loader, [symbols[TENSORRT]]) if tensorrt and TENSORRT in symbols else []
    return opened, [name for name in optional if name not in opened]


def loader_symbols(loader: Path) -> dict[str, str]:
    """Return the loader's functions without arguments: plain name -> symbol."""
    return {match[1].decode(): match[0].decode() for match in SYMBOLS.finditer(loader.read_bytes())}


def _trace(loader: Path, symbols: list[str]) -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("LD_")}
        environment |= {"LD_DEBUG": "libs", "LD_DEBUG_OUTPUT": str(Path(folder) / "trace")}
        subprocess.run(
            [*WITHOUT_LOADER_CACHE, os.path.realpath(sys.executable), "-c", CHILD, str(loader), *symbols],
            env=environment,
            check=True,
            capture_output=True,
            timeout=CALL_LIMIT_SECONDS,
        )
        trace = "".join(path.read_text() for path in sorted(Path(folder).iterdir()))
    names = [name for name in LOOKED_FOR.findall(trace) if name.startswith(("libcu", "libnv"))]
    names = list(dict.fromkeys(names))
    really_opened = {os.path.basename(path) for path in OPENED.findall(trace)} & set(names)
    if really_opened:
        # Their own dependencies would be counted as TensorFlow's.
        raise RuntimeError(
            f"this machine has {', '.join(sorted(really_opened))}: trace on one without CUDA libraries"
        )
    return names
