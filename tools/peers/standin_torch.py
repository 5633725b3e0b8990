"""A stand-in for `import torch`, laid over the metadata of a real release: it asks the machine's libcuda.

Versions come from the release's own version.py, the architectures from a file beside this one. What torch
learns from the CUDA runtime is worked out here from the driver's answers by the runtime's rules: no libcuda
or a driver of an older CUDA major version is error 35, a card without a fitting kernel cannot run one. A
tensor operation is done by the processor: it can show that a card is refused, never that one works.
"""

import ctypes
import importlib
import json
import re
import warnings
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace
from typing import Any

INSUFFICIENT_DRIVER = 35
COMPUTE_CAPABILITY_MAJOR, COMPUTE_CAPABILITY_MINOR = 75, 76
version: Any = importlib.import_module("torch.version")
__version__: str = version.__version__
_ARCHITECTURES: list[str] = json.loads(Path(__file__).with_name("standin.json").read_text())


def _library() -> Any:
    """Return the machine's libcuda, or the runtime's error code."""
    try:
        library = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return INSUFFICIENT_DRIVER
    driver = ctypes.c_int()
    library.cuDriverGetVersion(ctypes.byref(driver))
    if driver.value // 1000 < int(version.cuda.partition(".")[0]):
        return INSUFFICIENT_DRIVER
    return library.cuInit(0) or library


def _device_count() -> int:
    if version.cuda is None:
        return 0
    library = _library()
    count = ctypes.c_int()
    if not isinstance(library, int):
        code = library.cuDeviceGetCount(ctypes.byref(count))
        if not code:
            return count.value
        library = code
    if library != 100:
        warnings.warn(f"CUDA initialization: error {library} from cudaGetDeviceCount()", stacklevel=3)
    return 0


def _require_device() -> Any:
    if version.cuda is None:
        raise AssertionError("Torch not compiled with CUDA enabled")
    library = _library()
    if isinstance(library, int) or not _device_count():
        raise RuntimeError("No CUDA GPUs are available")
    return library


def _capability(index: int = 0) -> tuple[int, int]:
    library, numbers = _require_device(), [ctypes.c_int(), ctypes.c_int()]
    for number, attribute in zip(numbers, (COMPUTE_CAPABILITY_MAJOR, COMPUTE_CAPABILITY_MINOR), strict=True):
        library.cuDeviceGetAttribute(ctypes.byref(number), attribute, index)
    return numbers[0].value, numbers[1].value


def _name(index: int = 0) -> str:
    buffer = ctypes.create_string_buffer(96)
    _require_device().cuDeviceGetName(buffer, 96, index)
    return buffer.value.decode()


def _memory(index: int = 0) -> tuple[int, int]:
    total = ctypes.c_size_t()
    _require_device().cuDeviceTotalMem_v2(ctypes.byref(total), index)
    return total.value, total.value


def _has_kernel(capability: tuple[int, int]) -> bool:
    """Say whether there is machine code of this major version, no newer in the minor, or PTX no newer."""
    for architecture in _ARCHITECTURES:
        kind, major, minor = re.fullmatch(r"(sm|compute)_(\d+)(\d)[af]?", architecture).groups()  # type: ignore[union-attr]
        built = (int(major), int(minor))
        if built <= capability and (kind == "compute" or built[0] == capability[0]):
            return True
    return False


def _cudnn_version() -> int | None:
    for major in (13, 12, 11):
        try:
            parts = metadata.version(f"nvidia-cudnn-cu{major}").split(".")
        except metadata.PackageNotFoundError:
            continue
        return int(parts[0]) * 10000 + int(parts[1]) * 100 + int(parts[2])
    return None


class Tensor:
    """Numbers on a device."""

    def __init__(self, values: list[float], device: object) -> None:
        if str(device).startswith("cuda") and not _has_kernel(_capability()):
            raise RuntimeError("CUDA error: no kernel image is available for execution on the device")
        self._values, self.device = values, device

    def __add__(self, other: "Tensor") -> "Tensor":
        """Add."""
        return Tensor([a + b for a, b in zip(self._values, other._values, strict=True)], self.device)

    def tolist(self) -> list[float]:
        """Return the numbers."""
        return self._values


def tensor(values: list[float], device: object = "cpu") -> Tensor:
    """Make a tensor."""
    return Tensor(values, device)


def device(name: str) -> str:
    """Name a device."""
    return name


cuda = SimpleNamespace(
    is_available=lambda: _device_count() > 0, device_count=_device_count, get_device_name=_name,
    get_device_capability=_capability, mem_get_info=_memory, synchronize=lambda: None,
    get_arch_list=lambda: _ARCHITECTURES if _device_count() > 0 else [])
backends = SimpleNamespace(
    cudnn=SimpleNamespace(version=_cudnn_version, is_available=lambda: _cudnn_version() is not None),
    mps=SimpleNamespace(is_available=lambda: False))
