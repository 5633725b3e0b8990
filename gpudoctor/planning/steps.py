"""Make steps of chosen fixes: who does them, what they change, how each is undone, their order. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from gpudoctor import derive
from gpudoctor.as_root import ELSEWHERE, without_sudo
from gpudoctor.assume import seen_by_running
from gpudoctor.derive import driver_packages, planned, published
from gpudoctor.derive.view import View
from gpudoctor.frozen import frozen
from gpudoctor.model import (
    Absent, Fact, Finding, FixKind, Known, Remedy, Risk, RuleDatabase, Scope, Snapshot, Subject, Value,
)
from gpudoctor.model.plan import Change, DoneBy, Fault, Step
from gpudoctor.planning import undoing
from gpudoctor.planning.undoing import Host
from gpudoctor.words import show

_ELSEWHERE: Mapping[FixKind, str] = {
    "container": "it is done where the container is started",
    "image": "it is done where the image is made or chosen",
    "hardware": "no command does it here: it is about the machine itself, or which one is used",
}
# By the tool that keeps the environment: pip changes it, and the tool knows nothing of that.
_LOCKED = ("until the next `{tool} sync`, which brings what the lock has: `{tool} {add}` of the same "
           "packages puts them there")
_LASTS: Mapping[str, str] = {
    "pipx": "until `pipx reinstall`: `pipx inject` of the same packages is kept by pipx",
    "uv tool": "until uv makes the tool anew: `uv tool install --with` of the same packages is kept by uv",
    "uv": _LOCKED.format(tool="uv", add="add"),
    "poetry": _LOCKED.format(tool="poetry", add="add"),
    "pdm": _LOCKED.format(tool="pdm", add="add"),
    "pipenv": _LOCKED.format(tool="pipenv", add="install"),
}
_OF_ENVIRONMENT: tuple[FixKind, ...] = ("pip", "environment")
_LEFT_BEHIND = "of the environment here, which the image does without"
_RESTART = "reboot"
_ANSWERS = ("cuda.", "nvml.", "gpu.in_")
_STANDS_FOR = {"driver": "driver.version", "python": "python.version", "glibc": "system.glibc"}
_LONGEST_SHOWN = 4000  # characters of a command; what is longer would not be shown whole


@frozen
class Choice:
    """A fix that was chosen for a finding, on the machine as the choices before leave it."""

    finding: Finding
    remedy: Remedy
    before: Snapshot
    cures: tuple[Fault, ...]


def unset_by(remedy: Remedy) -> tuple[str, ...]:
    """Return the variables that a fix unsets."""
    return tuple(name for command in remedy.commands if command.startswith("unset ")
                 for name in shlex.split(command)[1:])


def ordered(choices: Sequence[Choice], begin: Snapshot, database: RuleDatabase) -> tuple[Step, ...]:
    """Return the steps as they are best done: one restart behind all that needs it, then variables.

    The restart is a step of its own, with a risk of its own: who lets a driver be installed may still want to
    choose when the machine goes down.
    """
    plain = [choice for choice in choices if choice.remedy.kind not in ("environment", "restart")]
    restarts = [choice for choice in choices if choice.remedy.kind == "restart"]
    shells = [choice for choice in choices if choice.remedy.kind == "environment"]
    steps = list(numbered(plain, begin, database))
    waiting = [step for step in steps if _ends_with_restart(step)]
    ending = numbered(restarts, begin, database)
    if waiting or len(ending) > 1:
        steps = [_without_restart(step) if step in waiting else step for step in steps]
        steps = [step for step in steps if step.commands or step not in waiting]
        ending = (*ending[:-1], _restart_for(waiting, ending))
    return _renumbered([*steps, *ending, *numbered(shells, begin, database)])


def without_abandoned(steps: Sequence[Step], database: RuleDatabase) -> tuple[Step, ...]:
    """Return the steps without those that mend a framework here which another step leaves for an image.

    What they cure is told at the image: there nobody meets it.
    """
    scopes = {rule.id: rule.scope for rule in database.rules}
    left = {_framework(fault): step for step in steps if step.kind == "image" for fault in step.cures[:1]
            if scopes[fault.rule] in (Scope.FRAMEWORK, Scope.PAIR)}
    abandoned = [step for step in steps if step.kind in _OF_ENVIRONMENT
                 and all(_framework(fault) in left for fault in step.cures)]
    return _renumbered([
        _in_place_of(step, [gone for gone in abandoned if left[_framework(gone.cures[0])] is step])
        for step in steps if step not in abandoned])


def _framework(fault: Fault) -> str:
    return fault.subject.rpartition(" x ")[2]  # "GPU 0 x torch"


def _in_place_of(step: Step, abandoned: Sequence[Step]) -> Step:
    """Return an image's step, in which is whole what others were to mend here."""
    told = [replace(fault, why=_LEFT_BEHIND) for gone in abandoned for fault in gone.cures]
    whole = {name: value for gone in abandoned for name, value in gone.effect.items()}
    return replace(step, cures=(*step.cures, *told), effect={**whole, **step.effect})


