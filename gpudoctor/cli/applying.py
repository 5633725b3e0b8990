"""Run the steps of a plan that were allowed, command by command, and keep how to undo what was done."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from types import FrameType

from gpudoctor import derive, planning
from gpudoctor.as_root import without_sudo
from gpudoctor.cli import installed_packages, packages, relay
from gpudoctor.cli.installed_packages import Manager
from gpudoctor.cli.step_log import Log
from gpudoctor.derive import published
from gpudoctor.frozen import frozen
from gpudoctor.model import Facts, Known, RuleDatabase, Scope
from gpudoctor.model.plan import Outcome, Plan, Step, StepEnd
from gpudoctor.render.plain import printable

SHELL = ("/bin/sh", "-c")
_RESTART = "reboot"
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
_NEXT = " && "
_EXACT = "these are the versions from before; the package sources must still have them"
_STOPPING = ("failed", "interrupted")


class _Stopped(Exception):
    """A signal came while we waited for an answer."""


@frozen
class Permission:
    """What may be done beside the safe steps: each after a question, or nothing, and then why not."""

    may_ask: bool
    why_not: str
    dry_run: bool = False


class Done:
    """What was done so far."""

    def __init__(self) -> None:
        self.ends: list[StepEnd] = []
        self.signal = 0
        self.restarts = False
        self.note = ""
        self._is_asking = False
        self._undo: dict[int, Sequence[str]] = {}

    @property
    def touched(self) -> bool:
        """Whether any command was run."""
        return bool(self._undo)

    def undo(self) -> tuple[str, ...]:
        """Return the commands that undo it, the last step first."""
        return tuple(line for number in sorted(self._undo, reverse=True) for line in self._undo[number])

    def will_need(self, step: Step, undo: Sequence[str]) -> None:
        """Keep what undoes a step."""
        self._undo[step.number] = undo

    def needs_nothing(self, step: Step) -> None:
        """Forget what would undo a step that was not begun."""
        del self._undo[step.number]

    @contextlib.contextmanager
    def heeding_signals(self) -> Iterator[None]:
        """Let a signal end the work behind the command that runs, so that log and way back are whole."""
        def heed(number: int, _: FrameType | None) -> None:
            self.signal = number
            if self._is_asking:
                raise _Stopped

        before = {number: signal.signal(number, heed) for number in _ENDING}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def answer(self, question: str) -> str | None:
        """Ask, and return the answer; None when a signal came instead."""
        try:
            self._is_asking = True
            sys.stderr.write(question)
            sys.stderr.flush()
            return None if self.signal else sys.stdin.readline().strip().lower()
        except _Stopped:
            return None
        finally:
            self._is_asking = False

    def add(self, step: Step, outcome: Outcome, detail: str = "") -> None:
        """Keep what became of a step."""
        self.ends.append(StepEnd(number=step.number, outcome=outcome, detail=detail))


def apply(plan: Plan, database: RuleDatabase, log: Log | None, permission: Permission) -> Done:
    """Run what is allowed: safe steps, and each other one that is said yes to; stop where one fails."""
    done = Done()
    with done.heeding_signals():
        _apply(plan, database, log, permission, done)
    if done.restarts:
        done.note = "The machine restarts: look again when it is up (gpudoctor fix)."
    elif not done.touched:
        done.note = "Nothing was run."
    return done


def _apply(plan: Plan, database: RuleDatabase, log: Log | None, permission: Permission, done: Done) -> None:
    ran: list[Step] = []
    for step in plan.steps:
        if done.signal or done.restarts or any(end.outcome in _STOPPING for end in done.ends):
            done.add(step, "not-reached")
            continue
        refused = _refused(step, ran, plan, database, permission) or _declined(step, permission, done)
        if refused is None and log is not None:
            if _run(step, plan, database, log, done):
                ran.append(step)
            continue
        outcome, detail = refused or ("not-allowed", "there is no log")
        done.add(step, outcome, detail)
        if log is not None:
            log.note(f"step {step.number} was not run ({outcome}{': ' if detail else ''}{detail})")


def _refused(step: Step, ran: Sequence[Step], plan: Plan, database: RuleDatabase,
             permission: Permission) -> tuple[Outcome, str] | None:
    """Return why a step is not run whatever anybody says, None where it may be."""
    if step.done_by != "gpudoctor":
        return step.done_by, step.because
    if permission.dry_run:
        return ("would-run", "") if step.risk == "safe" else ("would-ask", step.risk)
    missing = [one for one in plan.steps[:step.number - 1] if one not in ran]
    if missing and not _cures_without(step, ran, plan, database):
        numbers = ", ".join(str(one.number) for one in missing)
        return "rests-on-another", f"without step {numbers} it would not cure, or do harm"
    if step.risk != "safe" and not permission.may_ask:
        return "not-allowed", f"{step.risk}; {permission.why_not}"
    return None


def _cures_without(step: Step, ran: Sequence[Step], plan: Plan, database: RuleDatabase) -> bool:
    """Say whether a step holds on the machine as only those steps leave it that were run."""
    before = planning.after(plan.machine, database, ran)
    after = planning.after(plan.machine, database, [*ran, step])
    if before is None or after is None:
        return False
    root = (step.cures[0].rule, step.cures[0].subject)
    added = [key for key in after.faults if key not in before.faults and key not in before.unjudged]
    errors = [key for key in added if after.faults[key].severity.rank == 0]
    return root not in after.faults and root not in after.unjudged and not errors


def _declined(step: Step, permission: Permission, done: Done) -> tuple[Outcome, str] | None:
    """Ask about a step that is not safe; None where it is to be run."""
    if step.risk == "safe" or not permission.may_ask:
        return None
    lines = "".join(f"    {printable(command, 4000)}\n" for command in step.commands)
    answer = done.answer(
        f"\nstep {step.number} ({step.risk}): {printable(step.title)}\n{lines}Run it? [y/N] ")
    if answer is None:
        return "interrupted", "before it was begun"
    return None if answer in ("y", "yes") else ("declined", "")


def _run(step: Step, plan: Plan, database: RuleDatabase, log: Log, done: Done) -> bool:
    """Run a step's commands; say whether all of them succeeded. What they said goes to standard error."""
    log.step(step)
    done.will_need(step, _undo(step, ()))
    found_out = _way_back(step, plan, database, log)
    for command in step.commands:
        log.begin(command, done.undo())
        if done.signal or log.failed:
            if command is step.commands[0]:
                done.needs_nothing(step)
            why = f", because nothing is run without a log: {log.failed}" if log.failed else ""
            done.add(step, "failed" if log.failed else "interrupted", f"before {printable(command)}{why}")
            return False
        sys.stderr.write(f"$ {command}\n")
        sys.stderr.flush()
        ended = relay.run([*SHELL, command], streams=(2, 2), apart=not sys.stdin.isatty())
        done.will_need(step, found_out())
        how = f"ended with exit code {ended.code}" if ended.code >= 0 else f"ended by signal {-ended.code}"
        log.ended(how, ended.said, done.undo())
        signals = [number for number in (*ended.signals, -ended.code) if number in _ENDING]
        if signals:
            done.signal = signals[0]
        if signals or ended.code != 0:
            done.add(step, "interrupted" if signals else "failed", f"{printable(command)} {how}")
            return False
        done.restarts = command.split()[-1:] == [_RESTART]
    done.add(step, "done", step.because)
    return True


