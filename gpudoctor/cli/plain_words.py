"""Understand a plain command line without typer, whose import takes as long as half a check.

It knows the options of `check` and `explain` by their names and kinds, and understands a line only when each
word is as plain as can be. Anything else (help, a typing error, a value out of its bounds) is left to typer,
which finds the words for it. A test holds these tables and typer's own options against each other.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gpudoctor.cli.asked import Asked
from gpudoctor.frozen import frozen


@frozen
class Grammar:
    """The options of a command, each with the name of what it sets; `words` is the name of what files are."""

    texts: Mapping[str, str]
    lists: Mapping[str, str]
    choices: Mapping[str, tuple[str, tuple[str, ...]]]
    numbers: Mapping[str, tuple[str, float, float]]  # from the least to the most
    flags: Mapping[str, str]
    counted: Mapping[str, tuple[str, int]]
    words: str | None


_FORMAT, _FAIL_ON = ("format", ("text", "json")), ("fail_on", ("error", "warning", "info"))
CHECK = Grammar(
    texts={"--python": "python", "--kernel": "kernel", "--from": "recorded", "--rules": "rules",
           "--image": "image", "--container": "container", "--output": "output", "-o": "output"},
    lists={"--gpu": "gpu", "--stages": "stages", "--require": "require", "--assume": "assume"},
    choices={"--depth": ("depth", ("static", "import", "smoke")), "--format": _FORMAT, "--fail-on": _FAIL_ON},
    numbers={"--timeout": ("timeout", 0.1, 3600), "--smoke-timeout": ("smoke_timeout", 1, 86400)},
    flags={"--allow-undecided": "allow_undecided", "--pull": "pull"},
    counted={"-v": ("verbose", 1), "-vv": ("verbose", 2), "--verbose": ("verbose", 1)},
    words=None,
)
EXPLAIN = Grammar(
    texts={"--rules": "rules", "--output": "output", "-o": "output"}, lists={},
    choices={"--format": _FORMAT, "--fail-on": _FAIL_ON}, numbers={},
    flags={"--here": "here", "--allow-undecided": "allow_undecided"}, counted={},
    words="what",
)


class _NotPlain(Exception):
    """Some word wants typer."""


def read_check(words: Sequence[str]) -> Asked | None:
    """Return what the words after `check` ask for, or None where typer must read them."""
    values = read(words, CHECK)
    if values is None:
        return None
    return Asked(given=frozenset(option for option, _ in _pairs(words, CHECK) if option), **values)


def read(words: Sequence[str], grammar: Grammar) -> dict[str, Any] | None:
    """Return what the words after a command set, or None where typer must read them."""
    values: dict[str, Any] = {}
    try:
        for option, value in _pairs(words, grammar):
            _put(option, value, values, grammar)
    except _NotPlain:
        return None
    if grammar.words is not None and grammar.words not in values:
        return None
    return values


def _pairs(words: Sequence[str], grammar: Grammar) -> Iterator[tuple[str, str | None]]:
    """Yield each option with its value, None for one that takes none; a file has an empty option."""
    rest = iter(words)
    for word in rest:
        option, equals, value = word.partition("=")
        if word in grammar.flags or word in grammar.counted:
            yield word, None
        elif grammar.words is not None and (word == "-" or not word.startswith("-")):
            yield "", word
        elif equals and option.startswith("--"):
            yield option, value
        else:
            after = next(rest, None)
            if after is None or (after.startswith("-") and after != "-"):
                raise _NotPlain
            yield word, after


def _put(option: str, value: str | None, values: dict[str, Any], grammar: Grammar) -> None:
    """Add what an option says; raise `_NotPlain` where it is none, or says something a second time."""
    if value is None:
        if option in grammar.counted:
            name, count = grammar.counted[option]
            values[name] = values.get(name, 0) + count
        else:
            values[grammar.flags[option]] = True
        return
    several = grammar.words if not option else grammar.lists.get(option)
    if several is not None:
        values[several] = (*values.get(several, ()), value)
        return
    name, converted = _single(option, value, grammar)
    if name in values:
        raise _NotPlain
    values[name] = converted


def _single(option: str, value: str, grammar: Grammar) -> tuple[str, Any]:
    if option in grammar.texts:
        return grammar.texts[option], value
    if option in grammar.choices:
        name, choices = grammar.choices[option]
        if value in choices:
            return name, value
    if option in grammar.numbers:
        return _number(value, *grammar.numbers[option])
    raise _NotPlain


def _number(value: str, name: str, least: float, most: float) -> tuple[str, float]:
    try:
        number = float(value)
    except ValueError:
        raise _NotPlain from None
    if not (math.isfinite(number) and least <= number <= most):
        raise _NotPlain
    return name, number
