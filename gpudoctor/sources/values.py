"""Values inside a few words: versions, operating systems, sizes, names of frameworks. Pure and linear."""

from __future__ import annotations

import re

from gpudoctor.lazily import Pattern
from gpudoctor.versions import cuda_of_label

VALUE_CHARACTERS = 240
_VERSION = Pattern(r"[0-9]{1,5}(?:\.[0-9]{1,8}){0,4}")
_ENDED_SERIES = Pattern(r"(?<![\w.])v?(1)\.[xX*](?![\w.])")
_DOTTED = Pattern(r"[0-9]{1,5}(?:\.[0-9]{1,8}){1,4}")
_PACKAGE_VERSION = Pattern(
    r"[0-9]{1,8}(?:\.[0-9]{1,8}){0,5}(?:\.?(?:dev|post|rc|a|b)\.?[0-9]{0,12}){0,2}"
    r"(?:\+[A-Za-z0-9.]{1,30})?")
_NOTHING = frozenset({
    "", "-", "--", "n/a", "na", "none", "no", "not applicable", "unknown", "could not collect",
    "not available", "null",
    "_no response_", "no response", "?", "not found", "not installed", "n.a.", "false", "[n/a]",
    "not supported", "[not supported]", "unset", "not set", "nan",
})
_BYTES = {"b": 1, "kib": 1 << 10, "kb": 1 << 10, "mib": 1 << 20, "mb": 1 << 20, "gib": 1 << 30, "gb": 1 << 30}
_SIZE = Pattern(r"([0-9]{1,9})(?:\.[0-9]{1,3})? ?((?:[KMG]i?)?B)\b")

# A distribution's name at the beginning of what people and os-release call it -> os-release's ID
_DISTRIBUTIONS = {
    "ubuntu": "ubuntu", "kubuntu": "ubuntu", "xubuntu": "ubuntu", "lubuntu": "ubuntu", "debian": "debian",
    "fedora": "fedora", "centos": "centos", "red hat": "rhel", "rhel": "rhel", "rocky": "rocky",
    "almalinux": "almalinux", "arch linux": "arch", "archlinux": "arch", "manjaro": "manjaro",
    "opensuse leap": "opensuse-leap", "opensuse tumbleweed": "opensuse-tumbleweed", "linux mint": "linuxmint",
    "pop!_os": "pop", "pop os": "pop", "nixos": "nixos", "gentoo": "gentoo", "alpine": "alpine",
    "amazon linux": "amzn", "kali": "kali", "oracle linux": "ol", "sles": "sles", "elementary": "elementary",
}
_PUNCTUATION = str.maketrans("(),'\"", "     ")
_OS_VERSION = Pattern(r"[ -]{0,6}(?:gnu/linux|linux|os|server|enterprise|workstation|stream|release|"
                      r"desktop|lts)? {0,6}(?:server |release |linux |version )?"
                      r"([0-9]{1,4}(?:\.[0-9]{1,4}){0,2})")


def says_nothing(value: str) -> bool:
    """Say whether a filled-in field is empty in all but letters ("N/A", "Could not collect")."""
    return value.strip(" .`*_'\"[]()<>").lower() in _NOTHING


def version_in(words: str) -> str | None:
    """Return the first version in a few words; "12" is one, "2.x" is none."""
    for found in _VERSION.finditer(words[:VALUE_CHARACTERS]):
        following = words[found.end():found.end() + 1]
        part_of_word = following.isalpha() and following not in "abcrdpv"
        if not _bound(words, found) and not part_of_word:
            return found[0]
    return None


def series_in(words: str) -> str | None:
    """Return the series that a few words name, "1" of "1.x": no release will come to it any more."""
    found = _ENDED_SERIES.search(words[:VALUE_CHARACTERS])
    return found[1] if found else None


def _bound(words: str, found: re.Match[str]) -> bool:
    """Say whether a version is part of a word, a bound (> 2.0) or a family (2.x)."""
    before, after = words[:found.start()], words[found.end():found.end() + 2]
    glued = before[-1:].isalnum() and before[-1:] not in "vV"
    return glued or before.rstrip(" =")[-1:] in ("<", ">", "!", "~") or after in (".x", ".X", ".*")


def dotted_version_in(words: str) -> str | None:
    """Return the first version with a dot in it."""
    found = _DOTTED.search(words[:VALUE_CHARACTERS])
    return found[0] if found else None


def package_version_in(words: str) -> str | None:
    """Return the first version of a package: "2.3.0-dev20200615" gives "2.3.0.dev20200615"."""
    words = words[:VALUE_CHARACTERS].replace("-dev", ".dev").replace("-rc", "rc")
    for found in _PACKAGE_VERSION.finditer(words):
        if not _bound(words, found) and words[:found.start()][-1:] not in ("_", "+"):
            return found[0].rstrip(".+")
    return None


def cuda_of_suffix(version: str) -> tuple[str, str | None] | None:
    """Return the kind of a build and its CUDA by the local part of its version: "2.1.0+cu118"."""
    _, _, local = version.partition("+")
    if local.startswith("cpu"):
        return "cpu", None
    if local.startswith("rocm"):
        return "rocm", None
    cuda = cuda_of_label(version)
    return ("cuda", cuda) if cuda is not None else None


def bytes_in(words: str) -> int | None:
    """Return the bytes of "4095MiB"."""
    found = _SIZE.search(words[:VALUE_CHARACTERS])
    return int(found[1]) * _BYTES[found[2].lower()] if found else None


def flag_in(words: str) -> bool | None:
    """Return yes or no of Enabled, On, Yes, Disabled, Off, No."""
    word = words.strip().rstrip("*").lower()
    if word in ("enabled", "on", "yes", "true", "1"):
        return True
    return False if word in ("disabled", "off", "no", "false", "0") else None


def distribution_in(words: str) -> tuple[str, str | None] | None:
    """Return the ID and the version of a Linux distribution that the words name."""
    folded = words[:VALUE_CHARACTERS].lower().translate(_PUNCTUATION)
    for name, identity in _DISTRIBUTIONS.items():
        position = folded.find(name)
        if position < 0 or folded[:position][-1:].isalnum():
            continue
        found = _OS_VERSION.match(folded, position + len(name))
        return identity, found[1] if found else None
    return None
