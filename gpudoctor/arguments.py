"""What an argument may be; another is refused in one line: its name, what is allowed, the nearest."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable

from gpudoctor.nearest import did_you_mean

_LONGEST = 200  # characters of a value that are said again


class ArgumentError(ValueError):
    """An argument that means nothing: one line with its name, what it was, and what it may be."""


def allowed(value: object, choices: Iterable[str]) -> str:
    """Return the choices in one line, and which of them was probably meant."""
    names = tuple(choices)
    return f"one of {', '.join(names)}{did_you_mean(value, names) if isinstance(value, str) else ''}"


def between(least: float, most: float) -> str:
    """Return in words what lies within two bounds."""
    return f"a number from {least:g} to {most:g}"


def refused(name: str, value: object, may_be: str) -> ArgumentError:
    """Return the error that says of a named value what it may be."""
    said = repr(value)
    return ArgumentError(f"{name}={said if len(said) <= _LONGEST else said[:_LONGEST] + '...'}: {may_be}")


def choice(name: str, value: object, choices: Iterable[str]) -> str:
    """Return the value, which has to be one of the choices."""
    names = tuple(choices)
    if isinstance(value, str) and value in names:
        return str(value)
    raise refused(name, value, allowed(value, names))


def number(name: str, value: object, least: float, most: float) -> float:
    """Return the number, which has to lie within both bounds; True and False are none."""
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) \
            and least <= value <= most:
        return float(value)
    raise refused(name, value, between(least, most))


def texts(name: str, value: object, example: str) -> tuple[str, ...]:
    """Return the texts of a list; a text that stands alone would be read as a list of its letters."""
    if isinstance(value, Iterable) and not isinstance(value, str | bytes | dict):
        listed = tuple(value)
        if all(isinstance(one, str) for one in listed):
            return listed
        value = list(listed)
    raise refused(name, value, f"a list of texts, such as {name}=[{example!r}]")


def path(name: str, value: object) -> str:
    """Return the path as a text."""
    if isinstance(value, str | os.PathLike):
        written = os.fspath(value)
        if isinstance(written, str):
            return written
    raise refused(name, value, "a path, such as \".venv/bin/python\"")
