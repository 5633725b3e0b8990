"""What a rule page must look like: names, types, operands, words, sources."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Generator, Iterator

from gpudoctor.assume import ALIASES
from gpudoctor.courses import FRAMEWORKS
from gpudoctor.engine import placeholders
from gpudoctor.facts import CATALOGUE, LISTS, ORDERED, FactType
from gpudoctor.lint.sections import section_problems
from gpudoctor.model import (
    Case, Certainty, Condition, Effect, Operand, Rule, RuleDatabase, Scope, Severity, Table, Value,
)
from gpudoctor.skeleton import UNFINISHED

_ID = re.compile(r"GPD[X\d]\d{3,4}\Z")
DATED = re.compile(r"\d{4}-\d{2}-\d{2}\Z")
_UNDOCUMENTED = re.compile(r"^No documentation: *\S", re.MULTILINE)
PINNED = re.compile(r"pypi:[A-Za-z0-9._-]+==\S+\Z")
# Some are information, some about gpudoctor itself: what it foretold did not come true, its rules are old.
# The last two are seen before anything failed: who shares no memory and starts no container never notices.
_NO_FAULT_OF_THE_MACHINE = (
    "framework-came-along", "framework-not-installed", "unknown-card", "other-accelerator",
    "loader-trace-differs", "rules-older-than-machine", "rules-package-refused", "shm-too-small",
    "nvidia-container-toolkit-missing")
# facts that list ids of symptoms: an id that is renamed would silently stop to count
_OF_SYMPTOMS = ("text.symptoms", "framework.symptoms")
_AS_ROOT = re.compile(r"\b(?:sudo|reboot|poweroff)\b")
_VISIBLE = {
    Scope.HOST: {Scope.HOST}, Scope.GPU: {Scope.HOST, Scope.GPU},
    Scope.FRAMEWORK: {Scope.HOST, Scope.FRAMEWORK}, Scope.PAIR: set(Scope),
}


def form_problems(rule: Rule, database: RuleDatabase) -> Iterator[str]:
    """Yield every problem of a rule's form."""
    yield from _identity(rule)
    yield from _blocks(rule, database)
    yield from _asks(rule, database)
    yield from _fixes(rule, database)
    yield from _words(rule)
    yield from section_problems(rule)
    yield from _sources(rule)
    if places := repr(rule).count(UNFINISHED):
        yield f"places that are still to be filled in: {places}; they say {UNFINISHED!r}"


def _identity(rule: Rule) -> Iterator[str]:
    if not _ID.match(rule.id):
        yield f"the id {rule.id!r} is not GPDnnnn"
    if rule.path.rpartition("/")[2] != f"{rule.id}-{rule.cause}.md":
        yield f"the file must be called {rule.id}-{rule.cause}.md"
    mild = rule.severity in (Severity.BENIGN, Severity.INFO)
    if mild and not rule.cause.startswith("benign-") and rule.cause not in _NO_FAULT_OF_THE_MACHINE:
        yield "a cause that is not benign-* is at least a warning"
    if not rule.case:
        yield "no [[case]]"
    yield from (f"case {case.name!r} {problem}" for case in rule.case for problem in _case(case))


def _case(case: Case) -> Iterator[str]:
    if case.log is None:
        if case.expect == "first":
            yield "expects to be first, which only the cause of a log can be"
    elif case.facts or case.absent or case.unknown or case.block is not None:
        yield "has a log, so it has neither facts nor a block"
    elif case.expect == "undecided":
        yield "has a log: it expects match, first or clear"


def suspected_causes(database: RuleDatabase) -> frozenset[str]:
    """Return the causes that some symptom suspects."""
    return frozenset(suspect.cause for symptom in database.symptoms for suspect in symptom.suspects)


def _blocks(rule: Rule, database: RuleDatabase) -> Iterator[str]:
    if not rule.detect:
        yield from _told(rule, database)
    for name, count in Counter(block.name for block in rule.detect).items():
        if count > 1:
            yield f"two blocks are called {name!r}"
    for block in rule.detect:
        for condition in block.when:
            yield from condition_problems(condition, rule.scope, database)
    if any(block.certainty is Certainty.LIKELY for block in rule.detect) and not rule.ask:
        yield "a block is only likely, but no [[ask]] says what would decide"


def _told(rule: Rule, database: RuleDatabase) -> Iterator[str]:
    """Yield what a page lacks whose cause only a text can show."""
    if rule.cause not in suspected_causes(database):
        yield "no [[detect]] block, and no symptom suspects its cause"
    if not rule.ask:
        yield "no [[detect]] block, and no [[ask]] that says what would decide"
    if rule.scope is not Scope.HOST:
        yield "no [[detect]] block, so its scope is \"host\""
    yield from (f"case {case.name!r} has no log, and the page no [[detect]] block"
                for case in rule.case if case.log is None)
    if not any(case.log is not None and case.expect != "clear" for case in rule.case):
        yield "no case with a log that shows the cause"
    if not any(case.log is not None and case.expect == "clear" for case in rule.case):
        yield "no case with a log that does not show the cause"


