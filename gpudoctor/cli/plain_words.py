"""Understand the plain command line of a check without typer, whose import takes as long as half a check.

It knows the options of `check` by their names and kinds, and understands a line only when each word is as
plain as can be. Anything else (help, a typing error, a value out of its bounds) is left to typer, which finds
the words for it. A test holds this table and typer's own options against each other.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from gpudoctor.cli.asked import Asked

TEXTS = {"--python": "python", "--kernel": "kernel", "--from": "recorded", "--rules": "rules",
         "--output": "output", "-o": "output"}
LISTS = {"--gpu": "gpu", "--stages": "stages", "--require": "require", "--assume": "assume"}
CHOICES = {
    "--depth": ("depth", ("static", "import", "smoke")),
    "--format": ("format", ("text", "json")),
    "--fail-on": ("fail_on", ("error", "warning", "info")),
}
NUMBERS = {"--timeout": ("timeout", 0.1, 3600), "--smoke-timeout": ("smoke_timeout", 1, 86400)}
FLAGS = {"--allow-undecided": "allow_undecided"}
COUNTED = {"-v": ("verbose", 1), "-vv": ("verbose", 2), "--verbose": ("verbose", 1)}


class _NotPlain(Exception):
    """Some word wants typer."""


def read(words: Sequence[str]) -> Asked | None:
    """Return what the words after `check` ask for, or None where typer must read them."""
    values: dict[str, Any] = {}
    given = set()
    try:
        for option, value in _pairs(words):
            _put(option, value, values)
            given.add(option)
    except _NotPlain:
        return None
    return Asked(given=frozenset(given), **values)


def _pairs(words: Sequence[str]) -> Iterator[tuple[str, str | None]]:
    """Yield each option with its value, None for one that takes none."""
    rest = iter(words)
    for word in rest:
        option, equals, value = word.partition("=")
        if word in FLAGS or word in COUNTED:
            yield word, None
        elif equals and option.startswith("--"):
            yield option, value
        else:
            after = next(rest, None)
            if after is None or (after.startswith("-") and after != "-"):
                raise _NotPlain
            yield word, after


def _put(option: str, value: str | None, values: dict[str, Any]) -> None:
    """Add what an option says; raise `_NotPlain` where it is none, or says something a second time."""
    if value is None:
        if option in COUNTED:
            name, count = COUNTED[option]
            values[name] = values.get(name, 0) + count
        else:
            values[FLAGS[option]] = True
        return
    if option in LISTS:
        values[LISTS[option]] = (*values.get(LISTS[option], ()), value)
        return
    name, converted = _single(option, value)
    if name in values:
        raise _NotPlain
    values[name] = converted


def _single(option: str, value: str) -> tuple[str, Any]:
    if option in TEXTS:
        return TEXTS[option], value
    if option in CHOICES:
        name, choices = CHOICES[option]
        if value in choices:
            return name, value
    if option in NUMBERS:
        return _number(value, *NUMBERS[option])
    raise _NotPlain


def _number(value: str, name: str, least: float, most: float) -> tuple[str, float]:
    try:
        number = float(value)
    except ValueError:
        raise _NotPlain from None
    if not (math.isfinite(number) and least <= number <= most):
        raise _NotPlain
    return name, number

