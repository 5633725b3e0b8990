"""Wheels of a torch that computes, for images without an index: published metadata, and plain Python inside.

The metadata of the release and of all that it asks for is as published, each library a stand-in with the
original's name; the one through which torch opens CUDA has the search path and the needs of the original. Its
arithmetic is that of the stand-in of tests/faults, and its results lie in the memory of the driver that it
opens, which is what a stage must prove.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import re
import zipfile
from collections.abc import Mapping
from pathlib import Path

from tests.faults import doctor
from tests.harness.elf import standin
from tests.harness.patient import EXTENSION_SONAME, SHARED_LIBRARY, Patient
from tests.machines.patients import release

# the newest of what torch asks for may be for a newer Python than the image's; nothing of it is run
_FOR_PYTHON = re.compile(rb"^Requires-Python:.*\n", re.MULTILINE)
_ON_THE_CARD = """
import ctypes
_driver = ctypes.CDLL("libcuda.so.1")
_context, _memory = ctypes.c_void_p(), ctypes.c_uint64()
assert _driver.cuInit(0) == 0
assert _driver.cuCtxCreate_v2(ctypes.byref(_context), 0, 0) == 0
assert _driver.cuMemAlloc_v2(ctypes.byref(_memory), ctypes.c_size_t(1 << 20)) == 0
_page = (_memory.value + 0xffff) & ~0xffff  # far from what the allocator wrote at its begin
# closed to this process, as a card's memory is
assert ctypes.CDLL(None).mprotect(ctypes.c_void_p(_page), ctypes.c_size_t(1 << 16), 0) == 0
Tensor.data_ptr = lambda self: _page
cuda.is_available, cuda.device_count = lambda: True, lambda: 1
"""


def write(folder: Path, version: str, python: str) -> None:
    """Write the wheels of a release and of what it asks for, beside those that the folder has already."""
    major, minor = python.split(".")
    patient = Patient(prefix=folder.parent / "unpacked", version=(int(major), int(minor)))
    patient.install_with_dependencies("torch", version, only=".*", libraries="none")
    patient.add_file("torch/__init__.py", _text(version))
    for information in sorted(patient.site_packages.glob("*.dist-info")):
        wheel = folder / f"{information.name.removesuffix('.dist-info')}-py3-none-any.whl"
        if not wheel.exists():
            _pack(wheel, _files(patient.site_packages, information, version))


def _text(version: str) -> str:
    standin_torch = Path(doctor.__file__).with_name("standin_torch.py").read_text("utf-8")
    return standin_torch.replace('"2.10.0+cpu"', repr(version)) + _ON_THE_CARD


def _files(site_packages: Path, information: Path, version: str) -> Mapping[str, bytes]:
    """Return what is kept of a distribution and a stand-in for each of its libraries."""
    loading = release("torch", version)
    found: dict[str, bytes] = {}
    for path, *_ in csv.reader(io.StringIO((information / "RECORD").read_text("utf-8"))):
        file = site_packages / path
        if path == loading["loader"]:
            library = standin(file.name, needed=tuple(loading["loads"]),
                              rpath=":".join(loading.get("rpath", ())) or None,
                              runpath=":".join(loading.get("runpath", ())) or None)
            found[path] = library.read_bytes()
        elif file.is_file() and file.name != "RECORD":
            found[path] = _FOR_PYTHON.sub(b"", file.read_bytes())
        elif SHARED_LIBRARY.fullmatch(path) and ".data/" not in path:
            found[path] = standin(file.name if file.name.startswith("lib") else EXTENSION_SONAME).read_bytes()
    return found


def _pack(wheel: Path, files: Mapping[str, bytes]) -> None:
    """Write a wheel whose list names what is in it."""
    information = next(path.partition("/")[0] for path in files if ".dist-info/" in path)
    record = "".join(f"{path},sha256={_digest(data)},{len(data)}\n" for path, data in files.items())
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in files.items():
            archive.writestr(path, data)
        archive.writestr(f"{information}/RECORD", f"{record}{information}/RECORD,,\n")


def _digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
