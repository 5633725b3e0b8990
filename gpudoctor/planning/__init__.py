"""From findings to a plan: a choice among their fixes that holds as a whole. Pure.

Each fix of a report holds by itself. Two that hold may undo one another, change the same variable, or come to
the same. So a plan is made step by step: a fix is laid over the machine as the steps before it leave it, and
all is judged anew there, the fixes with the values that they then have. A choice that brings back what an
earlier step cured is not taken; then the next fix of the finding is tried, or the earlier step's. An error
that only shows behind a step (or is brought about by it) has to be cured by a further one, else the step is
not taken either. A warning in place of an error is taken where nothing better is found, and named.

Nothing else but what was found on the machine is cured. What nobody could judge before, and is foreseen
behind a step, is named and left for another look.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from gpudoctor import derive, remedy
from gpudoctor.consequences import Key, key_of
from gpudoctor.examine import every_finding
from gpudoctor.frozen import frozen
from gpudoctor.model import (
    Absent, Fact, Finding, Judgement, Known, Remedy, Report, RuleDatabase, Severity, Snapshot,
)
from gpudoctor.model.plan import Fault, Plan, Step
from gpudoctor.planning import steps as steps_of_plan
from gpudoctor.planning.steps import Choice

LOOKS = 40  # at machines that are not there, before the best plan so far is taken
_WEIGHTS = {Severity.ERROR: 1000, Severity.WARNING: 1}
_NO_FIX = "none of its fixes holds on this machine"
_FOR_PEOPLE = "nothing that can be typed cures it: its page says what there is to decide"
_SHOWS = "it shows behind the steps before"
_CLASH = "each of its fixes would bring back what another step cures, or bring about another fault"

Refused = frozenset[tuple[str, str, str]]  # rule, subject and what was withdrawn after it had been tried


@frozen
class State:
    """A machine as some steps leave it, and what is found there."""

    snapshot: Snapshot
    findings: Sequence[Finding]
    faults: Mapping[Key, Finding]
    unjudged: frozenset[Key]


def make(report: Report, machine: Snapshot, database: RuleDatabase, refused: Refused = frozenset(),
         allowed: Callable[[Remedy], bool] = lambda _: True, *, foreseen: bool = False) -> Plan:
    """Return the plan for a machine and the report on it.

    `refused` are fixes that were tried in vain (`identity`), `allowed` says which others may be used.
    `machine` is what was examined, without what is computed from it: that is computed anew after each step.
    What is `foreseen` behind the steps is cured as well where that is asked for.
    """
    planner = _Planner(report, machine, database, refused, allowed, foreseen)
    choices, end = planner.search(planner.begin, (), frozenset()) or ((), planner.begin)
    made = steps_of_plan.ordered(choices, planner.begin.snapshot, database)
    if not holds(machine, database, made, {key_of(choice.finding) for choice in choices}, end):
        made = steps_of_plan.numbered(choices, planner.begin.snapshot, database)
    made = steps_of_plan.without_abandoned(made, database)
    left = [fault_of(finding, why=planner.reason(key)) for key, finding in planner.begin.faults.items()
            if key in end.faults]
    later = [fault_of(finding) for key, finding in end.faults.items() if key not in planner.begin.faults]
    return Plan(report=report, machine=machine, steps=made, left=tuple(left), later=tuple(later))


def identity(rule: str, subject: str, env: Mapping[str, str], unset: Iterable[str]) -> tuple[str, str, str]:
    """Return what tells a fix of the environment from another one of the same finding."""
    return rule, subject, "\0".join((*(f"{name}={value}" for name, value in env.items()), *unset))


def after(machine: Snapshot, database: RuleDatabase, done: Iterable[Step]) -> State | None:
    """Return the machine as these steps leave it, in their order; None where that cannot be told."""
    snapshot = machine
    for step in done:
        if step.effect:
            changed = _changed(snapshot, step.effect, step.cures[0], database, step.title)
            if changed is None:
                return None
            snapshot = changed
    return _state(snapshot, remedy.diagnose(snapshot, database))


def holds(machine: Snapshot, database: RuleDatabase, made: Sequence[Step], cured: Collection[Key],
          end: State) -> bool:
    """Return whether the steps in their order come to the same end."""
    state = after(machine, database, made)
    return state is not None and not set(state.faults) & set(cured) and set(state.faults) <= set(end.faults)


def fault_of(finding: Finding, why: str = "") -> Fault:
    """Return a finding as a plan names it."""
    return Fault(rule=finding.rule, cause=finding.cause, severity=finding.severity, subject=finding.subject,
                 message=finding.message, why=why)


def _state(snapshot: Snapshot, judgement: Judgement) -> State:
    return State(snapshot=snapshot, findings=judgement.findings, faults=_faults(judgement.findings),
                 unjudged=frozenset(key_of(open_) for open_ in judgement.undecided if open_.asked))


def _faults(findings: Iterable[Finding]) -> dict[Key, Finding]:
    return {key_of(finding): finding for finding in every_finding(tuple(findings))
            if finding.severity.is_fault}


def _changed(snapshot: Snapshot, effect: Mapping[str, object], fault: Finding | Fault,
             database: RuleDatabase, title: str) -> Snapshot | None:
    """Lay the effect of a fix over the machine, where the finding's subject is."""
    rule = next(rule for rule in database.rules if rule.id == fault.rule)
    subjects = derive.subjects(snapshot, database)[rule.scope]
    subject = next((one for one in subjects if one.name == fault.subject), None)
    if subject is None:
        return None
    source = f"step: {title}"
    facts: dict[str, Fact] = {
        name: Absent(source=source) if value is None else Known(value=value, source=source)  # type: ignore[arg-type]
        for name, value in effect.items()}
    return remedy.changed(snapshot, facts, subject, database, source=source)


