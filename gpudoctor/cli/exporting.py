"""What `gpudoctor env` does, once its words are understood: the lines on standard output, the rest beside."""

from __future__ import annotations

import sys

from gpudoctor.cli import again, checking, sources, visits
from gpudoctor.cli.asked import Asked
from gpudoctor.cli.stopwatch import Stopwatch
from gpudoctor.examine import EXIT_FINDINGS, EXIT_HEALTHY, EXIT_UNDECIDED, counts
from gpudoctor.model import Known, Severity
from gpudoctor.model.plan import Plan
from gpudoctor.planning.exports import is_of_shell, variables
from gpudoctor.render import shells
from gpudoctor.render.plain import REDACTED, printable


def env(asked: Asked, shell: str) -> int:
    """Print the lines and return the exit code: that of a check of the machine as the lines leave it."""
    visits.refuse(asked.given, asked.depth, asked.output)
    judge, report = checking.look(asked, Stopwatch())
    plan = judge.planned(report, is_of_shell, foreseen=True)  # else the same lines once more would bring more
    python = report.snapshot.host.get("python.executable")
    interpreter = str(python.value) if isinstance(python, Known) else "python"
    written = shells.write(variables(plan.steps), shell, interpreter)
    if written.text and report.snapshot.redacted:
        _say(f"redacted: {REDACTED}")
    for refused in written.refused:
        _say(f"not written: {refused}")
    for fault in plan.left:
        _say(f"not cured by variables: {fault.cause} [{fault.subject}] ({fault.severity.value})")
    if plan.left:
        _say(f"the plan for all of it: {again.command('fix', asked)}")
    if written.text and shell in shells.PLACES:
        _say(shells.PLACES[shell])
    elif written.text and asked.kernel is not None:
        _say("these are for the kernel, not for this shell: --shell kernelspec is for its kernel.json")
    elif written.text and asked.pid is not None:
        _say("these are for that process, not for this shell: set them where it gets its environment from")
    if written.text or asked.output in (None, "-"):
        sources.write(written.text, asked.output)
    else:
        _say(f"there is nothing to set, so {asked.output} is not written")
    return _exit_code(plan, asked, all_written=not written.refused)


def _say(text: str) -> None:
    sys.stderr.write(f"gpudoctor: {printable(text, 2000)}\n")


def _exit_code(plan: Plan, asked: Asked, *, all_written: bool) -> int:
    fail_on = Severity(asked.fail_on)
    if not all_written or any(fault.severity.rank <= fail_on.rank for fault in plan.left):
        return EXIT_FINDINGS
    open_ = any(counts(undecided, fail_on) for undecided in plan.report.undecided)
    return EXIT_UNDECIDED if open_ and not asked.allow_undecided else EXIT_HEALTHY
