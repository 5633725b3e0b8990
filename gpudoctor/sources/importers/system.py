"""uname, os-release, lsb_release, /proc/driver/nvidia/version, nvcc, cuDNN's header, lsmod."""

from __future__ import annotations

import re

from gpudoctor.lazily import Pattern
from gpudoctor.sources import fields
from gpudoctor.sources.found import Found
from gpudoctor.sources.lines import Text
from gpudoctor.sources.stated import Rank

_UNAME = Pattern(
    r"\s{0,20}Linux [A-Za-z0-9_.-]{1,80} ([0-9]{1,2}\.[0-9]{1,3}[0-9A-Za-z._+-]{0,60}) (#.{1,120})")
_UNAME_RESULT = Pattern(r"uname_result\(system='([A-Za-z]{3,10})', node='[^']{0,80}', "
                        r"release='([^']{1,80})'[^)]{0,300}machine='([A-Za-z0-9_]{2,12})'")
_MACHINE = Pattern(r"\b(x86_64|aarch64|ppc64le|armv7l|s390x|riscv64)\b")
_OS_RELEASE = Pattern(
    r"\s{0,20}(PRETTY_NAME|ID_LIKE|ID|VERSION_ID|DISTRIB_DESCRIPTION)=[\"']?([^\"'\n]{1,80})")
_RELEASE = Pattern(r"release ([0-9]{1,2}\.[0-9]{1,2}), V([0-9]{1,2}\.[0-9]{1,2}\.[0-9]{1,4})")
_KERNEL_MODULE = Pattern(
    r"Kernel Module(?: for [a-z0-9_]{3,10})?\s{1,4}([0-9]{3}\.[0-9]{1,3}(?:\.[0-9]{1,3})?)")
_CUDNN_PART = Pattern(r"#define\s{1,8}CUDNN_(MAJOR|MINOR|PATCHLEVEL)\s{1,8}([0-9]{1,3})\b")
_MODULES = frozenset(
    {"nvidia", "nvidia_uvm", "nvidia_drm", "nvidia_modeset", "nouveau", "nova_core", "nvidiafb"})
_LSMOD_LINES = 600


def read(text: Text, found: Found) -> None:
    """Read what each of these commands and files prints."""
    _unames(text, found)
    _releases(text, found)
    _compiler(text, found)
    _driver(text, found)
    _cudnn_header(text, found)
    _lsmod(text, found)


def _unames(text: Text, found: Found) -> None:
    for index in text.having("Linux "):
        line = text.lines[index]
        uname = _UNAME.search(line, line.find("Linux "), 400) if " #" in line else None
        if uname:
            machine = _MACHINE.search(uname[2])
            _kernel(found, "Linux", uname[1], machine[1] if machine else None, text.source(index))
    for index in text.having("uname_result("):
        result = _UNAME_RESULT.search(text.lines[index])
        if result:
            _kernel(found, result[1], result[2], result[3], text.source(index))


def _kernel(found: Found, system: str, release: str, machine: str | None, source: str) -> None:
    found.say("system.os", system, source)
    if system == "Linux":
        fields.kernel(found, release, source, Rank.REPORTED)
        if release.endswith("-tegra"):
            found.mention("text.places", "jetson", source)
    found.say("system.architecture", machine, source)


def _releases(text: Text, found: Found) -> None:
    for mark in ("ID=", "_NAME=", "_LIKE=", "DISTRIB_DESCRIPTION="):
        for index in text.having(mark):
            line = _OS_RELEASE.fullmatch(text.lines[index].rstrip().rstrip("\"'"))
            if line is None:
                continue
            if line[1] in ("PRETTY_NAME", "DISTRIB_DESCRIPTION"):
                fields.os(found, line[2], text.source(index), Rank.REPORTED)
            elif line[1] == "ID_LIKE":
                found.say("system.distribution_like", tuple(line[2].split()), text.source(index))
            elif re.fullmatch(r"[a-z0-9._-]{1,30}", line[2]):
                name = {"ID": "system.distribution", "VERSION_ID": "system.distribution_version"}[line[1]]
                found.say(name, line[2], text.source(index))
    for index in text.having("Description:\t"):
        fields.os(found, text.lines[index].partition("\t")[2].strip(), text.source(index), Rank.REPORTED)


def _compiler(text: Text, found: Found) -> None:
    for index in text.having("compilation tools, release "):
        release = _RELEASE.search(text.lines[index])
        if release:
            found.say("text.cuda", release[2], text.source(index))
    for index in text.having("CUDA Version "):
        version = re.match(r"\s{0,8}CUDA Version ([0-9]{1,2}\.[0-9]{1,2}\.[0-9]{1,4})\s*$", text.lines[index])
        if version:  # version.txt of a toolkit
            found.say("text.cuda", version[1], text.source(index))


def _driver(text: Text, found: Found) -> None:
    for index in text.having("NVRM version:"):
        line = text.lines[index]
        version = _KERNEL_MODULE.search(line)
        if version:
            found.say("driver.kernel_version", version[1], text.source(index))
            found.say("driver.version", version[1], text.source(index))
            flavour = "open" if "Open Kernel" in line else "proprietary"
            found.say("driver.kernel_flavour", flavour, text.source(index))


def _cudnn_header(text: Text, found: Found) -> None:
    parts: dict[str, str] = {}
    for index in text.having("#define CUDNN_"):
        part = _CUDNN_PART.search(text.lines[index])
        if part:
            parts[part[1]] = part[2]
            if len(parts) == 3:
                version = ".".join(parts[name] for name in ("MAJOR", "MINOR", "PATCHLEVEL"))
                found.say("text.cudnn", version, text.source(index))
                parts = {}


def _lsmod(text: Text, found: Found) -> None:
    """Read lsmod whole; a list that was filtered does not say what is not loaded."""
    for index in text.having("Used by"):
        if text.lines[index].split() != ["Module", "Size", "Used", "by"]:
            continue
        names = []
        for below in range(index + 1, min(index + _LSMOD_LINES, len(text.lines))):
            words = text.lines[below].split()
            if len(words) < 3 or not words[1].isdecimal():
                break
            names.append(words[0])
        if len(names) > 20:
            found.say("system.gpu_modules", tuple(sorted(set(names) & _MODULES)), text.source(index))
