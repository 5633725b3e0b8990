"""Read what the patient, the interpreter under examination, says of itself and of the distributions in it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from gpudoctor.model import Absent, Fact, Known, Record, Unknown
from gpudoctor.probes import calls, conda
from gpudoctor.probes.calls import mapping, objects
from gpudoctor.probes.raw import Answer, known
from gpudoctor.probes.shapes import Data, Reader, printable, read_all, some, texts
from gpudoctor.versions import is_version

_EXTENSION = re.compile(r"\.(cpython|pypy)-?(\w+?)(?:-|$)")
_KEEPERS = {"pipx_metadata.json": "pipx", "uv-receipt.toml": "uv tool", "poetry.lock": "poetry",
            "virtualenvs": "poetry", "uv.lock": "uv", "pdm.lock": "pdm", "Pipfile.lock": "pipenv",
            ".project": "pipenv"}
_INSTALLERS = {"poetry": "poetry", "pdm": "pdm"}  # pip and uv also install by hand what nothing keeps
_SYSTEM_PREFIXES = ("/usr", "/")


def read(answer: Answer) -> dict[str, Fact]:
    """Return the `python.*` facts of the frameworks collector's answer."""
    return read_all(answer, "python", _READERS)


def text(value: Any) -> str | None:
    """Return a text with something in it, fit to print."""
    said = calls.text(value)
    return printable(said) if said else None


def version_fact(value: Any, source: str) -> Fact:
    """Return a version as a fact; Absent when there is none, Unknown when it is no version."""
    said = text(value)
    if said is None:
        return Absent(source=source) if value is None or value == "" else Unknown(reason=f"{source}: no text")
    if not is_version(said):
        return Unknown(reason=f"{source}: {said[:80]!r} is no version")
    return Known(value=said, source=source)


def part_error(data: Data, part: str) -> Unknown | None:
    """Return why a part of the answer is not there, None when it is."""
    value = data.get(part)
    if isinstance(value, Mapping) and "error" in value:
        return Unknown(reason=f"{part}: {text(value['error']) or 'failed'}")
    if part not in data:
        return Unknown(reason=f"{part} was not collected")
    readable = isinstance(value, Mapping if part == "python" else list)
    return None if readable else Unknown(reason=f"{part}: the answer cannot be read")


def is_virtual(python: Data) -> bool:
    """Return whether the interpreter is that of a virtual environment."""
    base = text(python.get("real_prefix")) or text(python.get("base_prefix"))
    return base is not None and base != text(python.get("prefix"))


def _of_python(key: str, read_value: Reader) -> Reader:
    """Return a reader of the interpreter's own part that is only asked when `key` is there."""

    def reader(data: Data) -> Fact:
        python = mapping(data.get("python"))
        if key not in python:
            return part_error(data, "python") or Unknown(reason=f"the interpreter did not say its {key}")
        return read_value(python)

    return reader


def _path(key: str, source: str) -> Reader:
    def reader(python: Data) -> Fact:
        path = python.get(key)
        return known(text(path), source) if path is None or isinstance(path, str) else Unknown(
            reason=f"{source}: no text")

    return _of_python(key, reader)


def _abi(python: Data) -> Fact:
    """Turn `.cpython-313t-x86_64-linux-gnu.so` into cp313t, as wheel tags write it."""
    suffix = text(python.get("extension_suffix")) or ""
    match = _EXTENSION.match(suffix)
    if match is None:
        return Unknown(reason=f"{suffix[:80]!r} names no ABI")
    kind, tag = match.groups()
    return Known(value=("cp" if kind == "cpython" else kind) + tag, source=f"extension suffix {suffix}")


def _environment(python: Data) -> Fact:
    prefix = text(python.get("prefix"))
    if prefix is None:
        return Unknown(reason="sys.prefix: no text")
    if is_virtual(python):
        return Known(value="venv", source=f"prefix {prefix} is not that of the base interpreter")
    if isinstance(python.get("conda_packages"), list):
        return Known(value="conda", source=f"{prefix}/conda-meta")
    is_system = prefix in _SYSTEM_PREFIXES or python.get("externally_managed") is True
    return Known(value="system" if is_system else "base", source=f"prefix {prefix}")


def _kept_by(data: Data) -> Fact:
    """Return whose environment it is: of a tool that lays it down again as it knows it.

    Wherever the tool keeps its environments, what it installed says so.
    """
    python = mapping(data.get("python"))
    for place in texts(python.get("keepers")):
        tool = _KEEPERS.get(place.rpartition("/")[2])
        if tool is not None:
            return Known(value=tool, source=place)
    frameworks = [mapping(one.get("distribution")) for one in objects(data.get("frameworks"))]
    for found in (*frameworks, *objects(data.get("distributions"))):
        tool = _INSTALLERS.get((text(found.get("installer")) or "").partition(" ")[0].lower())
        if tool is not None:
            return Known(value=tool, source=f"{text(found.get('path'))}/INSTALLER")
    if "keepers" not in python:
        return part_error(data, "python") or Unknown(reason="the interpreter did not say its keepers")
    return part_error(data, "distributions") or Absent(
        source="no file of a tool that keeps environments lies in or beside it, and none installed it")


