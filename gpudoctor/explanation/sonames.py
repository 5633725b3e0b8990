"""What the file name of a library says of its version: few of CUDA's names hold that of their toolkit."""

from __future__ import annotations

import re

from gpudoctor import versions
from gpudoctor.derive.view import as_texts
from gpudoctor.model import Tables, rows_of

_NUMBER = re.compile(r"(?:\.so\.|64_)([0-9]+)")  # libcudnn.so.8, cudnn64_8.dll, cudart64_110.dll
MAJOR_ALONE = 11  # from this CUDA on, libraries bear its major version alone
_BEARING_IT = ("libcudart", "libcublas", "cudart", "cublas")


def is_of(library: str, stated: str, tables: Tables, *, of_cudnn: bool = False) -> bool | None:
    """Say whether a library of this name belongs to the stated CUDA, or cuDNN; None without a number.

    The table `cuda_sonames` knows which toolkits bring a name. cuDNN and the libraries of CUDA 11 and later
    bear a major version; earlier ones bear major and minor: libcublas.so.10.0, cudart64_101.dll.
    """
    number = _NUMBER.search(library)
    if number is None:
        return None
    parts = (*versions.parse(stated).release, 0)
    if of_cudnn:
        return int(number[1]) == parts[0]
    listed = _is_listed_for(library, parts[:-1], tables)
    return _bears(library, number[1], parts[0], parts[1]) if listed is None else listed


def newest_cuda(library: str, tables: Tables) -> str | None:
    """Return the newest CUDA that brings a runtime of this name, None where nobody knows it yet."""
    for row in rows_of(tables, "cuda_sonames"):
        if row["library"] == library:
            return str(row["last_cuda"]) if "last_cuda" in row else None
    number = re.search(r"\.so\.([0-9]+\.[0-9]+)$", library)
    return number[1] if number and versions.parse(number[1]).major < MAJOR_ALONE else None


def in_wheels(library: str, tables: Tables) -> bool | None:
    """Say whether a wheel of NVIDIA's brings a library of this name; None of a DLL, and without the table."""
    if ".so" not in library or "nvidia_libraries" not in tables:
        return None
    return any(library == name or (library.startswith(f"{name}.") and ".so." in name)
               for row in tables["nvidia_libraries"].rows for name in as_texts(row["libraries"]))


def _is_listed_for(library: str, cuda: tuple[int, ...], tables: Tables) -> bool | None:
    """Say whether the table has this CUDA for the name, None where it does not have the name.

    A CUDA that is stated without its minor version may be any of them.
    """
    name = library.lower()
    for row in rows_of(tables, "cuda_sonames"):
        own = str(row["library"]).lower()
        is_whole = name.startswith(f"{own}.") and name.count(".") > own.count(".") + 1  # .so.11.4.1.48
        if not is_whole and name not in (own, str(row.get("dll", "")).lower()):
            continue
        stated = cuda[:2]
        first = versions.parse(str(row["first_cuda"])).release[:len(stated)]
        last = versions.parse(str(row.get("last_cuda", "9999.9"))).release[:len(stated)]
        return bool(first <= stated <= last)
    return None


def _bears(library: str, number: str, major: int, own_minor: int) -> bool:
    """Say whether the number in the name stands for the version; names that say nothing stand for any."""
    if not library.lower().startswith(_BEARING_IT):
        minor = re.search(rf"\.so\.{number}\.([0-9]+)$", library)
        # libcusolver.so.10.0; nvrtc bore it until 11.1
        bears_both = int(number) < MAJOR_ALONE or library.startswith("libnvrtc")
        return minor is None or not bears_both or (
            (int(number), int(minor[1])) == (major, own_minor))
    minor = re.search(rf"\.so\.{number}\.([0-9]+)", library)
    if ".so." not in library and int(number) >= 80:  # of a DLL: 101 is 10.1, 110 stands for all of 11
        return int(number) // 10 == major and (
            major >= MAJOR_ALONE or int(number) % 10 == own_minor)
    if int(number) != major:
        return False
    return major >= MAJOR_ALONE or minor is None or int(minor[1]) == own_minor
