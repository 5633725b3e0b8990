"""Read which CUDA toolkits lie on disk, and their versions as their own files say."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from gpudoctor.model import Fact, Record, Unknown
from gpudoctor.probes import calls
from gpudoctor.probes.calls import mapping
from gpudoctor.probes.raw import Answer, known
from gpudoctor.probes.shapes import Data, read_all, record, text_at

_VERSION = re.compile(r"[0-9]{1,3}\.[0-9]{1,3}(?:\.[0-9]{1,5})*")


def read(answer: Answer) -> dict[str, Fact]:
    """Return the host facts that the toolkit probe promises."""
    return read_all(answer, "toolkit", _READERS)


def version_of(install: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return a toolkit's version and the file that says it: version.json, else version.txt, else cuda.h."""
    version = _version_in_json(text_at(install.get("version_json"), "text") or "")
    if version:
        return version, "version.json"
    found = re.search(r"CUDA Version ([0-9][0-9.]*)", text_at(install.get("version_txt"), "text") or "")
    if found and _VERSION.fullmatch(found.group(1)):
        return found.group(1), "version.txt"
    number = text_at(install.get("cuda_h"), "number")
    from_header = calls.cuda_version(int(number)) if number and re.fullmatch(r"[0-9]{4,6}", number) else None
    return (from_header, "cuda.h") if from_header else None


def _version_in_json(text: str) -> str | None:
    try:
        document = json.loads(text) if text else None
    except (ValueError, RecursionError):  # a broken file is one that says nothing
        return None
    version = mapping(mapping(document).get("cuda")).get("version")
    return version if isinstance(version, str) and _VERSION.fullmatch(version) else None


def _installs(data: Data) -> Fact:
    if not isinstance(data.get("installs"), list):
        return Unknown(reason="the toolkits were not collected")
    found: list[Record] = []
    for install in calls.objects(data["installs"]):
        version = version_of(install)
        error = text_at(install, "listing_error")
        has_compiler = install.get("nvcc") is True and install.get("because") != "nvcc"
        if text_at(install, "path") and (version or error or has_compiler):
            found.append(record(
                path=text_at(install, "path"), real_path=text_at(install, "real_path"),
                version=version[0] if version else None, version_source=version[1] if version else None,
                nvcc=install.get("nvcc") is True, error=error))
    return known(tuple(found) or None, "/usr/local/cuda*, /opt/cuda*, CUDA_HOME, CUDA_PATH and nvcc on PATH")


def _nvcc(data: Data) -> Fact:
    if not isinstance(data.get("nvcc", 0), str | None):
        return Unknown(reason="nvcc was not looked for")
    return known(text_at(data, "nvcc"), "PATH")


_READERS = {"toolkit.installs": _installs, "toolkit.nvcc": _nvcc}
