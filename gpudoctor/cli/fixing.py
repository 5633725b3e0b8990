"""What `gpudoctor fix` does, once its words are understood: look, plan, show, and on request do it."""

from __future__ import annotations

import json
import sys

from gpudoctor.cli import again, applying, checking, showing, sources, step_log, visits
from gpudoctor.cli.asked import Asked
from gpudoctor.cli.errors import UsageError
from gpudoctor.cli.judging import Judge
from gpudoctor.cli.stopwatch import Stopwatch
from gpudoctor.frozen import frozen
from gpudoctor.model.plan import Applied, Plan
from gpudoctor.planning import document
from gpudoctor.render import plan as plan_text
from gpudoctor.render import plan_end

_OTHER_MACHINES = {"--from": "the machine that was recorded", "--assume": "a machine that is partly assumed",
                   "--pid": "the place where that process runs"}
_OF_APPLYING = ("--yes-safe", "--dry-run", "--log")


@frozen
class Wish:
    """The options of `gpudoctor fix` that are not those of a check."""

    apply: bool = False
    yes_safe: bool = False
    dry_run: bool = False
    log: str | None = None


def fix(asked: Asked, wish: Wish) -> int:
    """Print the plan, do what was allowed of it, and return the exit code: that of a check at the end."""
    _refuse(asked, wish)
    judge, report = checking.look(asked, Stopwatch())
    plan = judge.planned(report)
    same = again.command("fix", asked)
    if not wish.apply:
        sources.write(_shown(plan, None, asked, same, report.exit_code), asked.output)
        return report.exit_code
    is_told_first = asked.format == "text" and asked.output in (None, "-")
    if is_told_first:
        sources.write(_shown(plan, None, asked, same, report.exit_code), None)
    else:
        terminal = sys.stderr.isatty()
        sys.stderr.write(plan_text.render(plan, width=showing.width(terminal),
                                          colour=terminal and showing.colour(), again=same))
        sys.stderr.flush()
    applied, exit_code = _applied(plan, judge, asked, wish)
    if is_told_first:
        terminal = sys.stdout.isatty()
        sources.write(plan_end.render(plan, applied, width=showing.width(terminal),
                                      colour=terminal and showing.colour(), again=same), None)
    else:
        sources.write(_shown(plan, applied, asked, same, exit_code), asked.output)
    return exit_code


def _refuse(asked: Asked, wish: Wish) -> None:
    visits.refuse(asked.given, asked.depth, asked.output)
    lone = [name for name in _OF_APPLYING if name in asked.given]
    if lone and not wish.apply:
        raise UsageError(f"{lone[0]} says how to apply: it needs --apply")
    others = [name for name in _OTHER_MACHINES if name in asked.given]
    if wish.apply and others:
        raise UsageError(f"--apply and {others[0]} exclude one another: steps are run on this machine, for "
                         "what was seen on it")


def _applied(plan: Plan, judge: Judge, asked: Asked, wish: Wish) -> tuple[Applied, int]:
    """Do what was allowed, look again where something was done, and return both with the exit code."""
    runs = wish.log is not None or any(step.done_by == "gpudoctor" for step in plan.steps)
    log = step_log.begin(wish.log, plan) if runs and not wish.dry_run else None
    done = applying.apply(plan, judge.database, log, _permission(wish))
    after, exit_code, note = None, plan.report.exit_code, done.note
    if done.signal:
        exit_code = 128 + done.signal
    elif done.touched and not done.restarts:
        sys.stderr.write("gpudoctor: looking again\n")
        sys.stderr.flush()
        try:
            judge, report = checking.look(asked, Stopwatch())
        except KeyboardInterrupt:
            exit_code, note = 130, "Interrupted before the machine was looked at again."
        else:
            after = judge.planned(report)
            exit_code = report.exit_code
    applied = Applied(ends=tuple(done.ends), log=None if log is None else log.path, undo=done.undo(),
                      after=after, note=note)
    if log is not None:
        log.end(plan_end.verdict(plan, applied, again.command("fix", asked)))
    return applied, exit_code


def _permission(wish: Wish) -> applying.Permission:
    terminal = sys.stdin.isatty() and sys.stderr.isatty()
    why_not = "--yes-safe allows the safe steps alone" if wish.yes_safe else "there is no terminal to ask on"
    return applying.Permission(may_ask=terminal and not wish.yes_safe, why_not=why_not, dry_run=wish.dry_run)


def _shown(plan: Plan, applied: Applied | None, asked: Asked, same: str, exit_code: int) -> str:
    """Return what is written to where the plan was asked for."""
    if asked.format == "json":
        return json.dumps(document.encode(plan, applied, exit_code), indent=2, ensure_ascii=True) + "\n"
    terminal = sys.stdout.isatty() and asked.output in (None, "-")
    elsewhere = next((words for name, words in _OTHER_MACHINES.items() if name in asked.given), "")
    text = plan_text.render(plan, width=showing.width(terminal), colour=terminal and showing.colour(),
                            again=same, elsewhere=elsewhere, recommending=again.recommending(asked))
    if applied is not None:
        text += plan_end.render(plan, applied, width=showing.width(False), colour=False, again=same)
    return text