_IMPORTED = re.compile(rf"\b(?:import|from) ({'|'.join(FRAMEWORKS)})\b")


def _asks(rule: Rule, database: RuleDatabase) -> Iterator[str]:
    """Yield questions that nobody is asked, or in the words of another framework; any fact may be named."""
    for rest, ask in zip(range(len(rule.ask) - 1, -1, -1), rule.ask, strict=True):
        said = f"question {ask.question!r}"
        words = (ask.question, ask.command, *ask.answers.values())
        named = [name for text in words for name in placeholders(text)]
        for condition in ask.when:
            yield from (f"{said}: {problem}"
                        for problem in condition_problems(condition, Scope.PAIR, database))
        yield from (f"{said}: {problem}" for name in named for problem in _visible(name, Scope.PAIR))
        if rest and not (ask.when or named):
            yield f"{said} always holds: it is the last"
        if not rest and (ask.when or named):
            yield f"the last {said} has conditions or names facts: add one that always holds"
        owners = {condition.right.value for condition in ask.when
                  if (condition.fact, condition.op) == ("framework.name", "equals") and condition.right}
        yield from (f"{said} imports {framework}, whatever the framework is"
                    for framework in _IMPORTED.findall(ask.command) if framework not in owners)


_BLANK = re.compile(r"(?<![\w$%-])(?:COMMAND|FILE|IMAGE|NAME|PROGRAM)(?![\w=])")


def _fixes(rule: Rule, database: RuleDatabase) -> Iterator[str]:
    for fix in rule.fix:
        if not fix.effect and rule.detect:
            yield f"fix {fix.title!r} has no effect, so nothing can prove it"
        if rule.detect and not fix.by_hand and fix.kind not in ("container", "image"):
            yield from (f"fix {fix.title!r} has a blank for a person to fill in ({blank[0]}): by_hand = true"
                        for command in fix.commands if (blank := _BLANK.search(command)))
        if fix.risk in ("safe", "reinstall") and any(map(_AS_ROOT.search, fix.commands)):
            yield f"fix {fix.title!r} acts as root or restarts the machine: its risk is admin or restart"
        for condition in fix.when:
            yield from condition_problems(condition, _seen_from(rule), database)
        for effect in fix.effect:
            yield from _effect(effect, rule, database)


def _seen_from(rule: Rule) -> Scope:
    """Return the scope whose facts a fix may name: a text knows its framework, whatever the page's scope."""
    return rule.scope if rule.detect else Scope.PAIR


def _visible(name: str, scope: Scope) -> Iterator[str]:
    spec = CATALOGUE.get(name)
    if spec is None:
        yield f"there is no fact {name}"
    elif spec.scope not in _VISIBLE[scope]:
        yield f"{name} is not visible in scope {scope.value!r}"


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
    if kind is FactType.FLAG:
        return isinstance(value, bool)
    if kind in (FactType.INTEGER, FactType.NUMBER):
        return isinstance(value, int | float) and not isinstance(value, bool)
    return isinstance(value, tuple) if kind in LISTS else isinstance(value, str)


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


def _words(rule: Rule) -> Iterator[str]:
    texts = [rule.summary, rule.told or ""]
    for fix in rule.fix:
        texts += [fix.title, *fix.commands, *fix.env.values(), fix.image or "", fix.undo or ""]
    for text in texts:
        for name in placeholders(text):
            yield from _visible(name, _seen_from(rule))
        parts = re.findall(r"\[\?([^\[\]]*)\]", text)
        if len(parts) != text.count("[?") or not all(placeholders(part) for part in parts):
            yield f"{text!r}: a part that may be left out is written [?...] and names a fact"


def _sources(rule: Rule) -> Iterator[str]:
    if not rule.source:
        yield "no [[source]]"
    for source in rule.source:
        if PINNED.match(source.url):
            continue
        if not source.url.startswith("https://"):
            yield f"source {source.url!r} is neither https:// nor pypi:NAME==VERSION"
        elif not (source.accessed and DATED.match(source.accessed)):
            yield f"source {source.url} lacks the day it was read (accessed = \"YYYY-MM-DD\")"
    if all(PINNED.match(one.url) for one in rule.source) and not _UNDOCUMENTED.search(rule.page):
        yield ("wheels are its only sources: name a document, or say why there is none in a line "
               "\"No documentation: ...\"")
