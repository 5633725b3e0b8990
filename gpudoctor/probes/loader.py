"""Read where the dynamic loader looks, and the GPU libraries that lie there."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from gpudoctor.model import Fact, Known, Record, Unknown
from gpudoctor.probes import calls
from gpudoctor.probes.calls import mapping
from gpudoctor.probes.raw import Answer
from gpudoctor.probes.shapes import Data, failure, needs, read_all, record, text_at, texts

CACHE = "/etc/ld.so.cache"
_NAMED_VERSION = re.compile(r"\.so\.([0-9]+(?:\.[0-9]+)+)$")


def read(answer: Answer) -> dict[str, Fact]:
    """Return the host facts that the loader probe promises."""
    return read_all(answer, "loader", _READERS)


def _cache(data: Data) -> Fact:
    answer = mapping(data.get("cache"))
    path = text_at(answer, "path") or CACHE
    if not isinstance(answer.get("entries"), list):
        return failure(answer, path)
    return Known(source=path, value=tuple(
        record(soname=text_at(entry, "soname"), path=text_at(entry, "path"))
        for entry in calls.objects(answer["entries"]) if text_at(entry, "soname") and text_at(entry, "path")))


def _default_folders(data: Data) -> Fact:
    found = texts(data.get("default_folders"))
    if not found:
        return Unknown(reason=f"built-in folders: {text_at(data, 'default_error') or 'not collected'}")
    return Known(value=found, source=text_at(data, "loader") or "the dynamic loader")


def _files(data: Data) -> Fact:
    if not isinstance(data.get("folders"), list):
        return Unknown(reason="the loader's folders were not collected")
    found: list[Record] = []
    for folder in calls.objects(data["folders"]):
        path = text_at(folder, "path")
        found += [_file(file) for file in calls.objects(folder.get("files")) if text_at(file, "path")]
        error = text_at(folder, "error")
        left_out = calls.count(folder.get("left_out"))
        if path and (error or left_out) and folder.get("closed") is not True:
            found.append(record(path=path, error=error or f"{left_out} more files were not looked at"))
    found += [_file(file) for file in calls.objects(data.get("cached_files")) if text_at(file, "path")]
    return Known(value=tuple(found), source="the loader's folders")


def _file(file: Mapping[str, Any]) -> Record:
    real_path = text_at(file, "real_path")
    named = _NAMED_VERSION.search(real_path or "")
    return record(
        path=text_at(file, "path"), real_path=real_path, soname=text_at(file, "soname"),
        machine=text_at(file, "machine"), size_bytes=calls.count(file.get("size_bytes")),
        error=text_at(file, "error"), version=named.group(1) if named else None, **needs(file))


_READERS = {"loader.cache": _cache, "loader.default_folders": _default_folders, "loader.files": _files}
