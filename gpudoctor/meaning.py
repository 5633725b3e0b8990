"""Whether rules say anything that can be judged: facts that exist, operators and values that fit, ids.

A machine is not judged by a folder of pages that fails here, for it would be judged otherwise than its author
meant, and in silence. What a page must prove besides is for the linter, which asks here as well. Symptoms are
held to the same in symptom_meaning.py, tables in table_meaning.py. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable, Iterator

from gpudoctor import versions
from gpudoctor.assume import ALIASES
from gpudoctor.facts import CATALOGUE, LISTS, ORDERED, FactType
from gpudoctor.frozen import frozen
from gpudoctor.model import Condition, Effect, Operand, Rule, RuleDatabase, Scope, Table, Value
from gpudoctor.skeleton import UNFINISHED
from gpudoctor.words import placeholders

_NUMBERS = (FactType.INTEGER, FactType.NUMBER)
# facts that list ids of symptoms: an id that is renamed would silently stop to count
_OF_SYMPTOMS = ("text.symptoms", "framework.symptoms")
_VISIBLE = {
    Scope.HOST: {Scope.HOST}, Scope.GPU: {Scope.HOST, Scope.GPU},
    Scope.FRAMEWORK: {Scope.HOST, Scope.FRAMEWORK}, Scope.PAIR: set(Scope),
}


@frozen
class Fault:
    """What cannot be judged by, and where it stands among the others: `detect[0].when[1]`."""

    place: str
    problem: str


def of_page(rule: Rule, database: RuleDatabase) -> Iterator[Fault]:
    """Yield every part of a page that names what there is not, or compares what cannot be compared."""
    for place, condition, scope, said in _conditions(rule):
        yield from (Fault(place=place, problem=f"{said}{problem}")
                    for problem in condition_problems(condition, scope, database))
    for number, ask in enumerate(rule.ask):
        words = (ask.question, ask.command, *ask.answers.values())
        named = [name for text in words for name in placeholders(text)]
        yield from (Fault(place=f"ask[{number}].question", problem=f"question {ask.question!r}: {problem}")
                    for name in named for problem in _visible(name, Scope.PAIR))
    for number, fix in enumerate(rule.fix):
        yield from (Fault(place=f"fix[{number}].effect[{index}]", problem=problem)
                    for index, effect in enumerate(fix.effect) for problem in _effect(effect, rule, database))
    yield from (Fault(place=place, problem=problem) for place, text in _texts(rule)
                for problem in _words(text, seen_from(rule)))


def repeated(rules: Iterable[Rule]) -> Iterator[tuple[Rule, str]]:
    """Yield every page whose id another one has that stands before it."""
    first: dict[str, str] = {}
    for rule in rules:
        if rule.id in first:
            yield rule, f"the id {rule.id} is also that of {first[rule.id]}; each page has its own"
        first.setdefault(rule.id, rule.path)


def unfinished(rule: Rule) -> int:
    """Return how many places of a page are still to be filled in."""
    return repr(rule).count(UNFINISHED)


def seen_from(rule: Rule) -> Scope:
    """Return the scope whose facts a fix may name: a text knows its framework, whatever the page's scope."""
    return rule.scope if rule.detect else Scope.PAIR


def _conditions(rule: Rule) -> Iterator[tuple[str, Condition, Scope, str]]:
    """Yield every condition with its place, the scope it is judged in, and what is said before a problem."""
    for number, block in enumerate(rule.detect):
        yield from ((f"detect[{number}].when[{index}]", condition, rule.scope, "")
                    for index, condition in enumerate(block.when))
    for number, ask in enumerate(rule.ask):
        yield from ((f"ask[{number}].when[{index}]", condition, Scope.PAIR, f"question {ask.question!r}: ")
                    for index, condition in enumerate(ask.when))
    for number, fix in enumerate(rule.fix):
        yield from ((f"fix[{number}].when[{index}]", condition, seen_from(rule), "")
                    for index, condition in enumerate(fix.when))


def _texts(rule: Rule) -> Iterator[tuple[str, str]]:
    """Yield the texts in which facts may stand in braces, each with its place."""
    yield from (("summary", rule.summary), ("told", rule.told or ""))
    for number, fix in enumerate(rule.fix):
        texts = (("title", (fix.title,)), ("commands", fix.commands), ("env", tuple(fix.env.values())),
                 ("image", (fix.image or "",)), ("undo", (fix.undo or "",)))
        yield from ((f"fix[{number}].{key}", text) for key, said in texts for text in said)


def _words(text: str, scope: Scope) -> Iterator[str]:
    for name in placeholders(text):
        yield from _visible(name, scope)
    parts = re.findall(r"\[\?([^\[\]]*)\]", text)
    if len(parts) != text.count("[?") or not all(placeholders(part) for part in parts):
        yield f"{text!r}: a part that may be left out is written [?...] and names a fact"


# -- conditions ------------------------------------------------------------------------------------

def _visible(name: str, scope: Scope) -> Iterator[str]:
    spec = CATALOGUE.get(name)
    if spec is None:
        yield f"there is no fact {name}{nearest(name)}"
    elif spec.scope not in _VISIBLE[scope]:
        yield f"{name} is not visible in scope {scope.value!r}"


def nearest(name: str) -> str:
    """Return the fact that a name was probably meant to be, as a question in brackets."""
    import difflib  # for the few who mistyped

    near = difflib.get_close_matches(name[:80], CATALOGUE, n=1)
    return f" (did you mean {near[0]}?)" if near else ""


