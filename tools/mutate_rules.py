"""Change every condition of every rule page a little, and see whether the page's own cases notice.

A condition that can be changed without a case failing is one that nothing proves. Each mutant differs from
its page in one place: an operator turned into its opposite, a condition dropped, or what is compared with
moved to the next version that our tables know, up or down (a number by one). It is killed when a case of the
page no longer gets the verdict, or the block, that it expects.

Usage: python -m tools.mutate_rules [--rules DIR] [--page GPD2010]... [--share 0.2 --seed 1] [-v] [--write]
"""

from __future__ import annotations

import argparse
import random
import re
import sys
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from packaging.version import Version

from gpudoctor import ruledb, versions
from gpudoctor.editions import condition_words
from gpudoctor.engine import Truth, holds, resolve
from gpudoctor.facts import CATALOGUE, ORDERED, FactType
from gpudoctor.frozen import frozen
from gpudoctor.model import (
    Case, Certainty, Condition, Detect, Known, Operand, Operator, Rule, RuleDatabase, Subject, Tables, Value,
)
from gpudoctor.proving.proofs import case_snapshot, case_subjects

ROOT = Path(__file__).resolve().parent.parent
EQUIVALENT = ROOT / "docs" / "mutants.md"
FIGURE = re.compile(r"^\| \d[^|\n]* cases \|.*$", re.MULTILINE)
LEAST_SHARE = 0.95
OPPOSITES: Mapping[Operator, Operator] = {
    "below": "at_least", "at_least": "below", "equals": "differs", "differs": "equals", "in": "not_in",
    "not_in": "in", "contains": "lacks", "lacks": "contains", "exists": "missing", "missing": "exists",
}
_NUMBERS = (FactType.INTEGER, FactType.NUMBER)
Place: TypeAlias = tuple[str, int]  # a block's name, and which of its conditions
Truths: TypeAlias = dict[Place, Truth]
Ladders: TypeAlias = Mapping[FactType, Sequence[Version]]


@frozen
class Mutant:
    """A page with the condition at `place` decided by `judged` instead; None drops it."""

    rule: str
    place: Place
    what: str
    judged: Callable[[Subject], Truth] | None

    @property
    def name(self) -> str:
        """Return what the list of equivalent mutants calls it."""
        return f"{self.rule} / {self.place[0]} / {self.what}"


# -- making ----------------------------------------------------------------------------------------

def mutants(rule: Rule, tables: Tables, ladders: Ladders) -> Iterator[Mutant]:
    """Yield every mutant of a page."""
    for block in rule.detect:
        for number, condition in enumerate(block.when):
            yield from _of_condition(rule, block, number, condition, tables, ladders)


def _of_condition(rule: Rule, block: Detect, number: int, condition: Condition, tables: Tables,
                  ladders: Ladders) -> Iterator[Mutant]:
    def made(what: str, judged: Callable[[Subject], Truth] | None) -> Mutant:
        return Mutant(rule=rule.id, place=(block.name, number), judged=judged,
                      what=f"{condition_words(condition)} -> {what}")

    if condition.op in OPPOSITES:
        opposite = replace(condition, op=OPPOSITES[condition.op])
        yield made(opposite.op, lambda subject: holds(opposite, subject, tables).truth)
    if len(block.when) > 1:
        yield made("dropped", None)
    if condition.op in ("below", "at_least"):
        yield made("next above", lambda subject: _moved(condition, 1, subject, tables, ladders))
        yield made("next below", lambda subject: _moved(condition, -1, subject, tables, ladders))


def _moved(condition: Condition, step: int, subject: Subject, tables: Tables, ladders: Ladders) -> Truth:
    """Decide the condition with its right-hand side moved by one step, wherever that comes from."""
    assert condition.right is not None
    right = resolve(condition.right, subject, tables)
    if isinstance(right, Known):
        value = next_to(right.value, CATALOGUE[condition.fact].type, step, ladders)
        condition = replace(condition, right=Operand(value=value))
    return holds(condition, subject, tables).truth


