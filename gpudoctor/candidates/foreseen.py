"""Verdicts that hold whatever driver the machine has, found once for all that it could have.

Few rules ask for the driver. So stacks are judged on the machine with a veil over all that another driver
changes; the rules that looked behind it are asked again on each machine, and no others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import cast

from gpudoctor import derive
from gpudoctor.assume import AssumptionError, lay
from gpudoctor.candidates import cures, drivers, toolkits
from gpudoctor.candidates.ground import Ground
from gpudoctor.candidates.installed import cured, installed
from gpudoctor.candidates.together import Together
from gpudoctor.derive.lazy import LazyFacts
from gpudoctor.derive.stacks import Stack
from gpudoctor.engine import Subject, Subjects, judge
from gpudoctor.facts import CATALOGUE
from gpudoctor.frozen import frozen
from gpudoctor.model import (
    Fact, Facts, Finding, Known, Rule, RuleDatabase, Scope, Severity, Snapshot, Undecided, Unknown,
)

MOST_CURES = 4
_SOURCE = "another driver"
_OF_DRIVER = ("driver.present", "driver.ready", "driver.works", "cuda.serves")  # whatever is installed
_OF_MACHINE = (Scope.HOST, Scope.GPU)


class UnforeseenError(Exception):
    """A verdict rests on what another driver changes."""


class _Veil:
    """Stands for such a fact: asking it anything, also of which kind it is, raises `UnforeseenError`."""

    __slots__ = ()

    def __getattribute__(self, name: str) -> object:
        raise UnforeseenError(name)


_VEIL = cast(Fact, _Veil())


@frozen
class State:
    """A machine under the veil, what the rules of errors say of it, and which of them looked behind it."""

    snapshot: Snapshot
    subjects: Subjects
    said: Sequence[Finding | Undecided]
    asking: tuple[Rule, ...]

    @property
    def errors(self) -> list[Finding]:
        """Return what was found."""
        return [one for one in self.said if isinstance(one, Finding)]


@frozen
class Verdict:
    """Whether stacks fit, as far as no driver has a part in it, and the states that led there."""

    fits: bool
    states: tuple[State, ...]


class Foreseen:
    """Remembers verdicts by what stacks are alike in."""

    def __init__(self, base: Ground, pip: Together) -> None:
        """Take the machine with any of its drivers."""
        self._base, self._pip = base, pip
        self._known: dict[tuple[str, ...], Verdict | None] = {}
        self._errors = [rule for rule in base.database.rules if rule.severity is Severity.ERROR]
        self._curable = [rule for rule in self._errors if cures.is_curable(rule)]

    def fit(self, stacks: Sequence[Stack], key: tuple[str, ...], base: Ground) -> bool | None:
        """Return whether stacks fit a machine; None where they have to be judged there."""
        if not _is_alike(base, self._unchanged):
            return None
        if key not in self._known:
            try:
                veiled = replace(base, snapshot=self._veiled(base.snapshot))
                refusal = self._refusal(stacks, veiled) if len(stacks) > 1 else None
                self._known[key] = refusal or self._verdict(stacks, veiled)
            except (UnforeseenError, AssumptionError):
                self._known[key] = None
        found = self._known[key]
        if found is None:
            return None
        machines = (self._unveiled(state, base) for state in found.states)
        return found.fits if _stands(found, machines, base) else None

    @cached_property
    def _machines(self) -> list[Ground]:
        """Return the machine with each of its drivers, with its own only if that does what others do."""
        base, database = self._base, self._base.database
        laid = [lay(base.snapshot, {"driver": Known(value=driver, source=_SOURCE)}, database.tables,
                    source=_SOURCE) for driver in drivers.others(base)]
        others = [replace(base, snapshot=one, subjects=derive.subjects(one, database)) for one in laid]
        return [base, *others] if not others or _is_alike(base, _of_driver(others[0])) else others

    @cached_property
    def _veils(self) -> Facts:
        """Return a veil for each fact that another driver changes."""
        first, *others = self._machines
        names = (name for other in others for name in _differing(first.snapshot, other.snapshot))
        return dict.fromkeys(names, _VEIL)

    @cached_property
    def _unchanged(self) -> Facts:
        """Return what follows from the driver, and is the same of each."""
        return {name: fact for name, fact in _of_driver(self._machines[0]).items()
                if all(_is_alike(other, {name: fact}) for other in self._machines)}

    def _veiled(self, snapshot: Snapshot) -> Snapshot:
        cards = snapshot.gpus if isinstance(snapshot.gpus, Unknown) else tuple(
            {name: self._veils.get(name, fact) for name, fact in card.items()} for card in snapshot.gpus)
        host = {name: self._veils.get(name, fact) for name, fact in snapshot.host.items()}
        return replace(snapshot, host={**host, **self._unchanged}, gpus=cards)

    def _unveiled(self, state: State, base: Ground) -> Subjects:
        """Return a state as it is on a machine; what was computed under the veil holds there as well."""
        real = {name: base.snapshot.host[name] for name in self._veils if name in base.snapshot.host}
        host = {name: fact for name, fact in state.snapshot.host.items() if name not in self._unchanged}
        snapshot = replace(state.snapshot, host={**host, **real}, gpus=base.snapshot.gpus)
        subjects = derive.subjects(snapshot, base.database)
        for scope, mine in subjects.items():
            for subject, veiled in zip(mine, state.subjects[scope], strict=True):
                if isinstance(subject.facts, LazyFacts) and isinstance(veiled.facts, LazyFacts):
                    subject.facts.take_over(veiled.facts, _VEIL)
        return subjects

    # -- under the veil --------------------------------------------------------------------------------------

    def _refusal(self, stacks: Sequence[Stack], base: Ground) -> Verdict | None:
        """Return the verdict on a set that the first fix refuses, as what it brings never goes together.

        What it brings stays, whatever else is found. So only the rules are asked whose fix comes before it.
        """
        snapshot = installed(stacks, base)
        subjects = derive.subjects(snapshot, base.database)
        asking: list[Rule] = []
        for rule in self._curable:
            said = self._heard(rule, subjects, base.database)
            if said is None:
                asking.append(rule)
            elif found := [one for one in said if isinstance(one, Finding)]:
                first = State(snapshot=snapshot, subjects=subjects, said=found, asking=tuple(asking))
                cure = next(cures.possible(found, subjects, base.database), None)
                if cure is None:
                    continue
                brought = {cure.framework: cured(snapshot, cure, base)[1]}
                if self._pip.lasting_clash(stacks, brought) is None:
                    return None
                after = self._proof(cure, first, base)
                return None if after is None else Verdict(fits=False, states=(first, after))
        return None

    def _verdict(self, stacks: Sequence[Stack], base: Ground) -> Verdict:
        """Return the verdict, reached as on a machine; raise `UnforeseenError`."""
        states = [self._state(installed(stacks, base), base.database)]
        toolkit, taken, brought = None, 0, dict[str, Sequence[str]]()
        while states[-1].errors and taken < MOST_CURES:
            snapshot = states[-1].snapshot
            found = self._cured(states[-1], base)
            if found is not None:
                cure, after = found
                taken += 1
                new = cured(snapshot, cure, base)[1]
                brought[cure.framework] = (*brought.get(cure.framework, ()), *new)
                states.append(after)
                continue
            if toolkit is None:
                toolkit = toolkits.wanted(stacks, states[-1].subjects[Scope.FRAMEWORK])
                if toolkit is not None:
                    laid = toolkits.laid(snapshot, toolkit, base.database.tables)
                    states.append(self._state(laid, base.database))
                    continue
            break
        fits = (not states[-1].said and _is_code_known(states[-1].subjects)
                and (len(stacks) == 1 or self._pip.clash(stacks, brought) is None))
        return Verdict(fits=fits, states=tuple(states))

    def _state(self, snapshot: Snapshot, database: RuleDatabase) -> State:
        """Return what the rules say; raise `UnforeseenError` where no card is ready for what is installed."""
        subjects = derive.subjects(snapshot, database)
        if not any(_is_ready(pair) for pair in subjects[Scope.PAIR]):
            raise UnforeseenError("pair.ready")
        every: list[Finding | Undecided] = []
        asking: list[Rule] = []
        for rule in self._errors:
            said = self._heard(rule, subjects, database)
            if said is None:
                asking.append(rule)
            else:
                every += said
        return State(snapshot=snapshot, subjects=subjects, said=every, asking=tuple(asking))

    @staticmethod
    def _heard(rule: Rule, subjects: Subjects, database: RuleDatabase) -> list[Finding | Undecided] | None:
        """Return what a rule says; None where each machine has to be asked, as it looked behind the veil."""
        try:
            said = _said(rule, subjects, database)
        except UnforeseenError:
            return None
        return None if said and rule.scope in _OF_MACHINE else said  # perhaps it was there before

    def _cured(self, state: State, base: Ground) -> tuple[cures.Cure, State] | None:
        """Return the first fix that is proven, and what it leads to; raise `UnforeseenError`."""
        for cure in cures.possible(state.errors, state.subjects, base.database):
            after = self._proof(cure, state, base)
            if after is not None:
                return cure, after
        return None

    def _proof(self, cure: cures.Cure, state: State, base: Ground) -> State | None:
        """Return what a fix leads to, None where it is not proven; raise `UnforeseenError`."""
        if not all(name in CATALOGUE and CATALOGUE[name].scope is Scope.HOST for name in cure.effect):
            raise UnforeseenError(cure.finding.rule)  # one place of several: proven otherwise than taken
        after = self._state(cured(state.snapshot, cure, base)[0], base.database)
        if any(rule.id == cure.finding.rule for rule in after.asking):
            raise UnforeseenError(cure.finding.rule)
        refused = any(_objects(one, cure, state.subjects, base.database) for one in after.said)
        return None if refused else after


def _of_driver(base: Ground) -> Facts:
    return {name: base.fact(name) for name in _OF_DRIVER}


def _is_alike(base: Ground, facts: Facts) -> bool:
    """Return whether these facts are so on a machine."""
    return all(_read(base.fact(name)) == _read(fact) for name, fact in facts.items())


def _stands(found: Verdict, machines: Iterable[Subjects], base: Ground) -> bool:
    """Return whether the rules that looked behind the veil leave a verdict as it is, in all its states."""
    had = base.had
    for state, subjects in zip(found.states, machines, strict=True):
        said = [one for rule in state.asking for one in _said(rule, subjects, base.database)
                if (one.rule, one.subject) not in had]
        if any(isinstance(one, Finding) for one in said) or (said and state is found.states[-1]):
            return False
    return True


def _objects(one: Finding | Undecided, cure: cures.Cure, before: Subjects, database: RuleDatabase) -> bool:
    """Return whether what is said after a fix keeps it from being proven: it is not cured, or was caused."""
    if (one.rule, one.subject) == (cure.finding.rule, cure.finding.subject):
        return True
    if not isinstance(one, Finding):
        return False
    rule, subject = cures.where(one, before, database)
    return judge(rule, subject, database.tables, worded=False) is None


def _said(rule: Rule, subjects: Subjects, database: RuleDatabase) -> list[Finding | Undecided]:
    """Return what a rule says that keeps stacks from being offered: what it finds, or cannot judge."""
    said = (judge(rule, subject, database.tables, worded=False) for subject in subjects[rule.scope])
    return [one for one in said if isinstance(one, Finding) or (one is not None and one.asked)]


def _is_ready(pair: Subject) -> bool:
    ready = pair.fact("pair.ready")
    return isinstance(ready, Known) and ready.value is True


def _is_code_known(subjects: Subjects) -> bool:
    return all(isinstance(pair.fact("pair.code"), Known) for pair in subjects[Scope.PAIR] if _is_ready(pair))


def _differing(one: Snapshot, other: Snapshot) -> Iterator[str]:
    """Yield the names of facts that are not the same on two machines with the same cards."""
    yield from _unlike(one.host, other.host)
    if not isinstance(one.gpus, Unknown) and not isinstance(other.gpus, Unknown):
        for mine, theirs in zip(one.gpus, other.gpus, strict=True):
            yield from _unlike(mine, theirs)


def _unlike(facts: Facts, others: Facts) -> Iterator[str]:
    return (name for name in {**facts, **others} if _read(facts.get(name)) != _read(others.get(name)))


def _read(fact: Fact | None) -> tuple[object, ...]:
    """Return what rules can tell of a fact, which is not in whose words it stands."""
    match fact:
        case Known():
            return "known", fact.value
        case Unknown():
            return "unknown", fact.asked, fact.at_least
        case _:
            return ("absent" if fact is not None else "",)