def _externally_managed(python: Data) -> Fact:
    place = f"{text(python.get('standard_library'))}/EXTERNALLY-MANAGED"
    value = python.get("externally_managed")
    if not isinstance(value, bool):
        return Unknown(reason=f"{place} was not looked for")
    if value and is_virtual(python):
        return Known(value=False, source="a virtual environment is the user's own")
    return Known(value=value, source=place)


def _user_site(python: Data) -> Fact:
    enabled = python.get("user_site_enabled") is True
    folder = text(python.get("user_site"))
    return Known(
        value=enabled and folder in texts(python.get("path")), source=f"site.ENABLE_USER_SITE, {folder}"
    )


def _installed(data: Data) -> list[tuple[str, Mapping[str, Any]]]:
    """Return each folder of sys.path that holds distributions, in that order, with names and versions."""
    entries = data.get("installed")
    pairs = [entry for entry in entries if isinstance(entry, list)] if isinstance(entries, list) else []
    return [(pair[0], mapping(pair[1])) for pair in pairs if len(pair) == 2 and text(pair[0]) is not None]


def _version_of(distribution: str) -> Reader:
    """Return a reader of the version of a distribution: of several, the first is the one Python sees."""

    def reader(data: Data) -> Fact:
        failed = part_error(data, "installed")
        versions = [text(held[distribution]) or "" for _, held in _installed(data) if distribution in held]
        source = f"the distribution {distribution} in the patient"
        return failed or version_fact(versions[0] if versions else None, source)

    return reader


def _site_packages(data: Data) -> Fact:
    python = mapping(data.get("python"))
    if not isinstance(python.get("path"), list):
        return part_error(data, "python") or Unknown(reason="the interpreter did not say its path")
    failed = part_error(data, "installed")
    if failed is not None:
        return failed
    holding = {folder for folder, _ in _installed(data)}
    folders = [
        folder
        for folder in texts(python.get("path"))
        if folder in holding or folder.rstrip("/").endswith(("/site-packages", "/dist-packages"))
    ]
    return Known(value=tuple(folders), source="sys.path")


def _shadowing(data: Data) -> Fact:
    paths = [path for found in objects(data.get("shadowing")) if (path := text(found.get("path")))]
    source = "the current folder and PYTHONPATH"
    return part_error(data, "shadowing") or some(tuple(paths), source)


def _nvidia(data: Data) -> Fact:
    records: list[Record] = [
        {
            "name": name,
            "version": text(found.get("version")) or "",
            "location": text(found.get("folder")) or "",
        }
        for found in objects(data.get("distributions"))
        if (name := text(found.get("name")) or "").startswith("nvidia-")
    ]
    return part_error(data, "distributions") or Known(value=tuple(records), source="dist-info folders")


def _conflicts(data: Data) -> list[Data]:
    """Return the files of several owners, without those that are the same in each: these harm nobody."""
    return [found for found in objects(data.get("collisions")) if found.get("matches") != "identical"]


def _collisions(data: Data) -> Fact:
    records: list[Record] = [
        {
            "file": text(found.get("file")) or "",
            "owners": texts(found.get("owners")),
            "matches": text(found.get("matches")) or "",
            "decided_by": text(found.get("decided_by")) or "",
        }
        for found in _conflicts(data)
    ]
    return part_error(data, "collisions") or Known(
        value=tuple(records), source="RECORD files and the files they list"
    )


def _colliding(data: Data) -> Fact:
    owners = dict.fromkeys(owner for found in _conflicts(data) for owner in texts(found.get("owners")))
    return part_error(data, "collisions") or Known(value=tuple(owners), source="RECORD files")


def _incomplete(data: Data) -> Fact:
    owners = dict.fromkeys(
        owner for found in objects(data.get("gone")) for owner in texts(found.get("owners"))
    )
    nvidia = tuple(owner for owner in owners if owner.startswith("nvidia-"))
    return part_error(data, "gone") or Known(value=nvidia, source="RECORD files and the files they list")


def _because(data: Data) -> Fact:
    because = text(data.get("because"))
    if because is None:
        return Unknown(reason="the collector was not told why")
    return Known(value=because, source="gpudoctor's choice")


_READERS: Mapping[str, Reader] = {
    "python.executable": _path("executable", "sys.executable"),
    "python.version": _of_python(
        "version", lambda told: version_fact(told.get("version"), "sys.version_info")
    ),
    "python.abi": _of_python("extension_suffix", _abi),
    "python.prefix": _path("prefix", "sys.prefix"),
    "python.environment": _of_python("prefix", _environment),
    "python.conda_tool": _of_python("conda_history", conda.tool),
    "python.conda_revision": _of_python("conda_history", conda.revision),
    "python.kept_by": _kept_by,
    "python.uv": _of_python("uv", lambda told: known(text(told.get("uv")), "PATH")),
    "python.chosen_because": _because,
    "python.pip_version": _version_of("pip"),
    "python.numpy": _version_of("numpy"),
    "python.protobuf": _version_of("protobuf"),
    "python.externally_managed": _of_python("externally_managed", _externally_managed),
    "python.site_packages": _site_packages,
    "python.user_site": _of_python("user_site_enabled", _user_site),
    "python.shadowing_files": _shadowing,
    "python.nvidia_distributions": _nvidia,
    "python.planned_distributions": lambda _: Known(value=(), source="nothing is planned on a machine"),
    "python.collisions": _collisions,
    "python.colliding_distributions": _colliding,
    "python.incomplete_distributions": _incomplete,
}
