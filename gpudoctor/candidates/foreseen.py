"""Verdicts that hold whatever driver the machine has, found once for all that it could have.

Few rules ask for the driver. So stacks are judged on the machine with a veil over all that another driver
changes; the rules that looked behind it are asked again on each machine, and no others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from gpudoctor import derive
from gpudoctor.assume import AssumptionError
from gpudoctor.candidates import cures, toolkits
from gpudoctor.candidates.ground import Ground
from gpudoctor.candidates.installed import cured, installed
from gpudoctor.candidates.together import Together
from gpudoctor.candidates.veil import Drivers, LeftOut, UnforeseenError, by_cards, left_out
from gpudoctor.consequences import key_of
from gpudoctor.derive.stacks import Stack
from gpudoctor.engine import judge
from gpudoctor.facts import CATALOGUE
from gpudoctor.frozen import frozen
from gpudoctor.model import (
    Finding, Known, Rule, RuleDatabase, Scope, Severity, Snapshot, Subject, Subjects, Undecided,
)

MOST_CURES = 4
_OF_MACHINE = (Scope.HOST, Scope.GPU)


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
class Apart:
    """What a fix has to bring to one framework, whose files a package of the `other` writes too."""

    framework: str
    other: str
    brought: tuple[str, ...]


@frozen
class Verdict:
    """Whether stacks fit, as far as no driver has a part in it, and the states that led there.

    `apart` are two of them that refuse it.
    """

    fits: bool
    states: tuple[State, ...]
    apart: Apart | None = None


class Foreseen:
    """Remembers verdicts by what stacks are alike in."""

    def __init__(self, base: Ground, pip: Together) -> None:
        """Take the machine with any of its drivers."""
        self._base, self._pip = base, pip
        self.known: dict[tuple[Drivers, tuple[str, ...]], Verdict | None] = {}
        self._errors = [rule for rule in base.database.rules if rule.severity is Severity.ERROR]
        self._curable = [rule for rule in self._errors if cures.is_curable(rule)]

    def fit(self, stacks: Sequence[Stack], key: tuple[str, ...], base: Ground) -> Verdict | None:
        """Return the verdict on stacks that stands on a machine; None where they have to be judged there."""
        alike = self._drivers.get(left_out(base))
        if alike is None or not alike.are_like(base):
            return None
        if (alike, key) not in self.known:
            try:
                veiled = replace(base, snapshot=alike.veiled(base.snapshot))
                refusal = self._refusal(stacks, veiled) if len(stacks) > 1 else None
                self.known[alike, key] = refusal or self._verdict(stacks, veiled)
            except (UnforeseenError, AssumptionError):
                self.known[alike, key] = None
        found = self.known[alike, key]
        if found is None:
            return None
        machines = (alike.unveiled(state.snapshot, state.subjects, base) for state in found.states)
        return found if _stands(found, machines, base) else None

    @cached_property
    def _drivers(self) -> Mapping[LeftOut, Drivers]:
        """Return the drivers that the machine could have."""
        return by_cards(self._base)

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
                brought = cured(snapshot, cure, base)[1]
                other = self._pip.lasting_clash(stacks, cure.framework, brought)
                if other is None:
                    return None
                after = self._proof(cure, first, base)
                apart = Apart(framework=cure.framework, other=other.framework, brought=tuple(brought))
                return None if after is None else Verdict(fits=False, states=(first, after), apart=apart)
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


def _stands(found: Verdict, machines: Iterable[Subjects], base: Ground) -> bool:
    """Return whether the rules that looked behind the veil leave a verdict as it is, in all its states."""
    had = base.had
    for state, subjects in zip(found.states, machines, strict=True):
        said = [one for rule in state.asking for one in _said(rule, subjects, base.database)
                if key_of(one) not in had]
        if any(isinstance(one, Finding) for one in said) or (said and state is found.states[-1]):
            return False
    return True


def _objects(one: Finding | Undecided, cure: cures.Cure, before: Subjects, database: RuleDatabase) -> bool:
    """Return whether what is said after a fix keeps it from being proven: it is not cured, or was caused."""
    if key_of(one) == key_of(cure.finding):
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
