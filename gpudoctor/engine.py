"""Judge a snapshot by rules: three-valued, pure, without clock or disk.

Kleene's third value keeps "could not tell" from ever reading as "healthy". A comparison with something that
was looked for and is not there is false whichever way it is put, so that only `missing` speaks about absence.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum

from gpudoctor import versions
from gpudoctor.exhaustive import assert_never
from gpudoctor.facts import CATALOGUE, FactType
from gpudoctor.frozen import frozen
from gpudoctor.model import (
    Absent, Certainty, Condition, Evidence, Fact, Finding, Judgement, Known, Operand, Row, Rule, Subject,
    Subjects, Table, Tables, Undecided, Unknown, Value,
)
from gpudoctor.words import evidence_of, fill


class Truth(Enum):
    """Ordered so that a conjunction is the smallest and a disjunction the largest."""

    FALSE = 0
    UNKNOWN = 1
    TRUE = 2


def find_row(table: Table, key: Sequence[Value]) -> Row | None:
    """Return the row whose key columns equal `key`, comparing by the columns' types."""
    kinds = [FactType(table.columns[column]) for column in table.key]
    for row in table.rows:
        try:
            if all(versions.equal(kind, row[column], wanted)
                   for kind, column, wanted in zip(kinds, table.key, key, strict=True)):
                return row
        except versions.Incomparable:
            continue
    return None


def look_up(lookup: str, key: Sequence[str], subject: Subject, tables: Tables) -> Fact:
    """Return the table cell that `lookup` ("table.column") and the facts named by `key` point at."""
    table_name, _, column = lookup.partition(".")
    values: list[Value] = []
    for name in key:
        fact = Known(value=name[1:-1], source="rule") if name.startswith("'") else subject.fact(name)
        if not isinstance(fact, Known):
            return fact
        values.append(fact.value)
    row = find_row(tables[table_name], values)
    if row is None or column not in row:
        shown = ", ".join(str(value) for value in values)
        return Unknown(reason=f"the rule database has no {lookup} for {shown}")
    source = f"rules/tables/{table_name}.toml ({row.get('source', 'no source')})"
    return Known(value=row[column], source=source)


def resolve(right: Operand, subject: Subject, tables: Tables) -> Fact:
    """Return the right-hand side as a fact."""
    if right.other is not None:
        return subject.fact(right.other)
    if right.lookup is not None:
        return look_up(right.lookup, right.key, subject, tables)
    assert right.value is not None
    return Known(value=right.value, source="rule")


@frozen
class Holding:
    """One condition's truth and, when unknown, the unknowns that kept it from being decided."""

    truth: Truth
    unknowns: tuple[tuple[str, Unknown], ...] = ()


_TRUE, _FALSE = Holding(truth=Truth.TRUE), Holding(truth=Truth.FALSE)


def holds(condition: Condition, subject: Subject, tables: Tables) -> Holding:
    """Decide one condition for one subject."""
    left = subject.fact(condition.fact)
    if isinstance(left, Unknown):
        return _bounded(condition, left, subject, tables)
    if condition.op in ("exists", "missing"):
        there = isinstance(left, Known)
        return _TRUE if there == (condition.op == "exists") else _FALSE
    if isinstance(left, Absent):
        return _FALSE
    assert condition.right is not None
    kind, compared = CATALOGUE[condition.fact].type, condition.right.value
    if compared is None:
        right = resolve(condition.right, subject, tables)
        if isinstance(right, Absent):
            return _FALSE
        if isinstance(right, Unknown):
            bound = right.at_least
            if bound is not None and condition.op in _ORDERS and _is_below(kind, left.value, bound):
                return _TRUE if condition.op == "below" else _FALSE
            name = str(condition.right.other or condition.right.lookup)
            return Holding(truth=Truth.UNKNOWN, unknowns=((name, right),))
        compared = right.value
    try:
        true = _compare(condition, kind, left.value, compared)
    except versions.Incomparable as error:
        return Holding(truth=Truth.UNKNOWN, unknowns=((condition.fact, Unknown(reason=str(error))),))
    return _TRUE if true else _FALSE


