"""References to images as every engine reads them: `HOST/PATH:TAG@DIGEST`, and what is wrong with one.

https://github.com/distribution/reference/blob/main/regexp.go
"""

from __future__ import annotations

import re
from collections.abc import Set as AbstractSet

from gpudoctor.manifests.spans import ManifestError, Place

_WORD = r"[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_HOST = re.compile(rf"(?:{_WORD}(?:\.{_WORD})*|\[[0-9a-fA-F:]+\])(?::[0-9]+)?\Z")
_PART = re.compile(r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*\Z")
_TAG = re.compile(r"\w[\w.-]{0,127}\Z", re.ASCII)
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}\Z|sha512:[0-9a-f]{128}\Z")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_VARIABLE = re.compile(r"\$\{?(\w+)")
_LONGEST = 255  # characters of a name
_SHOWN = 80


def checked(reference: str, place: Place) -> str:
    """Return a reference as it is; raise `ManifestError` where no engine takes it for one."""
    wrong = fault(reference)
    if wrong is not None:
        raise ManifestError(place, f"{reference[:_SHOWN]!r} is no image: {wrong}")
    return reference


def name_of(written: str) -> str | None:
    """Return the name of an image whose tag only a variable says; None where that is not written either."""
    folder, slash, last = written.partition("$")[0].strip("\"'").rpartition("/")
    return f"{folder}{slash}{last.partition(':')[0]}" if ":" in last else None


def fault(reference: str) -> str | None:
    """Return what is wrong with a reference and what to write, None where it is sound."""
    if not reference:
        return "write NAME:TAG"
    if (scheme := _SCHEME.match(reference)) is not None:
        return f"write it without {scheme[0]}"
    bare, at, digest = reference.partition("@")
    if at and not _DIGEST.match(digest):
        return "a digest is sha256: and 64 digits of 0-9 and a-f"
    head, slash, last = bare.rpartition("/")
    last, colon, tag = last.partition(":")
    if colon and not _TAG.match(tag):
        return "a tag is one word of letters, digits, _, . and -, up to 128 of them, behind one colon"
    parts = [*(head.split("/") if slash else ()), last]
    if len(parts) > 1 and _is_host(parts[0]):
        if not _HOST.match(parts[0]):
            return f"{parts[0][:_SHOWN]!r} is no registry: write HOST/NAME:TAG or HOST:PORT/NAME:TAG"
        parts = parts[1:]
    if len("/".join(parts)) > _LONGEST:
        return f"a name has up to {_LONGEST} characters"
    wrong = next((part for part in parts if not _PART.match(part)), None)
    if wrong is None:
        return None
    if _PART.match(wrong.lower()):
        return f"a name is in lower case: {wrong.lower()[:_SHOWN]}"
    return "a name is of lower-case letters and digits, with single ., _ and - between them"


def _is_host(part: str) -> bool:
    """Return whether the first part of a name is a registry, as engines tell it from a folder."""
    return "." in part or ":" in part or part == "localhost" or part != part.lower()


def told_by(text: str, declared: AbstractSet[str]) -> str:
    """Return how a variable in a text gets its value, where it is one that ARG has `declared` or another."""
    is_given = any(name in declared for name in _VARIABLE.findall(text))
    return "--build-arg NAME=VALUE gives it one" if is_given else "the shell works it out: an ARG would do"
