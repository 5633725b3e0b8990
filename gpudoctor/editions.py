"""What changed between two editions of the rule database, in words. Pure.

Every change is one line: of which page, table or symptom, and what. What was reordered has not changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from gpudoctor.frozen import frozen
from gpudoctor.model import (
    Ask, Condition, Effect, Fix, Operand, Row, Rule, RuleDatabase, SymptomPattern, Table,
)
from gpudoctor.words import show

_T = TypeVar("_T")
_WORDS = {
    "below": "below", "at_least": "at least", "within": "within", "equals": "equal to",
    "differs": "different from", "in": "one of", "not_in": "none of", "contains": "holding",
    "lacks": "without", "exists": "there", "missing": "not there",
}


@frozen
class Difference:
    """One change: `kind` is page, table or symptom; `name` the id or the table's name; `what` says it."""

    kind: str
    name: str
    what: str


def differences(before: RuleDatabase, after: RuleDatabase) -> tuple[Difference, ...]:
    """Return what a reader of the older edition has to know: pages, then tables, then symptoms."""
    return (
        *_each("page", _by_id(before.rules), _by_id(after.rules), _page_added, _page),
        *_each("table", before.tables, after.tables, _table_added, _table),
        *_each("symptom", _by_id(before.symptoms), _by_id(after.symptoms), lambda _: "is new", _symptom),
    )


def _by_id(items: Iterable[Any]) -> dict[str, Any]:
    return {item.id: item for item in items}


def _each(kind: str, before: Mapping[str, _T], after: Mapping[str, _T], added: Callable[[_T], str],
          changed: Callable[[_T, _T], Iterator[str]]) -> Iterator[Difference]:
    for name in sorted({*before, *after}):
        if name not in after:
            yield Difference(kind=kind, name=name, what="is gone")
        elif name not in before:
            yield Difference(kind=kind, name=name, what=added(after[name]))
        elif before[name] != after[name]:
            yield from (Difference(kind=kind, name=name, what=what)
                        for what in changed(before[name], after[name]))


# -- pages -----------------------------------------------------------------------------------------

def _page_added(rule: Rule) -> str:
    return f"is new: {rule.cause} ({rule.severity.value}): {rule.title}"


def _page(old: Rule, new: Rule) -> Iterator[str]:
    if old.withdrawn != new.withdrawn:
        yield f"is withdrawn: {new.withdrawn}" if new.withdrawn else "is no longer withdrawn"
    for said in ("cause", "severity", "scope", "summary", "told", "title"):
        yield from _replaced(said, getattr(old, said), getattr(new, said))
    yield from _blocks(old, new)
    yield from _fixes(old, new)
    yield from _listed("question", old.ask, new.ask, _ask_words)
    yield from _listed("source", old.source, new.source, lambda source: repr(source.url))
    yield from _cases(old, new)
    if old.page != new.page:
        yield "the text of the page is another"


def _replaced(said: str, old: Any, new: Any) -> Iterator[str]:
    if old != new:
        yield f"{said}: was {_plain(old)}, is {_plain(new)}"


def _plain(value: Any) -> str:
    value = getattr(value, "value", value)
    return "none" if value is None else f"{value!r}" if isinstance(value, str) else str(value)


def _blocks(old: Rule, new: Rule) -> Iterator[str]:
    before, after = ({block.name: block for block in rule.detect} for rule in (old, new))
    for name in dict.fromkeys((*before, *after)):
        if name not in after:
            yield f"detection {name!r} is gone: {_all(before[name].when)}"
        elif name not in before:
            yield f"detection {name!r} is new: {_all(after[name].when)}"
        else:
            one, other = before[name], after[name]
            yield from _replaced(f"detection {name!r}, certainty", one.certainty, other.certainty)
            yield from _listed(f"detection {name!r}, condition", one.when, other.when, condition_words)


def _fixes(old: Rule, new: Rule) -> Iterator[str]:
    before, after = ({fix.title: fix for fix in rule.fix} for rule in (old, new))
    yield from _listed("fix", tuple(before), tuple(after), repr)
    for title in before:
        if title in after and before[title] != after[title]:
            yield from (f"fix {title!r}, {what}" for what in _fix(before[title], after[title]))


def _fix(old: Fix, new: Fix) -> Iterator[str]:
    for said in ("kind", "risk", "image", "undo"):
        yield from _replaced(said, getattr(old, said), getattr(new, said))
    yield from _listed("condition", old.when, new.when, condition_words)
    yield from _listed("command", old.commands, new.commands, repr)
    yield from _listed("variable", tuple(old.env.items()), tuple(new.env.items()), "=".join)
    yield from _listed("effect", old.effect, new.effect, _effect_words)


