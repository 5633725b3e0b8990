"""A plan, and what became of it, as `gpudoctor.plan/1`."""

from __future__ import annotations

from typing import Any

from gpudoctor.model.plan import Applied, Fault, Plan, Step

PLAN_SCHEMA = "gpudoctor.plan/1"


def encode(plan: Plan, applied: Applied | None, exit_code: int) -> dict[str, Any]:
    """Return the plan as a document; `exit_code` is that of the command that writes it."""
    report = plan.report
    return {
        "schema": PLAN_SCHEMA,
        "tool": {"name": "gpudoctor", "version": report.tool_version},
        "rules": {"version": report.rules_version, "sha256": report.rules_sha256},
        "verdict": report.verdict.value,
        "exit_code": exit_code,
        "assumed": list(report.assumptions),
        "steps": [_step(step) for step in plan.steps],
        "left": [_fault(fault) for fault in plan.left],
        "later": [_fault(fault) for fault in plan.later],
        "applied": None if applied is None else _applied(applied),
    }


def _step(step: Step) -> dict[str, Any]:
    return {
        "number": step.number, "title": step.title, "kind": step.kind, "risk": step.risk,
        "done_by": step.done_by, "because": step.because, "commands": list(step.commands),
        "env": dict(step.env), "unset": list(step.unset), "image": step.image,
        "changes": [{"fact": change.fact, "before": change.before, "after": change.after}
                    for change in step.changes],
        "undo": {"commands": list(step.undo), "note": step.undo_note},
        "lasts": step.lasts,
        "cures": [_fault(fault) for fault in step.cures], "proven": step.proven,
    }


def _fault(fault: Fault) -> dict[str, Any]:
    return {"rule": fault.rule, "cause": fault.cause, "severity": fault.severity.value,
            "subject": fault.subject, "message": fault.message, "why": fault.why}


def _applied(applied: Applied) -> dict[str, Any]:
    after = applied.after
    return {
        "log": applied.log, "note": applied.note,
        "steps": [{"number": end.number, "outcome": end.outcome, "detail": end.detail}
                  for end in applied.ends],
        "undo": list(applied.undo),
        "after": None if after is None else {
            "verdict": after.report.verdict.value, "exit_code": after.report.exit_code,
            "steps": [_step(step) for step in after.steps], "left": [_fault(fault) for fault in after.left]},
    }