def numbered(choices: Sequence[Choice], begin: Snapshot, database: RuleDatabase) -> tuple[Step, ...]:
    """Return the choices as steps, in their order."""
    machine = derive.subjects(begin, database)[Scope.HOST][0]
    view = View(facts=machine.facts, database=database)
    commands = (machine.fact("python.pip_command"), machine.fact("python.pip_uninstall_command"))
    host = Host(
        is_root=machine.value("system.user_id") == 0,
        refuses_pip=machine.value("python.externally_managed") is True
        and machine.value("python.environment") == "system",
        pip_commands=tuple(str(fact.value) for fact in commands if isinstance(fact, Known)),
        kept_by=str(machine.value("python.kept_by") or ""),
        conda_command=str(machine.value("python.conda_command")),
        indexes=published.labels(database.tables),
        driver=str(machine.value("driver.version") or ""),
        driver_command=driver_packages.command_from_before(view),
        installs_driver=lambda command: driver_packages.installs_driver(view, command),
        undone=database.tables.get("undone_commands"))
    return _renumbered([_step(choice, host, database) for choice in choices])


def _renumbered(steps: Sequence[Step]) -> tuple[Step, ...]:
    return tuple(replace(step, number=number) for number, step in enumerate(steps, 1))


def _step(choice: Choice, host: Host, database: RuleDatabase) -> Step:
    fix, unset = choice.remedy, unset_by(choice.remedy)
    commands = tuple(command for command in fix.commands if not command.startswith("unset "))
    is_typed_by_root = host.is_root and fix.kind not in ELSEWHERE
    if is_typed_by_root:
        commands = tuple(map(without_sudo, commands))
    because = _by_hand(fix, commands, unset, host)
    back = undoing.undo(choice.before, fix, unset, host)
    if is_typed_by_root:
        back = undoing.WayBack(commands=tuple(map(without_sudo, back.commands)),
                               note=back.note.replace("sudo ", ""), rest=back.rest.replace("sudo ", ""))
    done_by: DoneBy = "hand" if because else "gpudoctor" if commands else "shell"
    return Step(
        number=0, title=fix.first_title, kind=fix.kind, risk=fix.risk, commands=commands, env=fix.env,
        unset=unset, image=fix.image, changes=tuple(_changes(choice, database)),
        lasts=_LASTS.get(host.kept_by, "") if fix.kind == "pip" else "",
        undo=back.commands, undo_note=back.note, undo_rest=back.rest, cures=choice.cures, done_by=done_by,
        because=because,
        proven="tried" if fix.proven == "tried" else "model", effect=fix.effect)


