"""Newer rules in a package of their own, `gpudoctor-rules`: found, held against this gpudoctor, or refused.

The package holds the compiled files and `db.json`, which says what they are. It is looked for by name in the
folders that Python imports from: a list of installed packages would take longer than judging the machine.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from gpudoctor import __version__, compiled
from gpudoctor.frozen import frozen

PACKAGE = "gpudoctor_rules"
_NUMBERS = re.compile(r"[0-9]+(?:\.[0-9]+)*")
_UPDATE_ENGINE = "pip install --upgrade gpudoctor-cli"


@frozen
class Choice:
    """The folder of rules to read, and the newer packages that were found and not taken, each with why."""

    folder: str
    refused: tuple[str, ...] = ()


def choose(shipped: str, places: Sequence[str] | None = None) -> Choice:
    """Return the newest admissible rules: those shipped, unless a package in `places` is newer.

    `places` are the folders of `sys.path`; where several hold a package, their order does not matter.
    """
    found = list(_found(sys.path if places is None else places))
    if not found:
        return Choice(folder=shipped)
    try:
        here = numbers(str(_head(shipped)["version"]))
    except (OSError, ValueError, KeyError):
        return Choice(folder=shipped)  # whoever reads them says what is wrong with them
    refused: list[str] = []
    for folder, head in sorted(found, key=lambda one: _version_of(one[1]), reverse=True):
        if isinstance(head, dict) and _version_of(head) and _version_of(head) <= here:
            break  # as old as these, or older: nobody misses it
        problem = head if isinstance(head, str) else objection(folder, head)
        if problem is None:
            return Choice(folder=folder, refused=tuple(refused))
        refused.append(problem)
    return Choice(folder=shipped, refused=tuple(refused))


def _found(places: Sequence[str]) -> Iterator[tuple[str, dict[str, Any] | str]]:
    """Yield the folder of each package with what it says of itself, or what is wrong with that."""
    for place in dict.fromkeys(places):
        folder = os.path.join(place, PACKAGE)
        if not os.path.isfile(os.path.join(folder, compiled.HEAD_NAME)):
            continue
        try:
            yield folder, _head(folder)
        except (OSError, ValueError) as error:
            yield folder, _broken(folder, compiled.HEAD_NAME, f"cannot be read ({error})")


def _head(folder: str) -> dict[str, Any]:
    with open(os.path.join(folder, compiled.HEAD_NAME), "rb") as file:
        head = json.loads(file.read())
    if not isinstance(head, dict):
        raise ValueError("it is no JSON object")
    return head


def _version_of(head: dict[str, Any] | str) -> tuple[int, ...]:
    version = head.get("version") if isinstance(head, dict) else None
    return numbers(version) if isinstance(version, str) else ()


def numbers(version: str) -> tuple[int, ...]:
    """Return the numbers that a version starts with, to be compared: "2026.12.1" -> (2026, 12, 1)."""
    match = _NUMBERS.match(version)
    return tuple(int(part) for part in match[0].split(".")) if match else ()


def objection(folder: str, head: dict[str, Any] | None = None) -> str | None:
    """Return why compiled rules cannot be used here, in one line with what to do; None where they can."""
    try:
        head = head or _head(folder)
    except (OSError, ValueError) as error:
        return _broken(folder, compiled.HEAD_NAME, f"cannot be read ({error})")
    shown = f"{folder}: rules {head.get('version')}"
    if (unread := compiled.unread_schema(head.get("schema"))) is not None:
        return f"{shown} {unread}"
    if not _version_of(head):
        return _broken(folder, compiled.HEAD_NAME, "states no version")
    engine = str(head.get("engine", "0"))
    if numbers(engine) > numbers(__version__):
        return f"{shown} ask for gpudoctor {engine} or newer, this is {__version__}: {_UPDATE_ENGINE}"
    files = head.get("files")
    listed = files if isinstance(files, dict) else {}
    for name in compiled.NAMES:
        if name in compiled.LATER_NAMES and name not in listed:
            continue
        if (fault := _fault(os.path.join(folder, name), listed.get(name))) is not None:
            return _broken(folder, name, fault)
    return None


def _fault(path: str, sha256: object) -> str | None:
    """Return what is wrong with a file of which the digest is known."""
    import hashlib  # slow to import, and only newer rules need it

    try:
        with open(path, "rb") as file:
            found = hashlib.sha256(file.read()).hexdigest()
    except OSError as error:
        return f"cannot be read ({error.strerror})"
    return None if found == sha256 else f"is not the file that {compiled.HEAD_NAME} names: its digest differs"


def _broken(folder: str, name: str, fault: str) -> str:
    return f"{os.path.join(folder, name)} {fault}: pip install --force-reinstall --no-deps gpudoctor-rules"
