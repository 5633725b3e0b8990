"""conda info: the virtual packages say which CUDA the driver runs and which C library there is."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from gpudoctor.sources.found import Found
from gpudoctor.sources.keys import VARIABLES
from gpudoctor.sources.lines import Text
from gpudoctor.sources.values import says_nothing

_VIRTUAL = re.compile(r"__(cuda|glibc|linux|osx|win|archspec)[=/]([0-9A-Za-z.]{1,20})")
_PLATFORM_OS = {"linux": "Linux", "osx": "Darwin", "win": "Windows"}
_PLATFORM = re.compile(r"\s{0,30}platform : (linux|osx|win)-(64|aarch64|arm64|ppc64le|32)")
_MACHINES = {"64": "x86_64", "aarch64": "aarch64", "arm64": "arm64", "ppc64le": "ppc64le"}


def read(text: Text, found: Found) -> None:
    """Read the lines of conda info."""
    for position in text.places("__"):
        virtual = _VIRTUAL.match(text.whole, position)
        if virtual:
            _virtual(found, virtual[1], virtual[2], text.source(text.index_at(position)))
    for index in text.having("platform : "):
        platform = _PLATFORM.match(text.lines[index])
        if platform:
            _platform(found, platform[1], platform[2], text.source(index))
    for index in text.having("conda version : "):
        found.mention("text.places", "conda", text.source(index))


def _platform(found: Found, system: str, machine: str, source: str) -> None:
    found.say("system.os", _PLATFORM_OS[system], source)
    found.say("system.architecture", _MACHINES.get(machine), source)


def _virtual(found: Found, name: str, version: str, source: str) -> None:
    if not re.fullmatch(r"[0-9]{1,3}\.[0-9]{1,3}(?:\.[0-9]{1,4})?", version):
        return
    if name == "cuda":
        found.say("driver.cuda_ceiling", version, source)
        found.mention("text.places", "conda", source)
    elif name == "glibc":
        found.say("system.glibc", version, source)


def from_document(document: Mapping[str, Any], source: str, found: Found) -> bool:
    """Read conda info --json; say whether it was that."""
    if "conda_version" not in document or "virtual_pkgs" not in document:
        return False
    found.mention("text.places", "conda", source)
    packages = document["virtual_pkgs"]
    for package in packages[:50] if isinstance(packages, list) else ():
        match package:
            case [str(name), str(version), *_]:
                _virtual(found, name.lstrip("_"), version, source)
    active, own = document.get("active_prefix"), str(document.get("python_version")).partition(".final")
    if isinstance(active, str):
        found.say("environment.CONDA_PREFIX", active[:400], source)
        if active == document.get("root_prefix") and own[1]:  # else it is that of conda itself
            found.say("python.version", own[0], source)
    variables = document.get("env_vars")
    for name, value in variables.items() if isinstance(variables, dict) else ():
        told = name in VARIABLES.values() and name != "CONDA_PREFIX" and isinstance(value, str)
        if told and not says_nothing(value):
            found.say(f"environment.{name}", value[:4000], source)
    platform = str(document.get("platform", "")).partition("-")
    if platform[0] in _PLATFORM_OS:
        _platform(found, platform[0], platform[2], source)
    return True
