"""The variables that steps set and unset. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from gpudoctor.model import Remedy
from gpudoctor.model.plan import Step
from gpudoctor.planning.steps import unset_by


def variables(steps: Iterable[Step]) -> dict[str, str | None]:
    """Return what the steps of a shell come to, a later one before an earlier one; None unsets a variable."""
    found: dict[str, str | None] = {}
    for step in steps:
        if step.done_by == "shell":
            found.update(step.env)
            found.update(dict.fromkeys(step.unset))
    return found


def is_of_shell(fix: Remedy) -> bool:
    """Say whether a fix sets and unsets variables and does nothing else."""
    unsets = [command for command in fix.commands if command.startswith("unset ")]
    return not fix.by_hand and len(unsets) == len(fix.commands) and bool(fix.env or unset_by(fix))