_ORDERS = ("below", "at_least")


def _bounded(condition: Condition, left: Unknown, subject: Subject, tables: Tables) -> Holding:
    """Decide a condition on what is unknown: only a bound that reaches the right-hand side can."""
    if left.at_least is not None and condition.op in _ORDERS and condition.right is not None:
        right, kind = resolve(condition.right, subject, tables), CATALOGUE[condition.fact].type
        if isinstance(right, Known) and _is_below(kind, left.at_least, right.value) is False:
            return _TRUE if condition.op == "at_least" else _FALSE
    return Holding(truth=Truth.UNKNOWN, unknowns=((condition.fact, left),))


def _is_below(kind: FactType, left: Value, right: Value) -> bool | None:
    try:
        return versions.below(kind, left, right)
    except versions.Incomparable:
        return None


def _compare(condition: Condition, kind: FactType, left: Value, right: Value) -> bool:
    match condition.op:
        case "below":
            return versions.below(kind, left, right)
        case "at_least":
            return not versions.below(kind, left, right)
        case "within":
            return versions.within(left, right)
        case "equals":
            return versions.equal(kind, left, right)
        case "differs":
            return not versions.equal(kind, left, right)
        case "in" | "not_in":
            return isinstance(right, tuple) and (left in right) == (condition.op == "in")
        case "contains" | "lacks":
            return isinstance(left, tuple) and (right in left) == (condition.op == "contains")
        case "exists" | "missing":
            raise AssertionError("decided before")
        case _:
            assert_never(condition.op)


def all_hold(conditions: Sequence[Condition], subject: Subject, tables: Tables) -> Holding:
    """Decide whether all conditions hold; unknowns are reported only if none is false."""
    unknowns: list[tuple[str, Unknown]] = []
    for condition in conditions:
        holding = holds(condition, subject, tables)
        if holding.truth is Truth.FALSE:
            return holding
        unknowns += holding.unknowns
    return Holding(truth=Truth.UNKNOWN if unknowns else Truth.TRUE, unknowns=tuple(unknowns))


def judge(rule: Rule, subject: Subject, tables: Tables, *, worded: bool = True) -> Finding | Undecided | None:
    """Return a finding or an undecided verdict, without words unless `worded`; None when it is clear."""
    verdicts = [(block, holding) for block in rule.detect
                if (holding := all_hold(block.when, subject, tables)).truth is not Truth.FALSE]
    if not verdicts:
        return None
    matched = [block for block, holding in verdicts if holding.truth is Truth.TRUE]
    if matched:
        best = min(matched, key=lambda block: block.certainty is not Certainty.CERTAIN)
        return Finding(
            rule=rule.id, cause=rule.cause, certainty=best.certainty, severity=rule.severity,
            subject=subject.name, message=fill(rule.summary, subject) if worded else "",
            evidence=evidence_of(best, subject) if worded else ())
    asked = [one for one in verdicts if all(unknown.asked for _, unknown in one[1].unknowns)]
    reasons = {name: Evidence(fact=name, saw="unknown", source=unknown.reason)
               for _, holding in (asked or verdicts) if worded for name, unknown in holding.unknowns}
    return Undecided(rule=rule.id, cause=rule.cause, severity=rule.severity, subject=subject.name,
                     reasons=tuple(reasons.values()), asked=bool(asked))


def evaluate(subjects: Subjects, rules: Iterable[Rule], tables: Tables, *, worded: bool = True) -> Judgement:
    """Judge every rule for every subject of its scope, in the order of the rules."""
    findings: list[Finding] = []
    undecided: list[Undecided] = []
    for rule in rules:
        if rule.withdrawn is not None:
            continue
        for subject in subjects[rule.scope]:
            match judge(rule, subject, tables, worded=worded):
                case Finding() as finding:
                    findings.append(finding)
                case Undecided() as open_verdict:
                    undecided.append(open_verdict)
    return Judgement(findings=tuple(findings), undecided=tuple(undecided))
