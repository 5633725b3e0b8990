"""What the library that torch's Python module is linked with says, and no file of the wheel.

The architectures that torch.cuda.get_arch_list() answers stand in it as one text. And it names the module of
NumPy that it was compiled against: NumPy 2 calls it numpy._core, and what NumPy 1 compiled knows numpy.core
alone.
"""

import re

from tools.wheel_cache import WheelCache
from tools.wheel_index import WheelFile, WheelIndex

MEMBER = "torch/lib/libtorch_python.so"
MEMBERS = (MEMBER, "torch/lib/torch_python.dll")
# What NumPy's header makes a module look for, newest first (numpy/__multiarray_api.h).
NUMPY_MODULES = {"2": b"numpy._core._multiarray_umath", "1": b"numpy.core."}
ARCHITECTURE = rb"(?:sm|compute)_\d+[af]?"
# A zero ends the text, but does not always stand before it: constants without one are laid close together.
ARCHITECTURES = re.compile(rb"(?<! )%(one)s(?: %(one)s)+(?=\0)" % {b"one": ARCHITECTURE})
BUFFER_BYTES = 1 << 22


def declared_architectures(index: WheelIndex, cache: WheelCache, wheel: WheelFile) -> list[str] | None:
    """Return the architectures, such as sm_90, in the order of the text; None where the library has none."""

    def ask() -> list[str]:
        with index.open(wheel, buffer_bytes=BUFFER_BYTES) as archive:
            return architectures_in(archive.read(MEMBER))

    return cache.get("torch-declared-2", wheel.sha256, ask) or None


def architectures_in(library: bytes) -> list[str]:
    """Return the one list of architectures that the library holds, none if it holds no or several."""
    lists = set(ARCHITECTURES.findall(library))
    return lists.pop().decode().split() if len(lists) == 1 else []


def numpy_of(index: WheelIndex, cache: WheelCache, wheel: WheelFile, member: str) -> str | None:
    """Return the major version of the NumPy that the library was compiled with, None where it names none."""

    def ask() -> str | None:
        with index.open(wheel, buffer_bytes=BUFFER_BYTES) as archive:
            return numpy_in(archive.read(member))

    major: str | None = cache.get("torch-numpy-1", wheel.sha256, ask)
    return major


def numpy_in(library: bytes) -> str | None:
    """Return the major version of NumPy whose module the library looks for."""
    return next((major for major, name in NUMPY_MODULES.items() if name in library), None)
