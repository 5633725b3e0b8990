"""The options of `gpudoctor preflight`: the check before a job, told as the place wants it where it runs."""

from __future__ import annotations

from typing import Annotated

import typer

from gpudoctor.cli import parameters
from gpudoctor.cli.asked import Asked
from gpudoctor.cli.parameters import SMOKE_SECONDS, Depth, FailOn, ReportFormat


def preflight(
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
    format_: Annotated[ReportFormat | None, typer.Option(
        "--format", help="How to print the report (default: as the place wants it).")] = None,
    output: parameters.Output = None,
    fail_on: parameters.FailsOn = FailOn.WARNING,
    allow_undecided: parameters.AllowUndecided = False,
    require_: parameters.Require = None,
    assume: parameters.Assume = None,
    rules: parameters.Rules = None,
    verbose: parameters.Verbosity = 0,
) -> None:
    """Check before a job: run every framework, fail on warnings too.

    Printed for where it runs: on GitHub annotations and the job's summary; on GitLab and Jenkins text, and
    gpudoctor-preflight.xml in JUnit's form in the current folder; elsewhere text. --format or --output print
    that alone.

    Example: gpudoctor preflight --require 'gpu>=1' && python train.py
    """
    from gpudoctor.cli import boarding

    asked = Asked(
        given=parameters.given(context), python=python, kernel=kernel, pid=pid, image=image,
        container=container, pull=pull, recorded=from_, depth=depth.value, timeout=timeout,
        gpu=tuple(gpu or ()), stages=tuple(stages or ()), smoke_timeout=smoke_timeout,
        format=format_.value if format_ else "text", output=output, fail_on=fail_on.value,
        allow_undecided=allow_undecided, require=tuple(require_ or ()), assume=tuple(assume or ()),
        rules=rules, verbose=verbose)
    raise typer.Exit(boarding.preflight(asked))
