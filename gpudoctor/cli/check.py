"""The options of `gpudoctor check`: look at a machine (or a recorded one), judge it, say what to do."""

from __future__ import annotations

from typing import Annotated

import typer

from gpudoctor.cli import checking, parameters
from gpudoctor.cli.asked import Asked
from gpudoctor.cli.parameters import SMOKE_SECONDS, Depth, FailOn, ReportFormat


def check(
    context: typer.Context,
    python: parameters.Python = None,
    kernel: parameters.KernelName = None,
    pid: parameters.ProcessNumber = None,
    image: parameters.Image = None,
    container: parameters.RunningContainer = None,
    pull: parameters.Pull = False,
    from_: parameters.Recorded = None,
    depth: parameters.HowDeep = Depth.SMOKE,
    timeout: parameters.Timeout = 20.0,
    gpu: parameters.Cards = None,
    stages: parameters.Stages = None,
    smoke_timeout: parameters.SmokeTimeout = SMOKE_SECONDS,
    format_: Annotated[ReportFormat, typer.Option(
        "--format", help="How to print the report.")] = ReportFormat.TEXT,
    output: parameters.Output = None,
    fail_on: parameters.FailsOn = FailOn.ERROR,
    allow_undecided: parameters.AllowUndecided = False,
    require_: parameters.Require = None,
    assume: parameters.Assume = None,
    rules: parameters.Rules = None,
    verbose: parameters.Verbosity = 0,
) -> None:
    """Find what keeps frameworks off the GPU, and print fixes.

    Example: gpudoctor check --python .venv/bin/python
    """
    asked = Asked(
        given=parameters.given(context), python=python, kernel=kernel, pid=pid, image=image,
        container=container, pull=pull, recorded=from_, depth=depth.value, timeout=timeout,
        gpu=tuple(gpu or ()), stages=tuple(stages or ()), smoke_timeout=smoke_timeout, format=format_.value,
        output=output, fail_on=fail_on.value, allow_undecided=allow_undecided, require=tuple(require_ or ()),
        assume=tuple(assume or ()), rules=rules, verbose=verbose)
    raise typer.Exit(checking.check(asked))
