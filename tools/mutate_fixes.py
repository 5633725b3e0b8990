"""Change every proven fix of the rule pages a little, and see whether the page's own cases notice.

Each mutant differs from its page in one place: a fix is left out, is offered where one of its conditions does
not hold or whatever it says, a step of its effect is left out or leads elsewhere, or it prints another value
of a variable. A case notices when it is no longer offered the fixes that it expects, or when what it is
offered no longer cures it: the finding stays, or another comes. The linter notices when what is printed is
not what is proven.

Usage: python -m tools.mutate_fixes [--rules DIR] [--page GPD2010]... [-v] [--write]
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from gpudoctor import remedy, ruledb
from gpudoctor.editions import condition_words
from gpudoctor.engine import Truth, evaluate, holds, judge, resolve
from gpudoctor.facts import CATALOGUE, FactType
from gpudoctor.frozen import frozen
from gpudoctor.model import (
    Case, Effect, Finding, Fix, Judgement, Known, Operand, Rule, RuleDatabase, Subject, Value,
)
from gpudoctor.proving.form import printed_otherwise
from gpudoctor.proving.proofs import as_expected, case_snapshot, case_subjects, offered_to
from gpudoctor.words import always_said, placeholders
from tools.mutate_rules import EQUIVALENT, LEAST_SHARE, OPPOSITES, ROOT, Count, Ladders, ladders_of

# Of a step it is only provable that the finding stays without it: what else becomes well is not.
OFFERS, STEPS = KINDS = ("what is offered and printed", "steps of effects")
STEP = "effect on "
# What a fix is to bring about: an effect of these alone says that it helps, and not by what.
OUTCOMES = frozenset({
    "framework.import_outcome", "framework.stages", "framework.log", "gpu.driver_kernel",
    "gpu.driver_kernel_answer"})
ASSUMED = {"driver": FactType.DRIVER_VERSION, "cc": FactType.COMPUTE_CAPABILITY,
           "python": FactType.PYTHON_VERSION}
NUMBERS = (FactType.FLAG, FactType.INTEGER, FactType.NUMBER)


@frozen
class Mutant:
    """A page with a fix as it is `on` a machine instead; None where it is left out."""

    what: str
    fix: Fix
    on: Callable[[Subject], Fix | None]


class Machine:
    """A case that matches: what is found there, and which fixes of the page as it stands cure it."""

    def __init__(self, case: Case, rule: Rule, database: RuleDatabase) -> None:
        self.case, self.rule, self.database = case, rule, database
        self.snapshot = case_snapshot(case, database)
        self.subjects = case_subjects(case, self.snapshot, database)
        judged = ((one, judge(rule, one, database.tables)) for one in self.subjects[rule.scope])
        self.subject, self.finding = next((one, found) for one, found in judged if isinstance(found, Finding))

    @cached_property
    def before(self) -> Judgement:
        """Return all that is found."""
        return evaluate(self.subjects, self.database.rules, self.database.tables)

    @cached_property
    def offers(self) -> list[Fix]:
        """Return the fixes of the page as it stands."""
        return offered_to(self.subject, self.rule, self.database)

    def cured_by(self, fix: Fix) -> bool:
        """Say whether a fix clears what is found and causes nothing else."""
        found = remedy.prove(fix, self.subject, self.finding, self.before, self.snapshot, self.database)
        return found is not None

    def notices(self, mutant: Mutant) -> bool:
        """Say whether the case is offered other fixes than it expects, or one that does not cure it."""
        changed = mutant.on(self.subject)
        fixes = [changed if fix is mutant.fix else fix for fix in self.rule.fix]
        rule = replace(self.rule, fix=tuple(fix for fix in fixes if fix is not None))
        offers = offered_to(self.subject, rule, self.database)
        if not as_expected(self.case, self.rule, offers):
            return True
        return any(fix is changed and fix not in self.offers and not self.cured_by(fix) for fix in offers)


# -- making ----------------------------------------------------------------------------------------

def mutants(fix: Fix, database: RuleDatabase, ladders: Ladders) -> Iterator[Mutant]:
    """Yield every mutant of a fix."""
    def made(what: str, **parts: Any) -> Mutant:
        changed = replace(fix, **parts)
        return Mutant(what=what, fix=fix, on=lambda _: changed)

    yield Mutant(what="left out", fix=fix, on=lambda _: None)
    texts = (*fix.commands, *fix.env.values(), always_said(fix.title), fix.image or "", fix.undo or "")
    named = {name for text in texts for name in placeholders(text)}
    for condition in fix.when:
        if condition.op == "exists" and condition.fact in named:
            continue  # a fix that names what is not known is not given in any case
        others, words = tuple(one for one in fix.when if one is not condition), condition_words(condition)
        yield made(f"{words} -> dropped", when=others)
        if opposite := OPPOSITES.get(condition.op):
            yield made(f"{words} -> {opposite}", when=(*others, replace(condition, op=opposite)))
    yield from (made(f"{STEP}{step[0].fact} -> left out",
                     effect=tuple(one for one in fix.effect if one not in step))
                for step in steps(fix) if len(step) < len(fix.effect))
    for effect in fix.effect:
        if is_ordered(effect.fact, ladders):
            yield Mutant(what=f"{STEP}{effect.fact} -> another", fix=fix,
                         on=_elsewhere(fix, effect, database, ladders))
    for name, said in fix.env.items():
        if fix.effect and (name == "LD_LIBRARY_PATH" or f"environment.{name}" in CATALOGUE):
            yield made(f"{name} -> {said}0", env={**fix.env, name: f"{said}0"})


def steps(fix: Fix) -> list[tuple[Effect, ...]]:
    """Return what an effect changes, one by one; that it then runs well is one step, whichever run tells."""
    outcome = tuple(one for one in fix.effect if one.fact in OUTCOMES)
    return [*((one,) for one in fix.effect if one.fact not in OUTCOMES), *([outcome] if outcome else [])]


def is_ordered(fact: str, ladders: Ladders) -> bool:
    """Say whether a wrong value of a fact can be made of a right one: a flag, a number or a version."""
    kind = kind_of(fact)
    return fact not in OUTCOMES and (kind in ladders or kind in NUMBERS)


def kind_of(fact: str) -> FactType:
    """Return the type of a fact, or of what is assumed by a short name."""
    return ASSUMED.get(fact) or (CATALOGUE[fact].type if fact in CATALOGUE else FactType.TEXT)


def _elsewhere(fix: Fix, effect: Effect, database: RuleDatabase,
               ladders: Ladders) -> Callable[[Subject], Fix]:
    def on(subject: Subject) -> Fix:
        fact = None if effect.right is None else resolve(effect.right, subject, database.tables)
        value = other_than(fact.value if isinstance(fact, Known) else None, effect.fact, ladders)
        changed = Effect(fact=effect.fact, right=Operand(value=value))
        return replace(fix, effect=tuple(changed if one is effect else one for one in fix.effect))

    return on


def other_than(value: Value | None, fact: str, ladders: Ladders) -> Value:
    """Return what a step does not lead to: the other answer, none, the oldest version that is known."""
    match value:
        case bool():
            return not value
        case int() | float():
            return 0 if value else 1
    return str(ladders[kind_of(fact)][0]) if kind_of(fact) in ladders else 0


# -- judging ---------------------------------------------------------------------------------------

def survives(mutant: Mutant, machines: Sequence[Machine]) -> bool:
    """Say whether neither a case nor the linter's look at the page notices."""
    changes = [mutant.on(machine.subject) for machine in machines]
    if any(one is not None and len([*printed_otherwise(one)]) > len([*printed_otherwise(mutant.fix)])
           for one in changes):
        return False
    if changes[0] is not None and not any(
            all(holds(c, machine.subject, machine.database.tables).truth is Truth.TRUE for c in one.when)
            for one, machine in zip(changes, machines, strict=True) if one is not None):
        return False  # the linter refuses a fix that no case is offered
    return not any(machine.notices(mutant) for machine in machines)


