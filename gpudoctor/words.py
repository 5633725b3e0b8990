"""Facts as a person reads them, and the texts of rules filled in with them."""

from __future__ import annotations

import re
from collections.abc import Mapping

from gpudoctor.exhaustive import assert_never
from gpudoctor.model import Absent, Detect, Evidence, Fact, Known, Subject, Unknown, Value

PLACEHOLDER = re.compile(r"\{([A-Za-z][A-Za-z0-9_]*(?:\.[A-Za-z0-9_]+)+)\}")
_OPTIONAL = re.compile(r"\[\?([^\[\]]*)\]")


def show(value: Value) -> str:
    """Return a value as a person reads it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return ", ".join(item if isinstance(item, str) else _show_record(item) for item in value) or "none"
    return str(value)


def _show_record(record: Mapping[str, Value]) -> str:
    return " ".join(f"{key}={show(value)}" for key, value in record.items())


def show_fact(fact: Fact) -> str:
    """Return a fact as a person reads it."""
    match fact:
        case Known():
            return show(fact.value)
        case Absent():
            return "not there"
        case Unknown():
            return "unknown" if fact.at_least is None else f"{fact.at_least} or newer"
        case _:
            assert_never(fact)


def placeholders(text: str) -> tuple[str, ...]:
    """Return the fact names that stand in braces."""
    return tuple(PLACEHOLDER.findall(text))


def always_said(text: str) -> str:
    """Return a text without its parts in `[?...]`, which may stay away."""
    return _OPTIONAL.sub("", text)


def fill(text: str, subject: Subject) -> str:
    """Replace `{fact.name}` by what was seen; what is not there reads "none".

    A part in `[?...]` is left out when a fact in it is empty or not known: "[?; broken: {fact.name}]".
    """
    text = _OPTIONAL.sub(lambda m: m[1] if _all_said(m[1], subject) else "", text)
    facts = {name: subject.fact(name) for name in placeholders(text)}
    shown = {name: "none" if isinstance(fact, Absent) else show_fact(fact) for name, fact in facts.items()}
    return PLACEHOLDER.sub(lambda m: shown[m[1]], text)


def _all_said(part: str, subject: Subject) -> bool:
    return all(subject.value(name) not in (None, (), "") for name in placeholders(part))


def evidence_of(block: Detect, subject: Subject) -> tuple[Evidence, ...]:
    """Return what the block's conditions read, each fact once."""
    names: dict[str, None] = {}
    for condition in block.when:
        right = condition.right
        asked = () if right is None else (right.other,) if right.other else right.key
        names |= dict.fromkeys((condition.fact, *(name for name in asked if not name.startswith("'"))))
    return tuple(_evidence(name, subject.fact(name)) for name in names)


def _evidence(name: str, fact: Fact) -> Evidence:
    source = fact.reason if isinstance(fact, Unknown) else fact.source
    return Evidence(fact=name, saw=show_fact(fact), source=source)
