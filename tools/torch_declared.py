"""What a torch wheel declares: the architectures that torch.cuda.get_arch_list() answers.

They stand as one text in the library that torch's Python module is linked with, and nowhere in its build
file.
"""

import re

from tools.wheel_cache import WheelCache
from tools.wheel_index import WheelFile, WheelIndex

MEMBER = "torch/lib/libtorch_python.so"
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
