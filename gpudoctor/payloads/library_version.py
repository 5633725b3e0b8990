"""Read the driver release out of the bytes of libcuda and libnvidia-ml; a file's name is only a fallback.

libcuda names the application profiles of its own release, and in some releases a companion library;
libnvidia-ml holds the text that nvmlSystemGetNVMLVersion answers: CUDA major, dot, driver release. Both hold
numbers of other releases too (workarounds for known bugs), so a bare number in the bytes says nothing.
Checked on the libraries of 340.108, 390.157, 418.226, 450.248, 470.256, 525.147, 535.261, 550.163 and 555.58.
"""

import os
import re
import stat

TYPE_CHECKING = False  # importing typing takes longer than most collectors
if TYPE_CHECKING:
    from typing import Any, Dict, Optional

SCAN_LIMIT_BYTES = 256 << 20
PIECE_BYTES = 1 << 20
OVERLAP_BYTES = 128

_RELEASE = rb"(\d{3,4}\.\d{2,4}(?:\.\d{1,4})?)"
_CUDA_MARKS = (
    (b"nvidia-application-profiles-", re.compile(_RELEASE + rb"-rc")),
    (b"libnvidia-pkcs11.so.", re.compile(_RELEASE + rb"\x00")),
    (b"libnvidia-fatbinaryloader.so.", re.compile(_RELEASE + rb"\x00")),
)
_NVML_MARK = re.compile(rb"\x00\d{1,2}\." + _RELEASE + rb"\x00")
_NAME = re.compile(r"\.so\.([0-9]{3,4}\.[0-9]{2,4}(?:\.[0-9]{1,4})?)$")


def read_version(path: str) -> "Dict[str, Any]":
    """Describe the driver library at `path`: `real_path`, `size_bytes`, `version`, `version_source`, `error`.

    `version_source` is "bytes" or "name"; both it and `version` are None where nothing tells. Never raises.
    """
    answer = {
        "real_path": None,
        "size_bytes": None,
        "version": None,
        "version_source": None,
        "error": None,
    }  # type: Dict[str, Any]
    try:
        answer["real_path"] = os.path.realpath(path)
        _read(path, answer)
    except OSError as error:
        answer["error"] = error.strerror or type(error).__name__
    except Exception as error:  # noqa: BLE001 - a payload promises an answer whatever lies at the path
        answer["error"] = "%s: %s" % (type(error).__name__, error)
    if answer["version"] is None and answer["error"] is None:
        named = _NAME.search(answer["real_path"])
        if named:
            answer["version"], answer["version_source"] = named.group(1), "name"
    return answer


def _read(path: str, answer: "Dict[str, Any]") -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            answer["error"] = "not a regular file"
            return
        answer["size_bytes"] = status.st_size
        if status.st_size == 0:
            answer["error"] = "empty file"
            return
        is_nvml = os.path.basename(path).startswith("libnvidia-ml")
        version = _scan(descriptor, _version_of_nvml if is_nvml else _version_of_cuda)
    finally:
        os.close(descriptor)
    if version is not None:
        answer["version"], answer["version_source"] = version, "bytes"


def _scan(descriptor: int, find: "Any") -> "Optional[str]":
    """Read piece by piece, so that a file which shrinks meanwhile is only short, and no memory is mapped."""
    tail = b""
    for _ in range(SCAN_LIMIT_BYTES // PIECE_BYTES):
        piece = os.read(descriptor, PIECE_BYTES)
        if not piece:
            break
        window = tail + piece
        found = find(window)  # type: Optional[bytes]
        if found is not None:
            return found.decode("ascii")
        tail = window[-OVERLAP_BYTES:]
    return None


def _version_of_cuda(window: bytes) -> "Optional[bytes]":
    for mark, release in _CUDA_MARKS:
        at = window.find(mark)
        while at >= 0:
            found = release.match(window, at + len(mark))
            if found:
                return found.group(1)
            at = window.find(mark, at + 1)
    return None


def _version_of_nvml(window: bytes) -> "Optional[bytes]":
    found = _NVML_MARK.search(window)
    return found.group(1) if found else None
