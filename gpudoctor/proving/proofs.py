"""What a rule must prove: its cases, coverage, blindness, the cure of every fix, what matches beside it."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import permutations

from gpudoctor import derive, remedy
from gpudoctor.assume import AssumptionError, lay
from gpudoctor.engine import Truth, all_hold, evaluate, holds, judge
from gpudoctor.facts import CATALOGUE
from gpudoctor.model import (
    Absent, Case, Detect, Fact, Finding, Fix, Judgement, Known, Rule, RuleDatabase, Snapshot, Subject,
    Subjects, Undecided, Unknown,
)
from gpudoctor.skeleton import OF_A_SITE
from gpudoctor.words import always_said, placeholders


def case_snapshot(case: Case, database: RuleDatabase) -> Snapshot:
    """Return the machine of a case; raise `AssumptionError`."""
    facts: dict[str, Fact] = {name: Known(value=value, source="case") for name, value in case.facts.items()}
    facts.update({name: Absent(source="case") for name in case.absent})
    hidden = [name for name in case.unknown if not _is_derived(name)]
    facts.update(dict.fromkeys(hidden, Unknown(reason="hidden by the case")))
    return lay(database.base, facts, database.tables, source="case")


def _is_derived(name: str) -> bool:
    return name in CATALOGUE and CATALOGUE[name].derived


def case_subjects(case: Case, snapshot: Snapshot, database: RuleDatabase) -> Subjects:
    """Return the subjects of a case, with derived facts hidden where the case says so."""
    hidden = {name: Unknown(reason="hidden by the case") for name in case.unknown if _is_derived(name)}
    return {scope: [_with(subject, hidden) for subject in listed]
            for scope, listed in derive.subjects(snapshot, database).items()}


def _with(subject: Subject, facts: Mapping[str, Fact]) -> Subject:
    return replace(subject, facts=ChainMap(dict(facts), subject.facts))  # type: ignore[arg-type]


def proof_problems(rule: Rule, database: RuleDatabase) -> Iterator[str]:
    """Yield what the cases of a rule fail to prove."""
    seen: dict[tuple[str, int], set[Truth]] = {}
    offered: set[str] = set()
    for case in rule.case:
        if case.log is not None:
            continue  # `logs.py` proves those
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
        before = evaluate(subjects, database.rules, database.tables)
        yield from (f"case {case.name!r}: {p}" for p in (
            *strangers(before, database, rule),
            *_case(case, rule, snapshot, subjects, before, database, offered)))
    for block in rule.detect:
        for index, condition in enumerate(block.when):
            for wanted in (Truth.TRUE, Truth.FALSE):
                if wanted not in seen.get((block.name, index), set()):
                    yield (f"no case makes {condition.fact} {condition.op} (block {block.name!r}) "
                           f"{wanted.name.lower()}")
    if rule.detect:
        yield from (f"no case is offered the fix {fix.title!r}"
                    for fix in rule.fix if fix.title not in offered)


def _case(case: Case, rule: Rule, snapshot: Snapshot, subjects: Subjects, before: Judgement,
          database: RuleDatabase, offered: set[str]) -> Iterator[str]:
    verdicts = [(subject, judge(rule, subject, database.tables)) for subject in subjects[rule.scope]]
    matches = [(s, v) for s, v in verdicts if isinstance(v, Finding)]
    blind = any(isinstance(v, Undecided) for _, v in verdicts)
    got = "match" if matches else "undecided" if blind else "clear"
    if got != case.expect:
        yield f"expected {case.expect}, got {got}"
        return
    if not matches:
        return
    subject, finding = matches[0]
    blocks = [b for b in rule.detect if all_hold(b.when, subject, database.tables).truth is Truth.TRUE]
    if case.block is None or case.block not in {block.name for block in blocks}:
        yield f"names block {case.block!r}, but {' and '.join(repr(b.name) for b in blocks)} matched"
        return
    named = next(b for b in blocks if b.name == case.block)
    if named.certainty is not finding.certainty:
        yield f"names block {case.block!r}, which is only likely, but a block that is certain matched as well"
    yield from _blindness(named, subject, database)
    yield from _blanks(rule, subject)
    offers = offered_to(subject, rule, database)
    offered |= {fix.title for fix in offers}
    if not as_expected(case, rule, offers):
        yield (f"it is offered {[fix.title for fix in offers]}; where that is right, the case names them "
               "by their beginnings: offers = [...]")
    for fix in offers:
        if remedy.prove(fix, subject, finding, before, snapshot, database) is None:
            yield (f"fix {fix.title!r} does not clear it, or makes another rule match, "
                   "or cannot be made concrete")


def offered_to(subject: Subject, rule: Rule, database: RuleDatabase) -> list[Fix]:
    """Return the fixes whose conditions hold."""
    return [fix for fix in rule.fix if all_hold(fix.when, subject, database.tables).truth is Truth.TRUE]


def as_expected(case: Case, rule: Rule, offers: Sequence[Fix]) -> bool:
    """Say whether these are the fixes that a case is to be offered: at least one, where it does not say."""
    if case.offers is None:
        return bool(offers) or not rule.fix
    return len(offers) == len(case.offers) and all(
        fix.title.startswith(beginning) for fix, beginning in zip(offers, case.offers, strict=True))


def _blindness(block: Detect, subject: Subject, database: RuleDatabase) -> Iterator[str]:
    names = {condition.fact for condition in block.when}
    for right in filter(None, (condition.right for condition in block.when)):
        names |= {name for name in (right.other, *right.key) if name and not name.startswith("'")}
    for name in sorted(names):
        hidden = _with(subject, {name: Unknown(reason="hidden by the linter")})
        if all_hold(block.when, hidden, database.tables).truth is not Truth.UNKNOWN:
            yield f"with {name} hidden the block {block.name!r} is still decided"


def _blanks(rule: Rule, subject: Subject) -> Iterator[str]:
    """Yield what the summary names and nobody knows on a machine that the rule was found on."""
    for name in placeholders(always_said(rule.summary)):
        if isinstance(subject.fact(name), Unknown):
            yield f"the summary names {name}, which is unknown here; write [?...] around that part"


def strangers(found: Judgement, database: RuleDatabase, of: Rule | None = None) -> Iterator[str]:
    """Yield pages of one family that match together, and that do not name each other in their texts.

    A published page knows of no site's own: those name what they are found with on their own cases; `of` is
    the page whose case it is.
    """
    ids = {finding.rule for finding in found.findings}
    for one, other in permutations([rule for rule in database.rules if rule.id in ids], 2):
        is_sites = other.id.startswith(OF_A_SITE), one.id.startswith(OF_A_SITE)
        knows_none = is_sites == (True, False) or (is_sites == (False, True) and of is not one)
        is_family = one.path.partition("/")[0] == other.path.partition("/")[0]
        if is_family and other.id not in one.page and not knows_none:
            yield f"{other.id} matches as well: the page of {one.id} must name {other.id}"
