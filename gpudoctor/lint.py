"""What a rule must prove about itself before it ships. Yields one line per problem; silence is proof.

For every rule: names, types and sources are right; each case gives its verdict; every condition was seen true and
false (coverage); hiding any fact a matching block reads leaves that block undecided (blindness); every fix clears the
case it is offered for and makes no other rule match (cure).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Generator, Iterator, Mapping

from gpudoctor import derive, remedy
from gpudoctor.assume import ALIASES, AssumptionError, lay
from gpudoctor.engine import Subject, Subjects, Truth, evaluate, holds, judge, judge_block, placeholders
from gpudoctor.facts import CATALOGUE, LISTS, ORDERED, FactType
from gpudoctor.model import (
    Absent, Case, Certainty, Condition, Detect, Effect, Fact, Finding, Known, Operand, Rule, RuleDatabase, Scope,
    Severity, Snapshot, Table, Undecided, Unknown, Value,
)

SECTIONS = ("What was seen", "Why it breaks", "What to do", "How to check")
_ID = re.compile(r"GPD[X\d]\d{3,4}\Z")
_DATED = re.compile(r"\d{4}-\d{2}-\d{2}\Z")
_PINNED = re.compile(r"pypi:[A-Za-z0-9._-]+==\S+\Z")
_VISIBLE = {
    Scope.HOST: {Scope.HOST}, Scope.GPU: {Scope.HOST, Scope.GPU},
    Scope.FRAMEWORK: {Scope.HOST, Scope.FRAMEWORK}, Scope.PAIR: set(Scope),
}


def lint(database: RuleDatabase) -> Iterator[str]:
    """Yield every problem of every rule, `path: problem`."""
    for identifier, count in Counter(rule.id for rule in database.rules).items():
        if count > 1:
            yield f"{identifier}: the id is used by {count} pages"
    for rule in database.rules:
        problems = [*_form(rule, database), *_words(rule), *_sources(rule)]
        if not problems:
            problems = list(_proofs(rule, database))
        yield from (f"{rule.path}: {problem}" for problem in problems)


# -- form -------------------------------------------------------------------------------------------------------

def _form(rule: Rule, database: RuleDatabase) -> Iterator[str]:
    if not _ID.match(rule.id):
        yield f"the id {rule.id!r} is not GPDnnnn"
    if rule.path.rpartition("/")[2] != f"{rule.id}-{rule.cause}.md":
        yield f"the file must be called {rule.id}-{rule.cause}.md"
    if not rule.cause.startswith("benign-") and rule.severity in (Severity.BENIGN, Severity.INFO):
        if rule.cause != "framework-not-installed":
            yield "a cause that is not benign-* is at least a warning"
    if not rule.detect:
        yield "no [[detect]] block"
    if not rule.case:
        yield "no [[case]]"
    for name, count in Counter(block.name for block in rule.detect).items():
        if count > 1:
            yield f"two blocks are called {name!r}"
    for block in rule.detect:
        for condition in block.when:
            yield from _condition(condition, rule, database)
    for fix in rule.fix:
        if not fix.effect:
            yield f"fix {fix.title!r} has no effect, so nothing can prove it"
        for condition in fix.when:
            yield from _condition(condition, rule, database)
        for effect in fix.effect:
            yield from _effect(effect, rule, database)
    if any(block.certainty is Certainty.LIKELY for block in rule.detect) and not rule.ask:
        yield "a block is only likely, but no [[ask]] says what would decide"


def _visible(name: str, rule: Rule) -> Iterator[str]:
    spec = CATALOGUE.get(name)
    if spec is None:
        yield f"there is no fact {name}"
    elif spec.scope not in _VISIBLE[rule.scope]:
        yield f"{name} is not visible in scope {rule.scope.value!r}"


def _condition(condition: Condition, rule: Rule, database: RuleDatabase) -> Iterator[str]:
    yield from (problems := list(_visible(condition.fact, rule)))
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
    yield from _operand(condition, condition.right, kind, rule, database)


def _operand(condition: Condition, right: Operand, kind: FactType, rule: Rule,
             database: RuleDatabase) -> Iterator[str]:
    said = f"{condition.fact} {condition.op}"
    if sum(part is not None for part in (right.value, right.other, right.lookup)) != 1:
        yield f"{said} needs exactly one of value, other, lookup"
        return
    other: FactType | None = None
    if right.other is not None:
        yield from (problems := list(_visible(right.other, rule)))
        other = None if problems else CATALOGUE[right.other].type
    elif right.lookup is not None:
        other = yield from _lookup(right, rule, database)
    if condition.op == "within":
        if other not in (None, FactType.TEXT) or (right.value is not None and not isinstance(right.value, str)):
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


def _lookup(right: Operand, rule: Rule, database: RuleDatabase) -> Generator[str, None, FactType | None]:
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
        yield from (problems := list(_visible(fact, rule)))
        if not problems and CATALOGUE[fact].type.value not in (table.columns[key_column], "text"):
            yield f"{right.lookup} is keyed by {table.columns[key_column]}, {fact} is {CATALOGUE[fact].type.value}"
    return FactType(table.columns[column])


def _effect(effect: Effect, rule: Rule, database: RuleDatabase) -> Iterator[str]:
    if effect.fact in ALIASES:
        return
    yield from (problems := list(_visible(effect.fact, rule)))
    if not problems and CATALOGUE[effect.fact].derived:
        yield f"the effect names {effect.fact}, which is derived; name the probed facts that change"
    if effect.absent == (effect.right is not None):
        yield f"the effect on {effect.fact} needs a right-hand side or absent = true"


# -- words and sources --------------------------------------------------------------------------------------------

def _words(rule: Rule) -> Iterator[str]:
    texts = [rule.summary]
    for fix in rule.fix:
        texts += [fix.title, *fix.commands, *fix.env.values(), fix.image or "", fix.undo or ""]
    for text in texts:
        for name in placeholders(text):
            yield from _visible(name, rule)
    for section in SECTIONS:
        if not re.search(rf"^## {section}$", rule.page, re.MULTILINE):
            yield f"the page lacks the section \"## {section}\""


def _sources(rule: Rule) -> Iterator[str]:
    if not rule.source:
        yield "no [[source]]"
    for source in rule.source:
        if _PINNED.match(source.url):
            continue
        if not source.url.startswith("https://"):
            yield f"source {source.url!r} is neither https:// nor pypi:NAME==VERSION"
        elif not (source.accessed and _DATED.match(source.accessed)):
            yield f"source {source.url} lacks the day it was read (accessed = \"YYYY-MM-DD\")"


# -- proofs -----------------------------------------------------------------------------------------------------

def case_snapshot(case: Case, database: RuleDatabase) -> Snapshot:
    """Return the machine of a case; raise `AssumptionError`."""
    facts: dict[str, Fact] = {name: Known(value=value, source="case") for name, value in case.facts.items()}
    facts.update({name: Absent(source="case") for name in case.absent})
    facts.update({name: Unknown(reason="hidden by the case") for name in case.unknown if not _is_derived(name)})
    return lay(database.base, facts, database.tables, source="case")


def _is_derived(name: str) -> bool:
    return name in CATALOGUE and CATALOGUE[name].derived


def case_subjects(case: Case, snapshot: Snapshot, database: RuleDatabase) -> Subjects:
    """Return the subjects of a case, with derived facts hidden where the case says so."""
    hidden = {name: Unknown(reason="hidden by the case") for name in case.unknown if _is_derived(name)}
    return {scope: [_with(subject, hidden) for subject in listed]
            for scope, listed in derive.subjects(snapshot, database.tables).items()}


def _with(subject: Subject, facts: Mapping[str, Fact]) -> Subject:
    return Subject(name=subject.name, facts={**subject.facts, **facts}, missing=subject.missing)


def _proofs(rule: Rule, database: RuleDatabase) -> Iterator[str]:
    seen: dict[tuple[str, int], set[Truth]] = {}
    for case in rule.case:
        try:
            snapshot = case_snapshot(case, database)
        except AssumptionError as error:
            yield f"case {case.name!r}: {error}"
            continue
        subjects = case_subjects(case, snapshot, database)
        for subject in subjects[rule.scope]:
            for block in rule.detect:
                for index, condition in enumerate(block.when):
                    truth = holds(condition, subject, database.tables).truth
                    seen.setdefault((block.name, index), set()).add(truth)
        yield from (f"case {case.name!r}: {p}" for p in _case(case, rule, snapshot, subjects, database))
    for block in rule.detect:
        for index, condition in enumerate(block.when):
            for wanted in (Truth.TRUE, Truth.FALSE):
                if wanted not in seen.get((block.name, index), set()):
                    yield (f"no case makes {condition.fact} {condition.op} (block {block.name!r}) "
                           f"{wanted.name.lower()}")


def _case(case: Case, rule: Rule, snapshot: Snapshot, subjects: Subjects, database: RuleDatabase) -> Iterator[str]:
    verdicts = [(subject, judge(rule, subject, database.tables)) for subject in subjects[rule.scope]]
    matches = [(s, v) for s, v in verdicts if isinstance(v, Finding)]
    got = "match" if matches else "undecided" if any(isinstance(v, Undecided) for _, v in verdicts) else "clear"
    if got != case.expect:
        yield f"expected {case.expect}, got {got}"
        return
    if not matches:
        return
    subject, finding = matches[0]
    assert isinstance(finding, Finding)
    blocks = [b for b in rule.detect if judge_block(b, subject, database.tables).truth is Truth.TRUE]
    if case.block is None or case.block not in {block.name for block in blocks}:
        yield f"names block {case.block!r}, but {' and '.join(repr(b.name) for b in blocks)} matched"
        return
    yield from _blindness(next(b for b in blocks if b.name == case.block), subject, database)
    yield from _cure(rule, subject, finding, snapshot, subjects, database)


def _blindness(block: Detect, subject: Subject, database: RuleDatabase) -> Iterator[str]:
    names = {condition.fact for condition in block.when}
    names |= {c.right.other for c in block.when if c.right is not None and c.right.other is not None}
    names |= {key for c in block.when if c.right is not None for key in c.right.key if not key.startswith("'")}
    for name in sorted(names):
        hidden = _with(subject, {name: Unknown(reason="hidden by the linter")})
        if judge_block(block, hidden, database.tables).truth is not Truth.UNKNOWN:
            yield f"with {name} hidden the block {block.name!r} is still decided"


def _cure(rule: Rule, subject: Subject, finding: Finding, snapshot: Snapshot, subjects: Subjects,
          database: RuleDatabase) -> Iterator[str]:
    before = evaluate(subjects, database.rules, database.tables)
    for fix in rule.fix:
        if not all(holds(c, subject, database.tables).truth is Truth.TRUE for c in fix.when):
            continue
        if remedy.prove(fix, subject, finding, before, snapshot, database) is None:
            yield f"fix {fix.title!r} does not clear it, or makes another rule match, or cannot be made concrete"
