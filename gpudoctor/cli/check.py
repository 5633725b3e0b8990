"""The options of `gpudoctor check`: look at a machine (or a recorded one), judge it, say what to do."""

from __future__ import annotations

from enum import Enum
from typing import Annotated

import typer

from gpudoctor.cli import checking, parameters
from gpudoctor.cli.asked import Asked


class Depth(str, Enum):
    """How far to look."""

    STATIC = "static"
    IMPORT = "import"
    SMOKE = "smoke"


class Format(str, Enum):
    """How to say it."""

    TEXT = "text"
    JSON = "json"


class FailOn(str, Enum):
    """From which severity on a finding is a failure."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


def check(
    context: typer.Context,
    python: Annotated[str | None, typer.Option(
        metavar="PYTHON", help="The interpreter to examine (default: the active environment's).")] = None,
    kernel: parameters.KernelName = None,
    pid: parameters.ProcessNumber = None,
    from_: Annotated[str | None, typer.Option(
        "--from", metavar="SNAPSHOT",
        help="Judge a recorded snapshot, report or raw document (- for stdin).")] = None,
    depth: Annotated[Depth, typer.Option(
        help="static: ask the driver, import nothing; import: import frameworks too; smoke: run them.",
    )] = Depth.SMOKE,
    timeout: Annotated[float, typer.Option(
        metavar="SECONDS", min=0.1, max=3600,
        help="Limit of each probe; the whole check ends within four times that, frameworks apart.",
    )] = 20.0,
    gpu: Annotated[list[str] | None, typer.Option(
        metavar="INDEX|UUID", help="Run frameworks on this card (repeatable; default: one of each model).",
    )] = None,
    stages: Annotated[list[str] | None, typer.Option(
        metavar="NAMES", help="Run only these: matmul, convolution, compiled, reduced-precision, all-reduce.",
    )] = None,
    smoke_timeout: Annotated[float, typer.Option(
        metavar="SECONDS", min=1, max=86400, help="Limit of a framework's import and of each stage.",
    )] = 120.0,  # courses.DEFAULT_LIMIT_SECONDS, whose module would take long to import
    format_: Annotated[Format, typer.Option("--format", help="How to print the report.")] = Format.TEXT,
    output: Annotated[str | None, typer.Option(
        "--output", "-o", metavar="FILE", help="Write the report there instead of standard output.")] = None,
    fail_on: Annotated[FailOn, typer.Option(
        help="The severity from which the exit code is 1.")] = FailOn.ERROR,
    allow_undecided: Annotated[bool, typer.Option(
        "--allow-undecided", help="Exit 0 even if something that matters could not be judged.")] = False,
    require_: Annotated[list[str] | None, typer.Option(
        "--require", metavar="WHAT",
        help="Require gpu>=2, gpu.memory>=40GiB or tensorflow>=2.15 (repeatable).",
    )] = None,
    assume: Annotated[list[str] | None, typer.Option(
        "--assume", metavar="FACT=VALUE",
        help="Judge as if: driver=570.86.15, cc=9.0, python=3.12, glibc=2.31 or any fact (repeatable).",
    )] = None,
    rules: Annotated[str | None, typer.Option(
        metavar="DIR", help="Use the rule pages in this folder instead of the shipped ones.")] = None,
    verbose: Annotated[int, typer.Option(
        "--verbose", "-v", count=True,
        help="Add the loader trace and the stages (-v), and where the time went (-vv).")] = 0,
) -> None:
    """Find what keeps frameworks off the GPU, and print fixes.

    Example: gpudoctor check --python .venv/bin/python
    """
    asked = Asked(
        given=parameters.given(context), python=python, kernel=kernel, pid=pid, recorded=from_,
        depth=depth.value, timeout=timeout, gpu=tuple(gpu or ()), stages=tuple(stages or ()),
        smoke_timeout=smoke_timeout, format=format_.value, output=output, fail_on=fail_on.value,
        allow_undecided=allow_undecided, require=tuple(require_ or ()), assume=tuple(assume or ()),
        rules=rules, verbose=verbose)
    raise typer.Exit(checking.check(asked))
