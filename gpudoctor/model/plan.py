"""What is to be done about a machine: steps in their order, and what they leave."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Literal, TypeAlias

from gpudoctor.frozen import frozen
from gpudoctor.model.report import Report
from gpudoctor.model.rules import FixKind, Risk, Severity
from gpudoctor.model.snapshot import Snapshot, Value

DoneBy: TypeAlias = Literal["gpudoctor", "shell", "hand"]


@frozen
class Change:
    """One fact that a step changes, as a person reads it; None for what is not set or not there."""

    fact: str
    before: str | None
    after: str | None


@frozen
class Fault:
    """A finding as a plan names it, and where it says something of it, why."""

    rule: str
    cause: str
    severity: Severity
    subject: str
    message: str
    why: str = ""


@frozen
class Step:
    """One thing to do. The first of `cures` is what it was chosen for, the others it cures as well.

    `done_by`: "gpudoctor" can run the commands; a "shell" has to set the variables itself, because no program
    changes the environment of what started it; the rest is done by "hand", `because` says why. Variables are
    set and unset after the commands. `undo_rest` is what is to be said of the way back even where every
    package comes back as it was. `lasts` says what takes the step back by itself, "" where nothing does.
    """

    number: int
    title: str
    kind: FixKind
    risk: Risk
    commands: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    unset: tuple[str, ...] = ()
    image: str | None = None
    changes: tuple[Change, ...]
    undo: tuple[str, ...]
    undo_note: str
    undo_rest: str = ""
    lasts: str = ""
    cures: tuple[Fault, ...]
    done_by: DoneBy
    because: str = ""
    proven: Literal["model", "tried"]
    effect: Mapping[str, Value | None]


@frozen
class Plan:
    """Steps for what a report found, proven together on the machine as it was seen.

    `left` are faults that no step cures; `later` are such as are foreseen on the machine as the steps leave
    it: nobody could judge them before, or they are warnings that come in place of an error.
    """

    report: Report
    machine: Snapshot
    steps: tuple[Step, ...]
    left: tuple[Fault, ...]
    later: tuple[Fault, ...]


Outcome: TypeAlias = Literal[
    "done", "failed", "interrupted", "declined", "not-allowed", "rests-on-another", "not-reached", "shell",
    "hand", "would-run", "would-ask",
]


@frozen
class StepEnd:
    """What became of one step; `detail` says it in words."""

    number: int
    outcome: Outcome
    detail: str


@frozen
class Applied:
    """What was done of a plan: the end of each step, and the plan for what is found afterwards.

    `undo` are the commands that undo what was done, the last step first; a line that begins with # is a note.
    `after` is None where nothing was run, or where the machine could not be looked at again.
    """

    ends: tuple[StepEnd, ...]
    log: str | None
    undo: tuple[str, ...]
    after: Plan | None
    note: str = ""
