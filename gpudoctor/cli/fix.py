"""The options of `gpudoctor fix`: the plan for what was found, and on request its steps."""

from __future__ import annotations

from typing import Annotated

import typer

from gpudoctor.cli import parameters
from gpudoctor.cli.asked import Asked
from gpudoctor.cli.parameters import SMOKE_SECONDS, Depth, FailOn, Format


def fix(
    context: typer.Context,
    apply: Annotated[bool, typer.Option(
        "--apply", help="Run the safe steps, ask before each other one, then look again.")] = False,
    yes_safe: Annotated[bool, typer.Option(
        "--yes-safe", help="With --apply: run the safe steps, and ask nothing.")] = False,
    dry_run: Annotated[bool, typer.Option(
        "--dry-run", help="With --apply: say what would be run and asked, and do nothing.")] = False,
    log: Annotated[str | None, typer.Option(
        metavar="FILE", help="Where --apply writes what it did (default: a new file in "
                             "~/.local/state/gpudoctor).")] = None,
    python: parameters.Python = None,
    kernel: parameters.KernelName = None,
    pid: parameters.ProcessNumber = None,
    from_: parameters.Recorded = None,
    depth: parameters.HowDeep = Depth.SMOKE,
    timeout: parameters.Timeout = 20.0,
    gpu: parameters.Cards = None,
    stages: parameters.Stages = None,
    smoke_timeout: parameters.SmokeTimeout = SMOKE_SECONDS,
    format_: Annotated[Format, typer.Option("--format", help="How to print the plan.")] = Format.TEXT,
    output: Annotated[str | None, typer.Option(
        "--output", "-o", metavar="FILE", help="Write the plan there instead of standard output.")] = None,
    fail_on: parameters.FailsOn = FailOn.ERROR,
    allow_undecided: parameters.AllowUndecided = False,
    require_: parameters.Require = None,
    assume: parameters.Assume = None,
    rules: parameters.Rules = None,
) -> None:
    """Print the plan that cures what was found, and how to undo it.

    Example: gpudoctor fix --apply
    """
    from gpudoctor.cli import fixing

    asked = Asked(
        given=parameters.given(context), python=python, kernel=kernel, pid=pid, recorded=from_,
        depth=depth.value, timeout=timeout, gpu=tuple(gpu or ()), stages=tuple(stages or ()),
        smoke_timeout=smoke_timeout, format=format_.value, output=output, fail_on=fail_on.value,
        allow_undecided=allow_undecided, require=tuple(require_ or ()), assume=tuple(assume or ()),
        rules=rules)
    wish = fixing.Wish(apply=apply, yes_safe=yes_safe, dry_run=dry_run, log=log)
    raise typer.Exit(fixing.fix(asked, wish))
