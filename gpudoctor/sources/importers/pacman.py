"""Rows of `pacman -Q`, Arch's list of packages: the driver, and frameworks that the distribution builds."""

from __future__ import annotations

from gpudoctor.lazily import Pattern
from gpudoctor.sources.found import Found
from gpudoctor.sources.lines import Text
from gpudoctor.sources.stated import Rank

# The last part is the number of the package's own release, and no part of the version.
_ROW = Pattern(r"(?:local/|extra/)?([a-z0-9][a-z0-9._+-]{1,60}) (?:[0-9]{1,2}:)?([0-9][\w.+]{0,40})"
               r"-[0-9]{1,4}(?:\.[0-9]{1,3})?")
_OPEN = frozenset({"nvidia-open", "nvidia-open-dkms"})
_DRIVERS = _OPEN | {"nvidia-utils", "nvidia", "nvidia-dkms", "nvidia-lts"}
_LIBRARIES = {"cuda": "text.cuda", "cudnn": "text.cudnn"}
_BUILDS = ("python-pytorch", "python-tensorflow")
_WITH_CUDA, _OPTIMISED = "-cuda", "-opt"


def read(text: Text, found: Found) -> None:
    """Read the rows of packages that matter here."""
    for mark in ("nvidia", "cuda", "cudnn", "python-"):
        for index in text.having(mark):
            row = _ROW.fullmatch(text.lines[index].strip())
            if row is not None:
                _package(found, row[1], row[2], text.source(index))


def _package(found: Found, name: str, version: str, source: str) -> None:
    if name in _DRIVERS:
        found.say("driver.version", version, source, Rank.REPORTED)
        if name in _OPEN:
            found.say("driver.kernel_flavour", "open", source, Rank.REPORTED)
    elif name in _LIBRARIES:
        found.say(_LIBRARIES[name], version, source, Rank.REPORTED)
    elif name.startswith(_BUILDS):
        distribution = name.removeprefix("python-").removesuffix(_WITH_CUDA).removesuffix(_OPTIMISED)
        distribution = distribution.replace("pytorch", "torch")
        found.package(distribution, version, source)