def count(database: RuleDatabase, rules: Sequence[Rule]) -> dict[str, Count]:
    """Make and judge every mutant of the fixes of these pages, by what they change."""
    ladders = ladders_of(database.tables)
    made = dict.fromkeys(KINDS, 0)
    survived: dict[str, list[str]] = {kind: [] for kind in KINDS}
    for rule in rules:
        machines = [Machine(case, rule, database) for case in rule.case
                    if case.log is None and case.expect == "match"]
        for fix in rule.fix:
            for mutant in mutants(fix, database, ladders):
                kind = STEPS if mutant.what.startswith(STEP) else OFFERS
                made[kind] += 1
                if survives(mutant, machines):
                    survived[kind].append(f"{rule.id} / {fix.title} / {mutant.what}")
    return {kind: Count(made=made[kind], survived=tuple(survived[kind])) for kind in KINDS}


def row_of_proofs(database: RuleDatabase) -> str:
    """Return how many fixes the overlay proves by what they change, by the outcome alone, and not at all."""
    fixes = [fix for rule in database.rules for fix in rule.fix if rule.withdrawn is None]
    commands = len([fix for fix in fixes if not fix.effect])
    outcome = len([fix for fix in fixes if OUTCOMES.issuperset(one.fact for one in fix.effect)]) - commands
    return f"| all fixes: {len(fixes)} | {len(fixes) - outcome - commands} | {outcome} | {commands} |"


def written(text: str, found: Mapping[str, Count], database: RuleDatabase) -> str:
    """Return the document with the figures in it."""
    for kind, one in found.items():
        row = f"| {kind} | {one.made} | {one.made - len(one.survived)} | {len(one.survived)} |"
        text = re.sub(rf"^\| {kind} \|.*$", row, text, flags=re.MULTILINE)
    return re.sub(r"^\| all fixes:.*$", row_of_proofs(database), text, flags=re.MULTILINE)


def main(arguments: list[str]) -> int:
    """Print the figure; return 1 when too few mutants are killed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rules", type=Path, default=ROOT / "rules", help="a folder of rule pages")
    parser.add_argument("--page", action="append", default=[], help="the id of a page; may be given again")
    parser.add_argument("-v", "--verbose", action="store_true", help="name every mutant that survived")
    parser.add_argument("--write", action="store_true", help="the figure of all pages into its document")
    options = parser.parse_args(arguments)
    database = ruledb.load_pages(options.rules)
    found = count(database, [rule for rule in database.rules if rule.detect and rule.withdrawn is None
                             and (not options.page or rule.id in options.page)])
    for name in [name for one in found.values() for name in one.survived] if options.verbose else ():
        print(name)
    for kind, one in found.items():
        print(f"{kind}: {one.words(frozenset())}")
    print(row_of_proofs(database))
    if options.write:
        EQUIVALENT.write_text(written(EQUIVALENT.read_text("utf-8"), found, database), encoding="utf-8")
    return 0 if found[OFFERS].share(frozenset()) >= LEAST_SHARE else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