def ladders_of(tables: Tables) -> dict[FactType, list[Version]]:
    """Return, for each type of version, all that stand in the tables, in their order."""
    found: dict[FactType, set[Version]] = {}
    for table in tables.values():
        for column, name in table.columns.items():
            kind = FactType(name)
            if kind in ORDERED and kind not in _NUMBERS:
                cells = {str(row[column]) for row in table.rows if column in row}
                found.setdefault(kind, set()).update(map(versions.parse, filter(_is_version, cells)))
    return {kind: sorted(known) for kind, known in found.items()}


def _is_version(cell: str) -> bool:
    try:
        versions.parse(cell)
    except versions.Incomparable:
        return False
    return True


def next_to(value: Value, kind: FactType, step: int, ladders: Ladders) -> Value:
    """Return the number or known version next above (`step` 1) or below (-1); at the end one beyond all."""
    if isinstance(value, int | float):
        return value + step
    here, known = versions.parse(str(value)), ladders.get(kind, ())
    place = bisect_right(known, here) if step > 0 else bisect_left(known, here) - 1
    if 0 <= place < len(known):
        return str(known[place])
    return f"{here.major + 1}.0" if step > 0 else "0"


# -- judging ---------------------------------------------------------------------------------------

@frozen
class Seen:
    """A case, and how each condition of its page is decided for each subject."""

    case: Case
    subjects: Sequence[tuple[Subject, Truths]]
    certain: frozenset[str]

    def expects(self, matched: set[str]) -> bool:
        """Say whether the case expects that these blocks match: its own, and none that is more certain."""
        is_certain = not self.certain.isdisjoint(matched)
        return self.case.block in matched and is_certain == (self.case.block in self.certain)


def seen(rule: Rule, database: RuleDatabase) -> list[Seen]:
    """Return the cases of a page that are machines, each judged once: mutants share what does not change."""
    found = []
    certain = frozenset(block.name for block in rule.detect if block.certainty is Certainty.CERTAIN)
    for case in rule.case:
        if case.log is None:
            subjects = case_subjects(case, case_snapshot(case, database), database)[rule.scope]
            judged = [(subject, _truths(rule, subject, database.tables)) for subject in subjects]
            found.append(Seen(case=case, subjects=judged, certain=certain))
    return found


def _truths(rule: Rule, subject: Subject, tables: Tables) -> Truths:
    return {(block.name, number): holds(condition, subject, tables).truth
            for block in rule.detect for number, condition in enumerate(block.when)}


def survives(mutant: Mutant, cases: Sequence[Seen]) -> bool:
    """Say whether every case still gets the verdict and the block that it expects."""
    return all(_is_as_expected(one, mutant) for one in cases)


def _is_as_expected(one: Seen, mutant: Mutant | None) -> bool:
    verdicts = [_blocks(truths if mutant is None else _changed(truths, subject, mutant))
                for subject, truths in one.subjects]
    matched = [{name for name, truth in blocks.items() if truth is Truth.TRUE} for blocks in verdicts]
    first = next((names for names in matched if names), None)
    if first is not None:
        return one.case.expect == "match" and one.expects(first)
    is_open = any(truth is Truth.UNKNOWN for blocks in verdicts for truth in blocks.values())
    return one.case.expect == ("undecided" if is_open else "clear")


def _changed(truths: Truths, subject: Subject, mutant: Mutant) -> Truths:
    if mutant.judged is None:
        return {place: truth for place, truth in truths.items() if place != mutant.place}
    return {**truths, mutant.place: mutant.judged(subject)}


def _blocks(truths: Truths) -> dict[str, Truth]:
    """Return each block's truth: the smallest of its conditions."""
    blocks: dict[str, Truth] = {}
    for (name, _), truth in truths.items():
        blocks[name] = min(truth, blocks.get(name, truth), key=lambda one: one.value)
    return blocks


