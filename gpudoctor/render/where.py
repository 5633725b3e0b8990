"""Where a file lies for who reads a report elsewhere: below the folder of the run, or in full."""

from __future__ import annotations

import os.path
from urllib.parse import quote


def relative(name: str, folder: str) -> str | None:
    """Return the path of a file from a folder, with slashes; None for what does not lie below it."""
    path = os.path.normpath(os.path.join(folder, name))
    below = os.path.join(os.path.normpath(folder), "")
    return path.removeprefix(below).replace(os.sep, "/") if path.startswith(below) else None


def uri(name: str, folder: str) -> tuple[str, bool]:
    """Return the address of a file, and whether it is relative to the folder; any name becomes ASCII."""
    path = relative(name, folder)
    if path is not None:
        return quote(os.fsencode(path)), True
    whole = os.path.normpath(os.path.join(folder, name)).replace(os.sep, "/")
    return "file:///" + quote(os.fsencode(whole.lstrip("/"))), False
