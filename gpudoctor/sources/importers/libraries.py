"""ldconfig -p, dpkg -l, rpm -qa, ls of library folders: which driver and CUDA packages a system has."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import takewhile

from gpudoctor.lazily import Pattern
from gpudoctor.model import Record
from gpudoctor.sources.found import Found
from gpudoctor.sources.lines import Text
from gpudoctor.sources.stated import Rank

_CACHE_LINES = 8000
_CACHE = Pattern(r"\s{1,8}(lib[A-Za-z0-9_.+-]{1,80}\.so[0-9.]{0,20}) \([^)]{1,80}\) => (/[^\s]{1,300})")
_GPU_LIBRARIES = ("libcuda", "libcudart", "libcudnn", "libcublas", "libcufft", "libcurand", "libcusolver",
                  "libcusparse", "libnccl", "libnvidia-ml", "libnvinfer", "libnvrtc", "libnvJitLink",
                  "libcupti")
_DPKG = Pattern(
    r"ii\s{1,4}([a-z0-9][a-z0-9.+-]{1,80})(?::(?:amd64|arm64|i386|all))?\s{1,80}([0-9][^\s]{0,80})\s")
_RPM = Pattern(r"\s{0,8}([A-Za-z0-9_+][A-Za-z0-9_.+-]{1,80}?)-"
               r"(?:[0-9]{1,2}:)?([0-9][A-Za-z0-9.+_~]{0,40})-([0-9][A-Za-z0-9.+_~]{0,40})\.(x86_64|aarch64|noarch|ppc64le|i686)\s{0,8}")
_DRIVER_PACKAGES = Pattern(r"(?:libnvidia-compute|nvidia-driver|nvidia-dkms|nvidia-kernel-source|"
                           r"libcuda1|libnvidia-ml1|nvidia-driver-cuda-libs|nvidia-driver-cuda|"
                           r"xorg-x11-drv-nvidia(?:-cuda)?|nvidia-compute-G06|kmod-nvidia|nvidia-compute-utils)(?:-[0-9]{3})?(?:-server|-open)?")
_CUDNN_PACKAGES = Pattern(r"libcudnn[0-9]{1,2}(?:-cuda-[0-9]{1,2})?|cudnn[0-9]?(?:-cuda-[0-9]{1,2})?")
_TOOLKIT_PACKAGES = Pattern(
    r"(?:cuda|cuda-toolkit|cuda-cudart|cuda-runtime|cuda-libraries)-([0-9]{1,2})-([0-9]{1,2})")
_INTERESTING = ("nvidia", "cuda", "cudnn", "nccl", "libnvinfer", "tensorrt", "nouveau")


def read(text: Text, found: Found) -> None:
    """Read each kind of list."""
    _cache(text, found)
    for index, name, version in (*_dpkg(text), *_rpm(text)):
        note_package(found, name, version, text.source(index))


def _cache(text: Text, found: Found) -> None:
    for index in text.having("libs found in cache"):
        below = text.lines[index + 1:index + _CACHE_LINES]
        rows = [row for row in takewhile(bool, map(_CACHE.match, below)) if row]
        # Of a list that was filtered or cut off, what it does not show says nothing.
        if text.lines[index].strip().startswith(f"{len(rows)} libs"):
            records: list[Record] = [{"soname": row[1], "path": row[2]} for row in rows
                                     if row[1].startswith(_GPU_LIBRARIES)]
            found.say("loader.cache", tuple(records), text.source(index))
    for index in text.having(" => "):
        row = _CACHE.match(text.lines[index])
        if row and row[1].startswith("libcudnn.so."):
            found.say("text.cudnn", row[1].partition(".so.")[2], text.source(index), Rank.SHOWN)


def _dpkg(text: Text) -> Iterator[tuple[int, str, str]]:
    for mark in ("\nii ", "ii  "):
        for position in text.places(mark):
            index = text.index_at(position + len(mark) - 1)
            row = _DPKG.match(text.lines[index].lstrip() + " ")
            if row:
                yield index, row[1], row[2]


def _rpm(text: Text) -> Iterator[tuple[int, str, str]]:
    for mark in (".x86_64", ".aarch64", ".noarch"):
        for index in text.having(mark):
            row = _RPM.fullmatch(text.lines[index][:260])
            if row:
                yield index, row[1], row[2]


def note_package(found: Found, name: str, version: str, source: str) -> None:
    """Note a package of the distribution that has to do with a GPU; it need not be what is loaded."""
    if not any(word in name.lower() for word in _INTERESTING):
        return
    found.mention("text.packages", f"{name}=={version}", source)
    upstream = re.match(r"(?:[0-9]:)?([0-9]{1,4}(?:\.[0-9]{1,4}){0,3})", version)
    if upstream is None:
        return
    toolkit = _TOOLKIT_PACKAGES.fullmatch(name)
    if _DRIVER_PACKAGES.fullmatch(name) and re.fullmatch(r"[1-9][0-9]{2}\.[0-9.]{1,8}", upstream[1]):
        found.say("driver.version", upstream[1], source, Rank.STATED)
    elif _CUDNN_PACKAGES.fullmatch(name):
        found.say("text.cudnn", upstream[1], source, Rank.STATED)
    elif toolkit:
        found.say("text.cuda", f"{toolkit[1]}.{toolkit[2]}", source, Rank.STATED)
