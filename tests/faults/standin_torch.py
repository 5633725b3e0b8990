"""A stand-in for PyTorch that computes in plain Python, on the CPU: for the faults of running a framework.

It stands in site-packages as torch/__init__.py. What the stages of gpudoctor ask for is here, and no more.
"""

from __future__ import annotations

import math
import struct
import sys
import types
from typing import Any

__version__ = "2.10.0+cpu"
float32, float16 = "float32", "float16"


class Tensor:
    """Nested lists, and what they are said to hold."""

    def __init__(self, values: Any, dtype: str = float32) -> None:
        self.values, self.dtype, self.device = rounded(values, dtype), dtype, "cpu"

    def to(self, where: str) -> Tensor:
        """Return it on a device, or in a precision."""
        return Tensor(self.values, self.dtype if where == "cpu" else where)

    def tolist(self) -> Any:
        """Return the nested lists."""
        return self.values

    def data_ptr(self) -> int:
        """Return where it lies."""
        return id(self.values)


def rounded(values: Any, dtype: str) -> Any:
    """Return nested lists of what the precision can hold."""
    if isinstance(values, list):
        return [rounded(value, dtype) for value in values]
    form = "e" if dtype == float16 else "f"
    return struct.unpack(form, struct.pack(form, values))[0]


def tensor(values: Any, dtype: str = float32, device: str = "cpu") -> Tensor:  # noqa: ARG001
    """Make a tensor; there is one device."""
    return Tensor(values, dtype)


def device(name: str) -> str:  # noqa: ARG001
    """Return the only device."""
    return "cpu"


def matmul(left: Tensor, right: Tensor) -> Tensor:
    """Multiply two matrices."""
    columns = list(zip(*right.values, strict=True))
    product = [[sum(a * b for a, b in zip(row, column, strict=True)) for column in columns]
               for row in left.values]
    return Tensor(product, left.dtype)


def conv2d(images: Tensor, windows: Tensor) -> Tensor:
    """Slide windows over one image, channels first, without padding."""
    image, side = images.values[0], len(windows.values[0][0])
    places = range(len(image[0]) - side + 1)

    def at(window: Any, top: int, left: int) -> float:
        return math.fsum(
            window[channel][row][column] * image[channel][top + row][left + column]
            for channel in range(len(image)) for row in range(side) for column in range(side))

    return Tensor([[[[at(window, top, left) for left in places] for top in places]
                    for window in windows.values]])


cuda = types.SimpleNamespace(device_count=lambda: 0, is_available=lambda: False)
backends = types.SimpleNamespace()
nn = types.SimpleNamespace(functional=sys.modules[__name__])