def condition_problems(condition: Condition, scope: Scope, database: RuleDatabase) -> Iterator[str]:
    """Yield what is wrong with a condition: names, the operator for the type, the right-hand side."""
    yield from (problems := list(_visible(condition.fact, scope)))
    if problems:
        return
    kind = CATALOGUE[condition.fact].type
    said = f"{condition.fact} {condition.op}"
    if condition.op in ("exists", "missing"):
        if condition.right is not None:
            yield f"{said} takes no right-hand side"
        return
    if condition.right is None:
        yield f"{said} lacks a right-hand side"
        return
    if condition.op in ("below", "at_least") and kind not in ORDERED:
        yield f"{said}: {kind.value} has no order"
    if condition.op in ("contains", "lacks") and kind not in LISTS:
        yield f"{said}: {kind.value} is no list"
    if kind is FactType.RECORDS:
        yield f"{said}: records cannot be compared; derive a fact from them"
    if condition.fact in _OF_SYMPTOMS and condition.op in ("contains", "lacks") and not any(
            symptom.id == condition.right.value for symptom in database.symptoms):
        yield f"{said} {condition.right.value!r}, which is no symptom"
    yield from _operand(condition, condition.right, kind, scope, database)


def _operand(condition: Condition, right: Operand, kind: FactType, scope: Scope,
             database: RuleDatabase) -> Iterator[str]:
    said = f"{condition.fact} {condition.op}"
    if sum(part is not None for part in (right.value, right.other, right.lookup)) != 1:
        yield f"{said} needs exactly one of value, other, lookup"
        return
    other: FactType | None = None
    if right.other is not None:
        yield from (problems := list(_visible(right.other, scope)))
        other = None if problems else CATALOGUE[right.other].type
    elif right.lookup is not None:
        other = yield from _lookup(right, scope, database)
    if condition.op == "within":
        if other not in (None, FactType.TEXT) or not isinstance(right.value, str | None):
            yield f"{said} takes a specifier set such as \">=12,<13\""
    elif other is not None and other not in _comparable(condition.op, kind):
        yield f"{said}: {kind.value} is never compared with {other.value}"
    elif right.value is not None and not _literal_fits(condition.op, kind, right.value):
        yield f"{said}: {right.value!r} is no {kind.value}"


def _comparable(op: str, kind: FactType) -> frozenset[FactType]:
    if op in ("in", "not_in"):
        lists = {FactType.COMPUTE_CAPABILITY: FactType.COMPUTE_CAPABILITIES, FactType.PATH: FactType.PATHS}
        return frozenset({lists.get(kind, FactType.TEXTS), FactType.TEXTS})
    if op in ("contains", "lacks"):
        items = {FactType.COMPUTE_CAPABILITIES: FactType.COMPUTE_CAPABILITY, FactType.PATHS: FactType.PATH}
        return frozenset({items.get(kind, FactType.TEXT)})
    return frozenset({kind})


def _literal_fits(op: str, kind: FactType, value: Value) -> bool:
    if op in ("in", "not_in"):
        return isinstance(value, tuple)
    if op in ("contains", "lacks"):
        return isinstance(value, str)
    return fits(kind, value)


def fits(kind: FactType, value: Value) -> bool:
    """Say whether a value is one of its kind; a version is one that can be compared."""
    if kind is FactType.FLAG:
        return isinstance(value, bool)
    if kind in _NUMBERS:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if kind is FactType.RECORDS:
        return isinstance(value, tuple) and not any(isinstance(item, str) for item in value)
    if kind in LISTS:
        return isinstance(value, tuple) and all(isinstance(item, str) for item in value)
    if not isinstance(value, str):
        return False
    return kind not in ORDERED or versions.is_version(value)


def _lookup(right: Operand, scope: Scope, database: RuleDatabase) -> Generator[str, None, FactType | None]:
    """Yield problems of a look-up; return the column's type."""
    assert right.lookup is not None
    name, _, column = right.lookup.partition(".")
    table: Table | None = database.tables.get(name)
    if table is None or column not in table.columns:
        yield f"there is no table column {right.lookup}"
        return None
    if len(right.key) != len(table.key):
        yield f"{right.lookup} needs {len(table.key)} key(s): {', '.join(table.key)}"
        return None
    for fact, key_column in zip(right.key, table.key, strict=True):
        if fact.startswith("'"):
            continue
        yield from (problems := list(_visible(fact, scope)))
        wanted = table.columns[key_column]
        if not problems and (kind := CATALOGUE[fact].type.value) not in (wanted, "text"):
            yield f"{right.lookup} is keyed by {wanted}, {fact} is {kind}"
    return FactType(table.columns[column])


def _effect(effect: Effect, rule: Rule, database: RuleDatabase) -> Iterator[str]:
    if effect.absent == (effect.right is not None):
        yield f"the effect on {effect.fact} needs a right-hand side or absent = true"
    if effect.right is not None and effect.right.lookup is not None:
        yield from _lookup(effect.right, rule.scope, database)
    if effect.right is not None and effect.right.other is not None:
        yield from _visible(effect.right.other, rule.scope)
    if effect.fact in ALIASES:
        return
    yield from (problems := list(_visible(effect.fact, rule.scope)))
    if not problems and CATALOGUE[effect.fact].derived:
        yield f"the effect names {effect.fact}, which is derived; name the probed facts that change"
