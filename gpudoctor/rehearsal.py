"""Try the variables of a plan, all together, before the plan is shown.

What does not cure then is not planned again. Where other steps have to be done before, what was tried in vain
may still cure behind them: then the model's proof stands alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from gpudoctor import planning
from gpudoctor.consequences import Key
from gpudoctor.model.plan import Plan, Step
from gpudoctor.planning.exports import variables
from gpudoctor.trial import Judge, Look, still_there, unasked

ATTEMPTS = 4  # at a plan of which a part was tried in vain


def try_plan(make: Callable[[planning.Refused], Plan], look: Look, judge: Judge) -> Plan:
    """Return the plan, its variables tried as far as there is time to look again."""
    refused: planning.Refused = frozenset()
    plan = make(refused)
    for _ in range(ATTEMPTS):
        shells = [step for step in plan.steps if step.done_by == "shell"]
        again = look(variables(plan.steps)) if shells else None
        if again is None:
            return plan
        after = judge(again)
        there = still_there(after)
        failed = [step for step in shells if _root(step) in there - unasked(after)]
        if not failed or len(shells) < len(plan.steps):
            return replace(plan, steps=tuple(_marked(step, there) for step in plan.steps))
        refused |= {planning.identity(*_root(step), step.env, step.unset) for step in failed}
        plan = make(refused)
    return plan


def _root(step: Step) -> Key:
    return step.cures[0].rule, step.cures[0].subject


def _marked(step: Step, there: set[Key]) -> Step:
    if step.done_by != "shell" or step.cures[0].why:  # what was not found cannot be seen to go
        return step
    return replace(step, proven="model" if _root(step) in there else "tried")
