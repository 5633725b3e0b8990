"""What a wheel's file name asks of a machine: its Python, system and processor, against the stated ones."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from gpudoctor import versions
from gpudoctor.lazily import Pattern

PROCESSOR, SYSTEM, PYTHON, FITS = "processor", "system", "python", "fits"
# What stands behind name, version and build.
_TAGS = Pattern(r"(?P<python>[a-z0-9.]{2,40})-(?P<abi>[a-z0-9_.]{2,40})-"
                r"(?P<platform>[a-z0-9_.]{3,120})\.whl$")
_ANY_PYTHON = Pattern(r"py([0-9])(?![0-9])")  # of a wheel without compiled code
_CPYTHON = Pattern(r"cp([0-9])([0-9]{1,2})")
_PROCESSORS = {"x86_64": "x86_64", "amd64": "x86_64", "aarch64": "aarch64", "arm64": "aarch64",
               "ppc64le": "ppc64le", "armv7l": "armv7l", "s390x": "s390x"}
_SYSTEMS = {"linux": "linux", "win": "windows", "macos": "macos"}
_PLACES = ("windows", "macos", "linux")


def fit(name: str, *, python: str | None, words: str, places: Collection[str]) -> str | None:
    """Return what of a machine a wheel is not for, "fits" where nothing is, None where it is not known.

    `words` are what is stated of the machine's system and processor.
    """
    tags = _TAGS.search(name.lower())
    if tags is None:
        return None
    asked, stated = set(_named(tags["platform"], _PROCESSORS)), _processor(words, places)
    if asked and stated is not None and stated not in asked:
        return PROCESSOR
    systems, system = _system(tags["platform"]), next((place for place in _PLACES if place in places), None)
    if systems is not None and system is not None and system != systems:
        return SYSTEM
    runs = None if python is None else _runs_on(tags["python"], tags["abi"], python)
    return PYTHON if runs is False else FITS if runs and stated is not None else None


def _processor(words: str, places: Collection[str]) -> str | None:
    if "jetson" in places:
        return "aarch64"
    return next(_named(words.lower(), _PROCESSORS), None)


def _named(words: str, known: dict[str, str]) -> Iterator[str]:
    return (meant for written, meant in known.items() if written in words)


def _system(platform: str) -> str | None:
    return next((system for mark, system in _SYSTEMS.items() if mark in platform), None)


def _runs_on(tag: str, abi: str, python: str) -> bool | None:
    """Say whether one of the tags is this Python's; a stable ABI serves later ones too."""
    version = versions.parse(python)
    if majors := _ANY_PYTHON.findall(tag):
        return str(version.major) in majors
    if len(version.release) < 2 or not _CPYTHON.match(tag):
        return None
    known = [(int(found[1]), int(found[2])) for found in _CPYTHON.finditer(tag)]
    own = (version.major, version.minor)
    return own in known or (abi == "abi3" and own >= min(known))
