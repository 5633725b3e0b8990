"""A plan for a person: steps with what each cures, runs and changes, and how it is undone."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.text import Text

from gpudoctor.model import FixKind, Severity, Verdict
from gpudoctor.model.plan import Change, Fault, Plan, Step
from gpudoctor.render.page import COLOURS, Page, command_line, paragraph, row
from gpudoctor.render.plain import counted_words, printable

_PROVEN = {"model": "proven on what was seen, all steps together",
           "tried": "proven on what was seen, all steps together, and tried in a child process"}
_BY = {"hand": "by hand", "shell": "in your shell"}
_NAMES = {"driver": "NVIDIA driver", "release": "framework", "python.planned_distributions": "packages",
          "loader.library_path": "LD_LIBRARY_PATH", "cc": "card", "python": "Python",
          "python.collisions": "files that two distributions own", "gpu.mig_mode": "MIG mode",
          "python.colliding_distributions": "distributions that share files",
          "python.incomplete_distributions": "distributions of which files are gone",
          "python.shadowing_files": "files in the way", "gpu.compute_mode": "compute mode"}
_OF_KIND: Mapping[FixKind, str] = {
    "environment": "variables of one shell", "pip": "packages of the environment",
    "driver": "the NVIDIA driver", "system": "files or services of this system",
    "container": "how the container is started", "image": "the image that the program runs in",
    "restart": "nothing that stays", "hardware": "the hardware",
}
_LABEL, _INDENT, _LONGEST_VALUE = 9, 4, 300


def render(plan: Plan, *, width: int | None, colour: bool, again: str, is_here: bool = True) -> str:
    """Return the plan as text; `again` is the command that made it. `is_here`: it is for this machine."""
    page = Page(width=width, colour=colour)
    console = page.console
    console.print(Text(f"gpudoctor {plan.report.tool_version}, rules {plan.report.rules_version}"))
    if plan.report.assumptions:
        console.print()
        said = f"{', '.join(plan.report.assumptions)} (so what follows is not for this machine as it is)"
        row(console, "ASSUMED", printable(said, 600))
    for step in plan.steps:
        _step(console, step)
    _faults(console, "NOT CURED", plan.left)
    _faults(console, "FORESEEN BEHIND THESE STEPS (not judged before; look again then)", plan.later)
    console.print()
    _foot(console, plan, again, is_here=is_here)
    return page.text()


def _step(console: Console, step: Step) -> None:
    console.print()
    by = f", {_BY[step.done_by]}" if step.done_by in _BY else ""
    row(console, f"STEP {step.number}", f"{printable(step.title, 600)} ({step.risk}{by})", indent=0, width=8)
    for number, fault in enumerate(step.cures):
        shows = f" ({fault.why})" if fault.why else ""
        named = f"{fault.severity.value.upper()} {fault.cause} [{fault.subject}]{shows}"
        _row(console, "" if number else "cures", named)
    _commands(console, "run", step.commands)
    _commands(console, "set", lines_of_shell(step))
    _commands(console, "image", [step.image] if step.image else [])
    if step.because:
        _row(console, "by hand", step.because)
    changes = [f"{label}: {before} -> {after}" for label, before, after in _told(step.changes)]
    for number, said in enumerate(changes or [_OF_KIND[step.kind]]):
        _row(console, "" if number else "changes", said)
    _commands(console, "undo", step.undo)
    if step.undo_note:
        _row(console, "" if step.undo else "undo", step.undo_note)
    _row(console, "proof", _PROVEN[step.proven])


def lines_of_shell(step: Step) -> list[str]:
    """Return what a POSIX shell is told for the variables of a step."""
    return [*(f"export {name}={shlex.quote(value)}" for name, value in step.env.items()),
            *(f"unset {name}" for name in step.unset)]


def _row(console: Console, label: str, said: str) -> None:
    row(console, label, said, indent=_INDENT, width=_LABEL)


def _commands(console: Console, label: str, commands: Sequence[str]) -> None:
    for number, command in enumerate(commands):
        lead = Text(" " * _INDENT) + Text(("" if number else label).ljust(_LABEL), style="bold")
        console.print(lead + Text(printable(command, 4000), style="cyan"), soft_wrap=True)


def _told(changes: Sequence[Change]) -> list[tuple[str, str, str]]:
    """Return what changes in a person's words, each once."""
    found: dict[str, tuple[str, str, str]] = {}
    for change in changes:
        label = _NAMES.get(change.fact, change.fact.removeprefix("environment."))
        nothing = "not set" if label.isupper() else "none"
        before, after = (printable(nothing if value is None else value or "empty", _LONGEST_VALUE)
                         for value in (change.before, change.after))
        found.setdefault(label, (label, before, after))
    return list(found.values())


def _faults(console: Console, title: str, faults: Sequence[Fault]) -> None:
    if not faults:
        return
    console.print()
    console.print(Text(title, style="bold"))
    for fault in faults:
        name = Text(f"  {fault.severity.value.upper()}", style=COLOURS[fault.severity])
        name.append(f"  {fault.cause}", style="bold").append(f"  [{printable(fault.subject)}]")
        console.print(name, soft_wrap=True)
        paragraph(console, printable(fault.message, 1200), 4)
        if fault.why:
            _row(console, "because", printable(fault.why, 600))
            _row(console, "more", f"gpudoctor rules show {fault.rule}")


def _foot(console: Console, plan: Plan, again: str, *, is_here: bool) -> None:
    """Print what the steps come to, and the commands that do them."""
    if not plan.steps:
        paragraph(console, Text(_nothing_to_do(plan), style="bold"), 0)
        return
    cured = {(fault.rule, fault.subject): fault.severity for step in plan.steps for fault in step.cures}
    counts = [counted_words(number, severity.value) for severity in (Severity.ERROR, Severity.WARNING)
              if (number := list(cured.values()).count(severity))]
    said = [f"{counted_words(len(plan.steps), 'step')} for {' and '.join(counts)}; nothing was changed."]
    hands = sum(step.done_by == "hand" for step in plan.steps)
    said += [f"{counted_words(hands, 'step')} to be done by hand."] if hands else []
    said += [] if is_here else ["They are for another machine than this one."]
    paragraph(console, Text(" ".join(said), style="bold"), 0)
    does = _does(plan)
    if does and is_here:
        command_line(console, f"{again} --apply    # {does}", indent=_INDENT)
    if any(step.done_by == "shell" for step in plan.steps):
        command_line(console, of_variables(again), indent=_INDENT)


def _does(plan: Plan) -> str:
    runs = [step.risk for step in plan.steps if step.done_by == "gpudoctor"]
    safe = runs.count("safe")
    does = [f"runs {counted_words(safe, 'safe step')}"] if safe else []
    does += [f"asks before {counted_words(len(runs) - safe, 'step')}"] if len(runs) > safe else []
    return ", ".join(does)


def of_variables(again: str) -> str:
    """Return the command that gives the variables of a plan to whoever has to set them."""
    command = again.replace(" fix", " env", 1)
    if " --kernel " in again:
        return f"{command} --shell kernelspec    # what belongs into the kernel.json"
    if " --pid " in again:
        return f"{command}    # what belongs to where that process gets its environment from"
    return f'eval "$({command})"    # sets the variables, which only your shell can'


def _nothing_to_do(plan: Plan) -> str:
    if plan.left:
        return "No step: nothing that is known cures what was found. Nothing was changed."
    if plan.report.verdict is Verdict.UNDECIDED:
        return ("No step: nothing was found, but something that matters could not be seen (`gpudoctor check` "
                "says what).")
    return "Nothing to fix."
