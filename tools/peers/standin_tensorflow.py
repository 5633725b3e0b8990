"""A stand-in for `import tensorflow`, laid over the metadata of a real release.

The version and the build come from the release's own files. Without NVIDIA's libraries in the environment it
lists no GPU, as the real one does; with them it lists what the machine's libcuda has.
"""

import ctypes
import importlib
from importlib import metadata
from operator import mul
from pathlib import Path
from types import SimpleNamespace
from typing import Any

__version__ = metadata.version("tensorflow")
_build: Any = importlib.import_module("tensorflow.python.platform.build_info")


def _devices(kind: str = "GPU") -> list[Any]:
    if kind != "GPU":
        return [SimpleNamespace(name="/physical_device:CPU:0", device_type="CPU")]
    libraries = Path(__file__).parent.parent / "nvidia"
    if not list(libraries.glob("*/lib/libcudart.so*")):
        return []
    try:
        library = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return []
    count = ctypes.c_int()
    if library.cuInit(0) or library.cuDeviceGetCount(ctypes.byref(count)):
        return []
    names = [f"/physical_device:GPU:{index}" for index in range(count.value)]
    return [SimpleNamespace(name=name, device_type="GPU") for name in names]


class _Matrix:
    """Rows of numbers, multiplied by the processor."""

    def __init__(self, rows: list[list[float]]) -> None:
        self.rows = rows

    def numpy(self) -> list[list[float]]:
        """Return the rows."""
        return self.rows


def constant(rows: list[list[float]]) -> _Matrix:
    """Make a matrix."""
    return _Matrix(rows)


def matmul(left: _Matrix, right: _Matrix) -> _Matrix:
    """Multiply."""
    columns = list(zip(*right.rows, strict=True))
    rows = [[sum(map(mul, row, column)) for column in columns] for row in left.rows]
    return _Matrix(rows)


config = SimpleNamespace(list_physical_devices=_devices)
test = SimpleNamespace(is_built_with_cuda=lambda: bool(_build.build_info.get("is_cuda_build")))
sysconfig = SimpleNamespace(get_build_info=lambda: dict(_build.build_info))