def _way_back(step: Step, plan: Plan, database: RuleDatabase, log: Log) -> Callable[[], Sequence[str]]:
    """Note what is installed where a step changes that; return what tells the way back from then on."""
    if step.kind == "pip":
        facts = derive.subjects(plan.machine, database)[Scope.HOST][0].facts
        had, labels = packages.installed(facts), published.labels(database.tables)

        def since() -> Sequence[str]:
            here = packages.installed(facts)
            if here == had:
                return (f"# step {step.number}: pip left every version as it was",)
            return _undo(step, packages.undo(had, here, _pip(facts), labels))

        return since
    manager = installed_packages.manager_of(step.commands)
    before = installed_packages.installed(manager) if manager is not None else None
    if manager is None or before is None:
        if manager is not None:
            log.note(f"{manager.name} did not say which packages are installed: their versions are not noted")
        return lambda: _undo(step, ())
    log.keep(f"WHAT WAS INSTALLED BEFORE STEP {step.number}, as {manager.name} says",
             installed_packages.listed(before))

    def now() -> Sequence[str]:
        after = installed_packages.installed(manager)
        return _undo(step, ()) if after is None else _undo_packages(
            step, installed_packages.undo(manager, before, after), manager)

    return now


def _undo_packages(step: Step, exact: Sequence[str], manager: Manager) -> Sequence[str]:
    """Return what undoes a step whose packages come back exactly, in place of what would do so roughly."""
    parts = [part for command in step.undo
             for part in (command.split(_NEXT) if manager.changes.search(command) else (command,))]
    rough = [number for number, part in enumerate(parts) if manager.changes.search(part)]
    own = [part for number, part in enumerate(parts) if number not in rough]
    if any(map(manager.frees, exact)):
        own = [part for part in own if not manager.frees(part)]  # which would free what was held before, too
    own.sort(key=lambda part: not manager.frees(part))
    held = sum(map(manager.frees, own))
    at = max(held, rough[0] if rough else len(own))
    lines = exact if os.geteuid() else tuple(map(without_sudo, exact))
    notes = [*([_EXACT] if exact else []), *([step.undo_rest] if step.undo_rest and (exact or own) else [])]
    return (*own[:at], *lines, *own[at:], *(f"# step {step.number}: {note}" for note in notes))


def _pip(facts: Facts) -> tuple[str, ...]:
    """Return the patient's own commands to install and to remove packages."""
    found = (facts.get(name) for name in ("python.pip_command", "python.pip_uninstall_command"))
    return tuple(str(fact.value) for fact in found if isinstance(fact, Known))


def _undo(step: Step, exact: Sequence[str]) -> Sequence[str]:
    """Return what undoes a step, as comments where no command does."""
    commands = exact or step.undo
    note = () if exact or not step.undo_note else (f"# step {step.number}: {step.undo_note}",)
    return (*commands, *note)
