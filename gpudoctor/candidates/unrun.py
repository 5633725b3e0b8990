"""Rules, or blocks of one, about nothing but what was run: none can speak of what is not installed yet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from gpudoctor.assume import seen_by_running
from gpudoctor.derive import frameworks
from gpudoctor.derive.lazy import LazyFacts
from gpudoctor.engine import Truth, holds
from gpudoctor.facts import CATALOGUE
from gpudoctor.model import (
    Condition, Detect, Fact, Facts, Rule, RuleDatabase, Scope, Snapshot, Subject, Unknown,
)

NOT_RUN = Unknown(reason="what is not installed cannot be run", asked=False)
_OF_FRAMEWORK = (Scope.FRAMEWORK, Scope.PAIR)


class _OpenError(Exception):
    """A fact was asked for that is not the same of every release."""


class _Open(Mapping[str, Fact]):
    """Facts that are not the same of every release, or of every machine."""

    def __getitem__(self, name: str) -> Fact:
        """Raise `_OpenError`."""
        raise _OpenError(name)

    def __iter__(self) -> Iterator[str]:
        """Yield nothing: none is known."""
        return iter(())

    def __len__(self) -> int:
        """Return 0."""
        return 0


def speaking(rules: Iterable[Rule], snapshot: Snapshot, database: RuleDatabase) -> tuple[Rule, ...]:
    """Return the rules that may find something, or ask for something, of a release that was never run.

    Of each only the blocks that may.
    """
    seen: Facts = {name: NOT_RUN for name, spec in CATALOGUE.items()
                   if spec.scope is Scope.FRAMEWORK and seen_by_running(name)}
    cards, blind = ((), snapshot.gpus) if isinstance(snapshot.gpus, Unknown) else (snapshot.gpus, None)
    release = Subject(name="any release", missing=NOT_RUN, facts=LazyFacts(
        seen, _Open(), frameworks.derivations(cards, blind), database, NOT_RUN))
    some = (rule if rule.scope not in _OF_FRAMEWORK else replace(
        rule, detect=tuple(block for block in rule.detect if _may_hold(block, release, database)))
        for rule in rules)
    return tuple(rule for rule in some if rule.detect)


def _may_hold(block: Detect, release: Subject, database: RuleDatabase) -> bool:
    return all(_is_open(condition, release, database) for condition in block.when)


def _is_open(condition: Condition, release: Subject, database: RuleDatabase) -> bool:
    """Return whether a condition may hold of some release; one that nobody asked about does not count."""
    try:
        holding = holds(condition, release, database.tables)
    except _OpenError:
        return True
    return holding.truth is Truth.TRUE or (
        holding.truth is Truth.UNKNOWN and all(unknown.asked for _, unknown in holding.unknowns))
