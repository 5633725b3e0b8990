"""Ask JAX's CUDA plugin what it was built for and which libraries it opens, by calling its own module.

The module `_versions` answers cuda_runtime_build_version() without a GPU and without CUDA; asked for the
version of a library it opens it, or looks for it. This runs code of the published wheel: Linux x86_64 only,
and with the Python that the module was compiled for.
"""

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from tools.loader_trace import CALL_LIMIT_SECONDS, LOOKED_FOR, WITHOUT_LOADER_CACHE, can_trace
from tools.table_file import Row
from tools.wheel_index import WheelFile

MODULE = "_versions.so"
LIBRARIES = ("cublas", "cuda_runtime", "cudnn", "cufft", "cupti", "cusolver", "cusparse")
IMPORT = """
import importlib.util, json, sys
found = importlib.util.spec_from_file_location("_versions", sys.argv[1])
module = importlib.util.module_from_spec(found)
found.loader.exec_module(module)
"""
ASK_BUILD = IMPORT + """
print(json.dumps({name: getattr(module, name)() for name in dir(module) if name.endswith("_build_version")}))
"""
ASK_LIBRARY = IMPORT + "getattr(module, sys.argv[2] + '_get_version')()"


def interpreter(wheel: WheelFile) -> str | None:
    """Return a Python of this machine that can import the wheel's modules, None without one."""
    if not can_trace() or wheel.platform != "linux_x86_64":
        return None
    versions = [f"{tag[2]}.{tag[3:]}" for tag in wheel.pythons if tag.startswith("cp")]
    found = (_real_interpreter(f"python{version}") for version in versions)
    return next((path for path in found if path), None)


def cannot_ask(wheel: WheelFile, members: Iterable[str]) -> str | None:
    """Return what is missing here to ask a wheel that would answer, None where nothing is."""
    answers = wheel.platform == "linux_x86_64" and any(Path(member).name == MODULE for member in members)
    if not answers or interpreter(wheel):
        return None
    return f"which needs Linux x86_64 and, on PATH, a Python that it is for ({', '.join(wheel.pythons)})"


@cache
def _real_interpreter(name: str) -> str | None:
    """Return where a Python lies; a version manager's stand-in only says so when it is run."""
    asked = "import sys; print(sys.executable)"
    path = shutil.which(name)
    if path is None:
        return None
    told = subprocess.run([path, "-I", "-c", asked], capture_output=True, text=True, check=False)
    return told.stdout.strip() if told.returncode == 0 else None


def built_for(module: Path, python: str) -> Row:
    """Return the CUDA and cuDNN that the plugin was compiled with: 12090 is 12.9, 91002 is 9.10.2."""
    said = _run(python, ASK_BUILD, str(module)).stdout
    versions = json.loads(said)
    cuda, cudnn = versions["cuda_runtime_build_version"], versions["cudnn_build_version"]
    thousands = 10_000 if cudnn >= 90_000 else 1_000
    cudnn_parts = (cudnn // thousands, cudnn % thousands // 100, cudnn % 100)
    return {
        "cuda": f"{cuda // 1000}.{cuda % 1000 // 10}",
        "cuda_from": "build functions",
        "cudnn": ".".join(str(part) for part in cudnn_parts),
        "cudnn_from": "build functions",
    }


def libraries_opened(module: Path, python: str) -> list[str]:
    """Return the names that the plugin looks for when it is asked for the versions of the libraries."""
    names: dict[str, None] = {}
    for library in LIBRARIES:
        with tempfile.TemporaryDirectory() as folder:
            trace = {"LD_DEBUG": "libs", "LD_DEBUG_OUTPUT": str(Path(folder) / "trace")}
            # Without the library it ends in an error, or is ended: what it looked for is what counts.
            _run(python, ASK_LIBRARY, str(module), library, environment=trace, check=False)
            for path in sorted(Path(folder).iterdir()):
                names |= dict.fromkeys(LOOKED_FOR.findall(path.read_text()))
    return [name for name in names if name.startswith(("libcu", "libnv"))]


def _run(
    python: str, code: str, *arguments: str, environment: dict[str, str] | None = None, check: bool = True
) -> subprocess.CompletedProcess[str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("LD_")}
    return subprocess.run(
        [*WITHOUT_LOADER_CACHE, os.path.realpath(python), "-I", "-c", code, *arguments],
        env=inherited | (environment or {}),
        check=check,
        capture_output=True,
        text=True,
        timeout=CALL_LIMIT_SECONDS,
    )