def _by_hand(fix: Remedy, commands: Sequence[str], unset: Sequence[str], host: Host) -> str:
    """Return why a person has to do it, "" where a program can."""
    if fix.kind in _ELSEWHERE:
        return _ELSEWHERE[fix.kind]
    if not commands and not fix.env and not unset:
        return "no command does it"
    if fix.by_hand:
        return "its commands are not all that is to be done, or belong to another place"
    if not all(command.isprintable() and len(command) <= _LONGEST_SHOWN for command in commands):
        return "a command cannot be shown as it is, and nothing is run unseen"
    if host.refuses_pip and any(command.startswith(host.pip_commands) for command in commands):
        return ("pip refuses to install into the system's own Python (PEP 668): make an environment "
                "(python3 -m venv DIR), and examine that one")
    return ""


# -- restarts --------------------------------------------------------------------------------------

def _ends_with_restart(step: Step) -> bool:
    return step.done_by == "gpudoctor" and step.commands[-1].split()[-1:] == [_RESTART]


def _without_restart(step: Step) -> Step:
    """Return the step without the restart at its end, which comes later for all."""
    commands = step.commands[:-1]
    risk: Risk = "admin" if step.risk == "restart" else step.risk
    return replace(step, commands=commands, risk=risk)


def _restart_for(waiting: Sequence[Step], ending: Sequence[Step]) -> Step:
    """Return the one restart; it cures what waits for it, and what a restart alone cures."""
    last = ending[-1] if ending else waiting[-1]
    cured = [fault for step in (*ending[-1:], *waiting) for fault in step.cures]
    return Step(
        number=0, title="Restart the machine, once for all that waits for it", kind="restart", risk="restart",
        commands=last.commands[-1:], changes=(), undo=(), undo_note=undoing.RESTART,
        cures=tuple({(fault.rule, fault.subject): fault for fault in cured}.values()), done_by="gpudoctor",
        proven="model", effect=ending[-1].effect if ending else {})


# -- what changes ----------------------------------------------------------------------------------

def _changes(choice: Choice, database: RuleDatabase) -> Iterator[Change]:
    """Yield what the fix itself changes; what a run or the driver is expected to answer is no change."""
    scopes = derive.subjects(choice.before, database)
    rule = next(rule for rule in database.rules if rule.id == choice.finding.rule)
    subject = next(one for one in scopes[rule.scope] if one.name == choice.finding.subject)
    for name, value in choice.remedy.effect.items() if choice.remedy.kind not in _ELSEWHERE else ():
        if seen_by_running(name) or name.startswith(_ANSWERS):
            continue
        if name == undoing.PLANNED:
            yield _packages(choice)
            continue
        fact = _release(subject) if name == "release" else subject.fact(_STANDS_FOR.get(name, name))
        before, after = _shown(fact), None if value is None else _in_short(value)
        if name == "release" and before == after:
            after = "the same release, another build"
        if before != after:
            yield Change(fact=name, before=before, after=after)


def _packages(choice: Choice) -> Change:
    """Return what pip is to bring, and what of that is there."""
    wanted = undoing.newly_planned(choice.before, choice.remedy)
    had = undoing.installed(choice.before)
    there = [f"{name}=={had[name]}" for name in planned.names(wanted) if name in had]
    again = undoing.lays_down_again(choice.before, choice.remedy)
    after = "the same, laid down again" if again else ", ".join(wanted)
    return Change(fact=undoing.PLANNED, before=", ".join(there) or None, after=after or None)


def _in_short(value: Value) -> str:
    """Return a value as a person reads it; of records, how many there are."""
    if isinstance(value, tuple) and value and not isinstance(value[0], str):
        return str(len(value))
    return show(value)


def _shown(fact: Fact) -> str | None:
    if isinstance(fact, Known):
        return _in_short(fact.value)
    return None if isinstance(fact, Absent) else "not known"


def _release(subject: Subject) -> Fact:
    name, version = subject.fact("framework.distribution"), subject.fact("framework.version")
    if isinstance(name, Known) and isinstance(version, Known):
        return Known(value=f"{name.value}=={version.value}", source=version.source)
    return version