def _is_of_hardware(chosen: Sequence[Choice]) -> bool:
    return bool(chosen) and chosen[-1].remedy.kind == "hardware"


class _Planner:
    """Looks for the choice of fixes that leaves least."""

    def __init__(self, report: Report, machine: Snapshot, database: RuleDatabase, refused: Refused,
                 allowed: Callable[[Remedy], bool], foreseen: bool) -> None:
        self._allowed = allowed
        self._foreseen = foreseen
        self._database = database
        self._refused = refused
        self.begin = State(
            snapshot=machine, findings=report.findings, faults=_faults(report.findings),
            unjudged=frozenset(key_of(open_) for open_ in report.undecided if open_.asked))
        self._open = {key_of(open_) for open_ in report.undecided}
        self._hopeless = sum(_WEIGHTS[finding.severity] for finding in report.findings
                             if finding.severity.is_fault and not any(map(allowed, finding.fixes)))
        self._looks = 0
        self._reasons: dict[Key, dict[str, None]] = {}

    def search(self, state: State, chosen: tuple[Choice, ...],
               given_up: frozenset[Key]) -> tuple[tuple[Choice, ...], State] | None:
        """Return the best continuation of the choices so far, and the machine at its end.

        None where an error is left there that was not found at the beginning.
        """
        if _is_of_hardware(chosen):
            return chosen, state  # what a mended card shows is looked for when it is there
        ours = set(state.faults) if self._foreseen else self._ours(state)
        finding = next((f for f in state.findings if key_of(f) in ours and key_of(f) not in given_up), None)
        if finding is None:
            return None if self._brought(state) else (chosen, state)
        best: tuple[tuple[Choice, ...], State] | None = None
        fixes = finding.fixes or remedy.cures_alone(finding, state.snapshot, self._database)
        for fix in filter(self._allowed, fixes):
            following = self._after(state, chosen, finding, fix)
            if following is None:
                continue
            cures = self._cures(finding, state, following)
            choice = Choice(finding=finding, remedy=fix, before=state.snapshot, cures=cures)
            found = self.search(following, (*chosen, choice), given_up)
            if found is None:
                self._note(finding, self._bringing(fix, following))
                continue
            if best is None or self._left(*found) < self._left(*best):
                best = found
            if self._left(*best) <= self._hopeless or self._looks >= LOOKS:
                return best
        without = self.search(state, chosen, given_up | {key_of(finding)})
        if best is None or without is None:
            return best or without
        return without if self._left(*without) < self._left(*best) else best

    def _cures(self, finding: Finding, state: State, following: State) -> tuple[Fault, ...]:
        """Return what a step cures, what it was chosen for before the rest."""
        others = [fault_of(fault) for key, fault in self.begin.faults.items()
                  if key in state.faults and key not in following.faults and key != key_of(finding)]
        found = key_of(finding) in self.begin.faults
        return (fault_of(finding, why="" if found else _SHOWS), *others)

    def _left(self, chosen: Sequence[Choice], state: State) -> int:
        """Return how much is wrong at the end; what shows once hardware is mended was wrong before."""
        ours = self._ours(state) & set(self.begin.faults) if _is_of_hardware(chosen) else self._ours(state)
        return sum(_WEIGHTS[state.faults[key].severity] for key in ours)

    def _ours(self, state: State) -> set[Key]:
        """Return the faults of a machine that were found at the beginning, or that a step brought about."""
        return {key for key in state.faults if key in self.begin.faults or key not in self._open}

    def _after(self, state: State, chosen: Sequence[Choice], finding: Finding, fix: Remedy) -> State | None:
        """Return the machine behind one more step, None where the step may not be taken."""
        unset = steps_of_plan.unset_by(fix)
        if identity(finding.rule, finding.subject, fix.env, unset) in self._refused:
            self._note(finding, "its fix was tried in a child process and did not cure it")
            return None
        self._looks += 1
        if self._looks > 4 * LOOKS:
            return None
        snapshot = _changed(state.snapshot, fix.effect, finding, self._database, fix.title)
        if snapshot is None:
            return None
        following = _state(snapshot, remedy.diagnose(snapshot, self._database))
        roots = {key_of(choice.finding) for choice in chosen}
        undone = [key for key in self.begin.faults if (key in following.faults and key not in state.faults)
                  or (key in roots and key in following.unjudged)]
        for key in undone:
            fault = self.begin.faults[key]
            self._note(finding, f"{fix.title!r} would bring back {fault.cause} [{fault.subject}]")
        cured = key_of(finding) not in following.faults and key_of(finding) not in following.unjudged
        return following if cured and not undone else None

    def _brought(self, state: State) -> list[Finding]:
        """Return the errors of a machine that were not found at the beginning, nor open then."""
        return [state.faults[key] for key in sorted(self._ours(state)) if key not in self.begin.faults
                and state.faults[key].severity is Severity.ERROR]

    def _bringing(self, fix: Remedy, following: State) -> str:
        names = ", ".join(f"{found.cause} [{found.subject}]" for found in self._brought(following))
        return f"{fix.title!r} would bring about {names or 'another error'}"

    def _note(self, finding: Finding, why: str) -> None:
        self._reasons.setdefault(key_of(finding), {})[why] = None

    def reason(self, key: Key) -> str:
        """Return why no step cures a finding."""
        held = any(self._allowed(fix) for fix in self.begin.faults[key].fixes)
        has_some = any(rule.id == key[0] and rule.fix for rule in self._database.rules)
        return "; ".join(self._reasons.get(key, ())) or (
            _CLASH if held else _NO_FIX if has_some else _FOR_PEOPLE)
