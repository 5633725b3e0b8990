"""Which stand-ins of two shared snapshots stand for the same: they are numbered as they come. Pure.

A library more in one of them, and every name behind it has another number.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TypeAlias

from gpudoctor.model import Fact, Facts, Known, Scalar, Snapshot, Unknown, Value

Renaming: TypeAlias = Callable[[str], str]
_STAND_IN = re.compile(r"(?<![A-Za-z0-9_])(?:name|(?<=redacted-))[0-9]+(?![A-Za-z0-9_])")


def as_numbered_in(before: Snapshot, after: Snapshot) -> Snapshot:
    """Return the first snapshot with the stand-ins of the second.

    Two are the same that stand at the same place of texts that differ in nothing else; which of them came
    first decides where that is true of several. One that has no partner is marked by a stroke.
    """
    partners: dict[str, str] = {}
    taken: set[str] = set()
    for old, new in _facing(before, after):
        for mine, theirs in zip(_STAND_IN.findall(old), _STAND_IN.findall(new), strict=True):
            if mine not in partners and theirs not in taken:
                partners[mine] = theirs
                taken.add(theirs)

    def renamed(text: str) -> str:
        return _STAND_IN.sub(lambda found: partners.get(found[0], f"{found[0]}'"), text)

    return replace(
        before, host=_facts(before.host, renamed), gpus=_scope(before.gpus, renamed),
        frameworks=_scope(before.frameworks, renamed))


def _facing(before: Snapshot, after: Snapshot) -> Iterator[tuple[str, str]]:
    """Yield (text, text) of the same fact that differ in stand-ins alone."""
    pairs = [(before.host, after.host)]
    for mine, theirs in ((before.gpus, after.gpus), (before.frameworks, after.frameworks)):
        if not isinstance(mine, Unknown) and not isinstance(theirs, Unknown):
            pairs += zip(mine, theirs, strict=False)
    for old, new in pairs:
        for name, fact in old.items():
            other = new.get(name)
            if isinstance(fact, Known) and isinstance(other, Known):
                yield from _same_but_for_stand_ins(_texts(fact.value), _texts(other.value))


def _same_but_for_stand_ins(old: Iterable[str], new: Iterable[str]) -> Iterator[tuple[str, str]]:
    waiting: dict[str, list[str]] = {}
    for text in new:
        waiting.setdefault(_STAND_IN.sub("", text), []).append(text)
    for text in old:
        listed = waiting.get(_STAND_IN.sub("", text))
        if listed:
            yield text, listed.pop(0)


def _texts(value: Value) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for item in value if isinstance(value, tuple) else ():
        yield from (item,) if isinstance(item, str) else _texts(tuple(
            part for held in item.values() for part in (held if isinstance(held, tuple) else (held,))
            if isinstance(part, str)))


# -- with other names ----------------------------------------------------------------------------------------


def _scope(scope: tuple[Facts, ...] | Unknown, renamed: Renaming) -> tuple[Facts, ...] | Unknown:
    return scope if isinstance(scope, Unknown) else tuple(_facts(facts, renamed) for facts in scope)


def _facts(facts: Facts, renamed: Renaming) -> dict[str, Fact]:
    return {name: replace(fact, value=_value(fact.value, renamed)) if isinstance(fact, Known) else fact
            for name, fact in facts.items()}


def _value(value: Value, renamed: Renaming) -> Value:
    if not isinstance(value, tuple):
        return _scalar(value, renamed)
    texts = tuple(renamed(item) for item in value if isinstance(item, str))
    return texts or tuple({key: _scalar(part, renamed) for key, part in item.items()}
                          for item in value if isinstance(item, Mapping))


def _scalar(value: Scalar, renamed: Renaming) -> Scalar:
    if isinstance(value, tuple):
        return tuple(map(renamed, value))
    return renamed(value) if isinstance(value, str) else value
