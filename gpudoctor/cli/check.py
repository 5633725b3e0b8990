"""`gpudoctor check`: look at a machine (or a recorded one), judge it, say what to do."""

from __future__ import annotations

import os
import sys
import time
from enum import Enum
from typing import TYPE_CHECKING, Annotated

import typer

from gpudoctor.cli import visits
from gpudoctor.cli.asked import Asked
from gpudoctor.cli.stopwatch import Stopwatch
from gpudoctor.transports import local

if TYPE_CHECKING:
    from gpudoctor.cli.judging import Judge
    from gpudoctor.model import Report


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
    kernel: visits.KernelName = None,
    pid: visits.ProcessNumber = None,
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
        "--verbose", "-v", count=True, help="Add the loader trace (-v), and where the time went (-vv).")] = 0,
) -> None:
    """Find what keeps frameworks off the GPU, and print fixes.

    Example: gpudoctor check --python .venv/bin/python
    """
    visits.refuse(context)
    asked = Asked(fail_on=fail_on.value, allow_undecided=allow_undecided, require=tuple(require_ or ()),
                  assume=tuple(assume or ()), rules=rules, gpu=tuple(gpu or ()), stages=tuple(stages or ()),
                  smoke_timeout=smoke_timeout)
    watch = Stopwatch()
    if from_ is None:
        report = _examine_here(visits.visit_here(python, depth.value, timeout, kernel, pid), asked, watch)
    else:
        report = _examine_recorded(from_, asked, watch)
    _print(report, format_, verbose, output, watch)
    raise typer.Exit(report.exit_code)


def _examine_here(visit: local.Visit, asked: Asked, watch: Stopwatch) -> Report:
    """Look and judge. What is needed later is imported while the probes run, which takes about as long."""
    begun = time.monotonic()
    judges: list[Judge] = []

    def while_reading() -> None:
        watch.begin("importing")
        from gpudoctor.cli.judging import Judge

        judges.append(Judge(asked, watch))
        watch.begin("probes that read files")

    def while_asking() -> None:
        judges[0].read_rules()
        watch.begin("importing")
        import gpudoctor.render.text  # noqa: F401

        watch.begin("probes that ask the driver")

    watch.begin("probes that read files")
    raw = local.collect(visit, while_reading, while_asking)
    return judges[0].examined_here(visit, raw, begun)


def _examine_recorded(name: str, asked: Asked, watch: Stopwatch) -> Report:
    watch.begin("importing")
    from gpudoctor.cli import judging, sources

    judge = judging.Judge(asked, watch)
    judge.read_rules()
    watch.begin("reading answers")
    return judge.examined(sources.read_snapshot(name))


def _print(report: Report, format_: Format, verbose: int, output: str | None, watch: Stopwatch) -> None:
    from gpudoctor.cli import sources

    watch.begin("rendering")
    sources.write(_rendered(report, format_, verbose > 0, to_file=output is not None), output)
    if verbose > 1:
        sys.stderr.write(f"TIME of gpudoctor itself (that of the probes: PROBES)\n{watch.lines()}")


def _rendered(report: Report, format_: Format, verbose: bool, *, to_file: bool) -> str:
    if format_ is Format.JSON:
        from gpudoctor.render import json

        return json.render(report)
    from gpudoctor.render import text

    terminal = sys.stdout.isatty() and not to_file
    return text.render(report, width=_width(terminal), colour=terminal and _colour(), verbose=verbose)


def _colour() -> bool:
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM", "") not in ("", "dumb")


def _width(terminal: bool) -> int:
    """Return the columns to fill: COLUMNS, else the terminal's, else 80; long lines are hard to read."""
    wanted = os.environ.get("COLUMNS", "")
    if wanted.isdigit() and int(wanted) >= 20:
        return min(int(wanted), 200)
    return min(os.get_terminal_size().columns, 120) if terminal else 80
