"""Look for CUDA toolkits on disk and read their versions from their own files; nvcc is never run."""

import glob
import os
import re

from . import files

TYPE_CHECKING = False  # importing typing takes longer than most collectors
if TYPE_CHECKING:
    from typing import Any, Dict, List, Tuple

PATTERNS = ("/usr/local/cuda*", "/opt/cuda*", "/usr/lib/cuda", "/usr/lib/nvidia-cuda-toolkit",
            "/opt/nvidia/hpc_sdk/Linux_*/*/cuda/[0-9]*")
VARIABLES = ("CUDA_HOME", "CUDA_PATH", "CUDA_ROOT")
FOLDERS_LIMIT = 100
CUDA_H = re.compile(r"^\s*#\s*define\s+CUDA_VERSION\s+([0-9]+)", re.MULTILINE)


def collect(request: "Dict[str, Any]") -> "Dict[str, Any]":
    """Answer with the folders that may be a toolkit, what their version files say, and nvcc on PATH."""
    nvcc = files.which("nvcc")
    places: List[Tuple[str, str]] = []
    for pattern in PATTERNS:
        places += [(path, "disk") for path in sorted(glob.glob(pattern))[:FOLDERS_LIMIT]]
    places += [(os.environ[name], name) for name in VARIABLES if os.environ.get(name)]
    if nvcc:
        places.append((os.path.dirname(os.path.dirname(os.path.realpath(nvcc))), "nvcc"))
    found: Dict[str, Dict[str, Any]] = {}
    for path, because in places:
        real_path = os.path.realpath(path)
        if real_path not in found and os.path.isdir(real_path):
            found[real_path] = _describe(path, real_path, because)
    return {"installs": list(found.values()), "nvcc": nvcc}


def _describe(path: str, real_path: str, because: str) -> "Dict[str, Any]":
    headers = [os.path.join(real_path, "include", "cuda.h")]
    targets = os.path.join(glob.escape(real_path), "targets", "*", "include", "cuda.h")
    headers += sorted(glob.glob(targets))[:8]
    if real_path.startswith("/usr/lib/"):  # Debian's own packages: the headers lie with the system's
        headers.append("/usr/include/cuda.h")
    return {
        "path": path,
        "real_path": real_path,
        "because": because,
        "listing_error": files.list_folder(real_path).get("error"),
        "version_json": files.read_text(os.path.join(real_path, "version.json")),
        "version_txt": files.read_text(os.path.join(real_path, "version.txt"), 4096),
        "cuda_h": _first_header(headers),
        "nvcc": os.path.exists(os.path.join(real_path, "bin", "nvcc")),
    }


def _first_header(paths: "List[str]") -> "Dict[str, Any]":
    answer: Dict[str, Any] = {"missing": True}
    for path in paths:
        text = files.read_text(path)
        if "text" in text:
            found = CUDA_H.search(text["text"])
            return {"path": path, "number": found.group(1) if found else None}
        if "error" in text:
            answer = dict(text, path=path)
    return answer
