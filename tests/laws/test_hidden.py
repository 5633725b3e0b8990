"""Knowing more of a machine flips no verdict: what was derived without a fact is derived the same with it.

Which of several pages is the one may still turn on a fact that nobody could look at; that there is a fault,
or none, never does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from gpudoctor import derive, ruledb
from gpudoctor.engine import evaluate
from gpudoctor.model import Case, Fact, Facts, RuleDatabase, Severity, Snapshot, Unknown
from gpudoctor.proving.proofs import case_snapshot

# Each line is a fact that another stands in for where nobody could look, and a page that is decided by that
# (decision 137 says why). One that is mended is taken out; none may come.
KNOWN = Path(__file__).parent / "known_flips.txt"
HIDDEN: Fact = Unknown(reason="hidden by the law")
Verdicts = tuple[set[tuple[str, str]], set[tuple[str, str]], set[str]]


def verdicts(snapshot: Snapshot, rules: RuleDatabase) -> Verdicts:
    """Return what is found, what is undecided, and who was judged."""
    subjects = derive.subjects(snapshot, rules)
    found = evaluate(subjects, rules.rules, rules.tables, worded=False)
    return ({(one.rule, one.subject) for one in found.findings},
            {(one.rule, one.subject) for one in found.undecided},
            {one.name for listed in subjects.values() for one in listed})


def hidden(snapshot: Snapshot, case: Case) -> Iterator[tuple[str, Snapshot]]:
    """Yield the machine of a case with one of the facts that the case is about unknown."""
    names = [name for name in (*case.facts, *case.absent) if name != "framework.name"]
    for name in names:
        def without(holder: Facts, name: str = name) -> Facts:
            is_there = name in holder and not isinstance(holder[name], Unknown)
            return {**holder, name: HIDDEN} if is_there else holder

        gpus, frameworks = snapshot.gpus, snapshot.frameworks
        blind = replace(
            snapshot, host=without(snapshot.host),
            gpus=tuple(map(without, gpus)) if isinstance(gpus, tuple) else gpus,
            frameworks=tuple(map(without, frameworks)) if isinstance(frameworks, tuple) else frameworks)
        if blind != snapshot:
            yield name, blind


def flips(case: Case, rules: RuleDatabase) -> Iterator[tuple[str, str]]:
    """Yield the facts without which a page says the opposite, and not that it cannot tell."""
    snapshot = case_snapshot(case, rules)
    found, undecided, here = verdicts(snapshot, rules)
    for name, blind in hidden(snapshot, case):
        guessed, open_, there = verdicts(blind, rules)
        yield from ((name, rule) for rule, subject in guessed - found - undecided if subject in here)
        yield from ((name, rule) for rule, subject in found - guessed - open_ if subject in there)


def test_on_the_machines_of_all_pages_no_fact_flips_another_verdict() -> None:
    """Each fact that a case is about is hidden in turn; a block's own facts are the linter's to hide."""
    rules = ruledb.load(extent="whole")
    seen = {f"{name} {rule}" for page in rules.rules for case in page.case if case.log is None
            for name, rule in flips(case, rules)}
    assert sorted(seen) == KNOWN.read_text("utf-8").splitlines()


def test_no_machine_passes_or_fails_for_want_of_a_fact() -> None:
    """Of a faulty one something is found, or told to be undecided; of a sound one no fault is found."""
    rules = ruledb.load(extent="whole")
    faults = {page.id for page in rules.rules if page.severity is Severity.ERROR}
    wrong = []
    for page in rules.rules:
        for case in (one for one in page.case if one.log is None):
            snapshot = case_snapshot(case, rules)
            found, undecided = (_pages(verdict) & faults for verdict in verdicts(snapshot, rules)[:2])
            for name, blind in hidden(snapshot, case):
                guessed, open_ = (_pages(verdict) & faults for verdict in verdicts(blind, rules)[:2])
                if (found and not guessed | open_) or (guessed and not found | undecided):
                    wrong.append(f"{page.id}: {case.name}, without {name}")
    assert not wrong


def _pages(verdict: set[tuple[str, str]]) -> set[str]:
    return {page for page, _ in verdict}
