"""A plan for a person: steps with what each cures, runs and changes, and how it is undone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gpudoctor.exported import as_shown
from gpudoctor.model import FixKind, Severity, Verdict
from gpudoctor.model.plan import Change, Fault, Plan, Step
from gpudoctor.render import closing
from gpudoctor.render.plain import REDACTED, counted_words, printable
from gpudoctor.render.sheet import Sheet
from gpudoctor.render.text import COLOURS

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
    "restart": "nothing that stays", "hardware": "which machine is used, or what is built into it",
}
_LABEL, _INDENT, _LONGEST_VALUE, _LONGEST = 9, 4, 300, 4000


def render(plan: Plan, *, width: int, colour: bool, again: str, elsewhere: str = "",
           recommending: str = "") -> str:
    """Return the plan as text; `again` is the command that made it, `elsewhere` what it is for instead.

    `recommending` is the command that says what to install into the same place.
    """
    sheet = Sheet(width=width, colour=colour)
    sheet.line((f"gpudoctor {plan.report.tool_version}, rules {plan.report.rules_version}", ""))
    if plan.report.assumptions:
        sheet.line()
        said = f"{', '.join(plan.report.assumptions)} (so what follows is not for this machine as it is)"
        sheet.row("ASSUMED", printable(said, 600))
    if plan.machine.redacted:
        sheet.line()
        sheet.row("REDACTED", REDACTED)
    for step in plan.steps:
        _step(sheet, step)
    _faults(sheet, "NOT CURED", plan.left)
    _faults(sheet, "FORESEEN BEHIND THESE STEPS (not judged before; look again then)", plan.later)
    sheet.line()
    if plan.steps:
        _foot(sheet, plan, again, elsewhere)
    else:
        sheet.paragraph(_nothing_to_do(plan), 0, "bold")
        if following := closing.next_step(plan.report, recommending):
            command_line(sheet, following)
    return sheet.text()


def _step(sheet: Sheet, step: Step) -> None:
    sheet.line()
    by = f", {_BY[step.done_by]}" if step.done_by in _BY else ""
    title = f"{printable(step.title, 600)} ({step.risk}{by})"
    sheet.row(f"STEP {step.number}", title, indent=0, width=8)
    for number, fault in enumerate(step.cures):
        shows = f" ({fault.why})" if fault.why else ""
        named = f"{fault.severity.value.upper()} {fault.cause} [{fault.subject}]{shows}"
        _row(sheet, "" if number else "cures", named)
    _commands(sheet, "run", step.commands)
    _commands(sheet, "set", lines_of_shell(step))
    _commands(sheet, "image", [step.image] if step.image else [])
    if step.because:
        _row(sheet, "by hand", step.because)
    if step.kind == "hardware":  # about another machine, which nothing here changes or brings back
        return
    changes = [f"{label}: {before} -> {after}" for label, before, after in _told(step.changes)]
    for number, said in enumerate(changes or [_OF_KIND[step.kind]]):
        _row(sheet, "" if number else "changes", said)
    _commands(sheet, "undo", step.undo)
    if step.undo_note:
        _row(sheet, "" if step.undo else "undo", step.undo_note)
    if step.lasts:
        _row(sheet, "lasts", step.lasts)
    _row(sheet, "proof", _PROVEN[step.proven])


def lines_of_shell(step: Step) -> list[str]:
    """Return what a POSIX shell is told for the variables of a step."""
    return [*(as_shown(name, value) for name, value in step.env.items()),
            *(f"unset {name}" for name in step.unset)]


def _row(sheet: Sheet, label: str, said: str) -> None:
    sheet.row(label, printable(said, _LONGEST), indent=_INDENT, width=_LABEL)


def _commands(sheet: Sheet, label: str, commands: Sequence[str]) -> None:
    for number, command in enumerate(commands):
        lead = ("" if number else label).ljust(_LABEL)
        sheet.line((" " * _INDENT, ""), (lead, "bold"), (printable(command, _LONGEST), "cyan"))


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


def _faults(sheet: Sheet, title: str, faults: Sequence[Fault]) -> None:
    if not faults:
        return
    sheet.line()
    sheet.line((title, "bold"))
    for fault in faults:
        sheet.line(("  ", ""), (fault.severity.value.upper(), COLOURS[fault.severity]),
                   (f"  {fault.cause}", "bold"), (f"  [{printable(fault.subject)}]", ""))
        sheet.paragraph(printable(fault.message, 1200), 4)
        if fault.why:
            _row(sheet, "because", printable(fault.why, 600))
            _row(sheet, "more", f"gpudoctor rules show {fault.rule}")


def _foot(sheet: Sheet, plan: Plan, again: str, elsewhere: str) -> None:
    """Print what the steps come to, and the commands that do them."""
    cured = {(fault.rule, fault.subject): fault.severity for step in plan.steps for fault in step.cures}
    counts = [counted_words(number, severity.value) for severity in (Severity.ERROR, Severity.WARNING)
              if (number := list(cured.values()).count(severity))]
    said = [f"{counted_words(len(plan.steps), 'step')} for {' and '.join(counts)}; nothing was changed."]
    hands = sum(step.done_by == "hand" for step in plan.steps)
    said += [f"{counted_words(hands, 'step')} to be done by hand."] if hands else []
    whole = "It is" if len(plan.steps) == 1 else "They are"
    said += [f"{whole} for {elsewhere}, not for this one."] if elsewhere else []
    sheet.paragraph(" ".join(said), 0, "bold")
    does = _does(plan)
    if does and not elsewhere:
        command_line(sheet, f"{again} --apply    # {does}")
    if any(step.done_by == "shell" for step in plan.steps):
        command_line(sheet, of_variables(again, elsewhere))


def command_line(sheet: Sheet, command: str) -> None:
    """Add a command on one line, so that it can be copied."""
    sheet.line((" " * _INDENT, ""), (printable(command, _LONGEST), "cyan"))


def _does(plan: Plan) -> str:
    runs = [step.risk for step in plan.steps if step.done_by == "gpudoctor"]
    safe = runs.count("safe")
    does = [f"runs {counted_words(safe, 'safe step')}"] if safe else []
    does += [f"asks before {counted_words(len(runs) - safe, 'step')}"] if len(runs) > safe else []
    return ", ".join(does)


def of_variables(again: str, elsewhere: str = "") -> str:
    """Return the command that gives the variables of a plan to whoever has to set them."""
    command = again.replace(" fix", " env", 1)
    if elsewhere and " --pid " not in again:
        return f"{command}    # prints the variables, to be set there"
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