# -- counting --------------------------------------------------------------------------------------

@frozen
class Count:
    """How many mutants there were, and the names of those that no case noticed."""

    made: int
    survived: tuple[str, ...]

    def words(self, equivalent: frozenset[str]) -> str:
        """Return the figure: equivalent mutants are counted apart, never as killed."""
        same = [name for name in self.survived if name in equivalent]
        told = self.made - len(same)
        killed = self.made - len(self.survived)
        share = killed / told if told else 1.0
        return (f"{self.made} mutants: {killed} killed, {len(self.survived) - len(same)} survived, "
                f"{len(same)} equivalent; {share:.1%} of those that are not equivalent were killed")

    def row(self, database: RuleDatabase, equivalent: frozenset[str]) -> str:
        """Return the figure as the row of the table in docs/mutants.md."""
        same = len([name for name in self.survived if name in equivalent])
        cases = sum(len(rule.case) for rule in database.rules)
        cells = (self.made, self.made - len(self.survived), len(self.survived) - same, same)
        return f"| {database.version}, {cases} cases | {' | '.join(map(str, cells))} |"

    def share(self, equivalent: frozenset[str]) -> float:
        """Return the part of the mutants that are not equivalent that was killed."""
        told = self.made - len([name for name in self.survived if name in equivalent])
        return (self.made - len(self.survived)) / told if told else 1.0


def count(database: RuleDatabase, rules: Sequence[Rule]) -> Count:
    """Make and judge every mutant of the pages; raise `ValueError` for a page whose cases fail unchanged."""
    ladders = ladders_of(database.tables)
    made, survived = 0, []
    for rule in rules:
        cases = seen(rule, database)
        if wrong := [one.case.name for one in cases if not _is_as_expected(one, None)]:
            raise ValueError(f"{rule.path}: the cases {wrong} fail without any change; lint the rules first")
        for mutant in mutants(rule, database.tables, ladders):
            made += 1
            if survives(mutant, cases):
                survived.append(mutant.name)
    return Count(made=made, survived=tuple(survived))


def chosen(database: RuleDatabase, pages: Sequence[str], share: float, seed: int) -> list[Rule]:
    """Return the pages that are judged: those named, or a share of all by chance that the seed fixes."""
    rules = [rule for rule in database.rules if rule.detect and rule.withdrawn is None]
    if pages:
        return [rule for rule in rules if rule.id in pages]
    return random.Random(seed).sample(rules, max(1, round(share * len(rules))))


def equivalents(path: Path = EQUIVALENT) -> frozenset[str]:
    """Return the names of the mutants that the list argues to mean the same as their page."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    return frozenset(line[3:-1] for line in lines if line.startswith("- `GPD"))


def main(arguments: list[str]) -> int:
    """Print the figure; return 1 when too few mutants are killed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rules", type=Path, default=ROOT / "rules", help="a folder of rule pages")
    parser.add_argument("--page", action="append", default=[], help="the id of a page; may be given again")
    parser.add_argument("--share", type=float, default=1.0, help="how many of all pages, drawn by --seed")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("-v", "--verbose", action="store_true", help="name every mutant that survived")
    parser.add_argument("--write", action="store_true", help="the figure of all pages into its document")
    options = parser.parse_args(arguments)
    if options.write and (options.page or options.share != 1.0):
        parser.error("--write is of all pages")
    database = ruledb.load_pages(options.rules)
    found = count(database, chosen(database, options.page, options.share, options.seed))
    same = equivalents()
    if options.verbose:
        for name in found.survived:
            print(f"{name} (equivalent)" if name in same else name)
    print(found.words(same))
    if options.write:
        text = EQUIVALENT.read_text("utf-8")
        EQUIVALENT.write_text(FIGURE.sub(found.row(database, same), text), encoding="utf-8")
    return 0 if found.share(same) >= LEAST_SHARE else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
