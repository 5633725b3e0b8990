"""What became of a plan, for a person: each step's end, how it is undone, and whether it worked."""

from __future__ import annotations

from gpudoctor.model import Verdict
from gpudoctor.model.plan import Applied, Fault, Outcome, Plan, Step
from gpudoctor.render.plain import printable
from gpudoctor.render.plan import command_line, of_variables
from gpudoctor.render.sheet import Sheet

_ENDS: dict[Outcome, str] = {
    "done": "done", "failed": "FAILED", "interrupted": "INTERRUPTED", "declined": "not run: declined",
    "not-allowed": "not run: not allowed", "rests-on-another": "not run", "not-reached": "not reached",
    "shell": "for your shell", "hand": "by hand",
    "would-run": "would be run", "would-ask": "would be asked for",
}
_LABEL = 9


def render(plan: Plan, applied: Applied, *, width: int, colour: bool, again: str) -> str:
    """Return what became of each step, how it is undone, and whether it worked."""
    sheet = Sheet(width=width, colour=colour)
    sheet.line()
    for end in applied.ends:
        said = _ENDS[end.outcome] + (f": {end.detail}" if end.detail else "")
        sheet.row(f"step {end.number}", printable(said, 2000), indent=0, width=_LABEL)
    if applied.undo:
        sheet.line()
        sheet.line(("TO UNDO WHAT WAS DONE, in this order", "bold"))
        for command in applied.undo:
            command_line(sheet, command)
    if applied.log:
        sheet.line()
        sheet.row("log", printable(applied.log, 2000), indent=0, width=_LABEL)
    sheet.line()
    for said in verdict(plan, applied, again):
        sheet.paragraph(printable(said, 4000), 0, "bold")
    return sheet.text()


def verdict(plan: Plan, applied: Applied, again: str) -> list[str]:
    """Return whether it worked, sentence by sentence."""
    said = [applied.note] if applied.note else []
    if applied.after is None:
        return said
    after = applied.after
    found = {(fault.rule, fault.subject): fault for fault in _found(after)}
    claimed = {(fault.rule, fault.subject) for step in plan.steps for fault in step.cures
               if _outcome(applied, step) == "done" and step.done_by == "gpudoctor"}
    open_ = {(one.rule, one.subject) for one in after.report.undecided if one.asked}
    failed = [found[key] for key in found if key in claimed]
    if failed:
        said.append(f"It did not work: still found are {_names(failed)}.")
    elif claimed & open_:
        said.append("Whether it worked cannot be told: what was to be cured can no longer be judged.")
    elif claimed:
        said.append("It worked: nothing is found any more of what these steps were to cure.")
    if found:
        said.append(f"Looked again, and found: {_names(list(found.values()))}.")
    elif after.report.verdict is Verdict.HEALTHY:
        said.append("Looked again: healthy.")
    else:
        said.append("Looked again: nothing was found, but something that matters could not be seen.")
    if found and not after.left and all(step.done_by == "shell" for step in after.steps):
        said.append("What is left only your shell can set, as no program changes the environment of what "
                    "started it:")
        said.append(of_variables(again))
    return said


def _names(faults: list[Fault]) -> str:
    return ", ".join(f"{fault.cause} [{fault.subject}]" for fault in faults)


def _outcome(applied: Applied, step: Step) -> Outcome | None:
    return next((end.outcome for end in applied.ends if end.number == step.number), None)


def _found(plan: Plan) -> list[Fault]:
    return [*(fault for step in plan.steps for fault in step.cures), *plan.left]
