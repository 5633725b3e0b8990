"""What an image tells of its system without a program of its own: its files and its variables."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from typing import Any

from gpudoctor.host import Entry, Host, Text
from gpudoctor.probes.raw import Answer, ended
from gpudoctor.variables import ENVIRONMENT_VARIABLES

_RELEASE_FILES = ("/etc/os-release", "/usr/lib/os-release")
_LIBC_FILES = ("/lib/x86_64-linux-gnu/libc.so.6", "/lib/aarch64-linux-gnu/libc.so.6", "/lib64/libc.so.6",
               "/usr/lib/libc.so.6")
_MUSL_FILES = ("/lib/ld-musl-x86_64.so.1", "/lib/ld-musl-aarch64.so.1")
_LIBC_LIMIT_BYTES = 4 << 20
_GLIBC = re.compile(rb"GNU C Library [^\n]{0,200}?release version (\d+\.\d+)")


def answers(files: Host, variables: Mapping[str, str]) -> dict[str, Answer]:
    """Return what the payload would answer of the system and the environment."""
    found = {name: {"value": variables[name], "bytes": len(variables[name].encode())} if name in variables
             else {"missing": True} for name in ENVIRONMENT_VARIABLES}
    system: dict[str, Any] = {"os_release": _release(files), "libc": _libc(files)}
    return {"system": ended("ok", 0.0, data=system),
            "environment": ended("ok", 0.0, data={"variables": found})}


def _release(files: Host) -> dict[str, Any]:
    for path in _RELEASE_FILES:
        answer = files.read_text(path)
        if isinstance(answer, Text):
            return {"text": answer.text, "path": path}
    return {"missing": True, "path": _RELEASE_FILES[0]}


def _libc(files: Host) -> dict[str, Any]:
    """Return what the C library calls itself, else musl's loaders; `unfound` where it has neither."""
    for path in _LIBC_FILES:
        answer = files.read_bytes(path, limit_bytes=_LIBC_LIMIT_BYTES)
        found = _GLIBC.search(getattr(answer, "data", b""))
        if found:
            return {"text": f"glibc {found[1].decode()}", "path": path, "musl_loaders": []}
    loaders = [posixpath.basename(path) for path in _MUSL_FILES if isinstance(files.entry(path), Entry)]
    return {"text": None, "musl_loaders": loaders, "unfound": not loaders}