def _cases(old: Rule, new: Rule) -> Iterator[str]:
    before, after = ({case.name: case for case in rule.case} for rule in (old, new))
    yield from _listed("case", tuple(before), tuple(after), repr)
    for name in before:
        if name in after and before[name] != after[name]:
            yield from _replaced(f"case {name!r} expects", before[name].expect, after[name].expect)
            if before[name].expect == after[name].expect:
                yield f"case {name!r} is another machine or log"


def _ask_words(ask: Ask) -> str:
    return repr(ask.question) + (f" where {_all(ask.when)}" if ask.when else "")


def _listed(said: str, old: Sequence[_T], new: Sequence[_T], words: Callable[[_T], str]) -> Iterator[str]:
    yield from (f"{said} is gone: {words(item)}" for item in old if item not in new)
    yield from (f"{said} is new: {words(item)}" for item in new if item not in old)


def _all(when: Sequence[Condition]) -> str:
    return " and ".join(condition_words(condition) for condition in when)


def condition_words(condition: Condition) -> str:
    """Return a condition as a person says it: "driver.version below 525.60.13"."""
    words = f"{condition.fact} is {_WORDS[condition.op]}"
    return words if condition.right is None else f"{words} {_operand_words(condition.right)}"


def _operand_words(right: Operand) -> str:
    if right.other is not None:
        return right.other
    if right.lookup is not None:
        return f"{right.lookup} for {', '.join(right.key)}"
    return "nothing" if right.value is None else show(right.value)


def _effect_words(effect: Effect) -> str:
    return f"{effect.fact} becomes {_operand_words(effect.right) if effect.right else 'absent'}"


# -- tables ----------------------------------------------------------------------------------------

def _table_added(table: Table) -> str:
    return f"is new, with {len(table.rows)} rows: {table.summary}"


def _table(old: Table, new: Table) -> Iterator[str]:
    yield from _replaced("summary", old.summary, new.summary)
    yield from _replaced("key", ", ".join(old.key), ", ".join(new.key))
    yield from _listed("column", tuple(old.columns.items()), tuple(new.columns.items()), " of type ".join)
    before, after = _rows(old, new.key), _rows(new, new.key)
    for key in dict.fromkeys((*before, *after)):
        named = ", ".join(key)
        if key not in after:
            yield f"row is gone: {named}"
        elif key not in before:
            yield f"row is new: {named}"
        else:
            yield from (f"row {named}: {what}" for what in _cells(before[key], after[key]))


def _rows(table: Table, key: Sequence[str]) -> dict[tuple[str, ...], Row]:
    """Return the rows by their key; of several with the same one, the second and later have a number."""
    found: dict[tuple[str, ...], Row] = {}
    for row in table.rows:
        name = tuple(show(row[column]) if column in row else "none" for column in key)
        place = 2
        while name in found:
            name = (*name[:len(key)], f"no. {place}")
            place += 1
        found[name] = row
    return found


def _cells(old: Row, new: Row) -> Iterator[str]:
    for column in dict.fromkeys((*old, *new)):
        one, other = old.get(column), new.get(column)
        if one == other:
            continue
        cells = [cell for cell in (one, other) if isinstance(cell, tuple)]
        if any(isinstance(item, Mapping) for cell in cells for item in cell):
            yield f"{column} holds other records"
        else:
            yield (f"{column}: was {'none' if one is None else show(one)}, "
                   f"is {'none' if other is None else show(other)}")


# -- symptoms --------------------------------------------------------------------------------------

def _symptom(old: SymptomPattern, new: SymptomPattern) -> Iterator[str]:
    yield from _listed("wording", old.patterns, new.patterns, repr)
    yield from _replaced("meaning", old.meaning, new.meaning)
    yield from _replaced("harmless", old.benign, new.benign)
    yield from _listed("suspect", tuple(old.suspects), tuple(new.suspects), _suspect_words)
    yield from _listed("evidence against", old.against, new.against, str)
    yield from _listed("fact given", tuple(old.gives.items()), tuple(new.gives.items()), " from ".join)
    rest = ("program", "versions", "captures", "holds", "examples", "also", "framework", "source", "accessed",
            "path")
    for said in rest:
        if getattr(old, said) != getattr(new, said):
            yield f"{said} changed"


def _suspect_words(suspect: Any) -> str:
    words = f"{suspect.cause} with weight {suspect.weight}"
    return f"{words} where {_all(suspect.when)}" if suspect.when else words
