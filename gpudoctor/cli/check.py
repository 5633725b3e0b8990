"""`gpudoctor check`: look at a machine (or a recorded one), judge it, say what to do."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from enum import Enum
from typing import Annotated

import typer

from gpudoctor import trial
from gpudoctor.assume import assumed, lay, parse_assumption
from gpudoctor.child import REAP_SECONDS
from gpudoctor.cli import sources
from gpudoctor.derive import requirements
from gpudoctor.examine import Policy, examine
from gpudoctor.model import Report, Severity, Snapshot, Tables, Value
from gpudoctor.probes import snapshot as snapshots
from gpudoctor.probes.raw import RawDocument
from gpudoctor.transports import local

LIMITS_IN_ALL = 4  # the whole check ends within so many times the limit of a probe
LEAST_SECONDS = 0.5  # with less time than this a fix is not tried


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
    python: Annotated[str | None, typer.Option(
        metavar="PYTHON", help="The interpreter to examine (default: the active environment's).")] = None,
    from_: Annotated[str | None, typer.Option(
        "--from", metavar="SNAPSHOT",
        help="Judge a recorded snapshot, report or raw document (- for stdin).")] = None,
    depth: Annotated[Depth, typer.Option(
        help="static: ask the driver, import nothing; import: read device code too; smoke: run a kernel.",
    )] = Depth.SMOKE,
    timeout: Annotated[float, typer.Option(
        metavar="SECONDS", min=0.1, max=3600,
        help="Limit of each probe; the whole check ends within four times that.",
    )] = 20.0,
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
    verbose: Annotated[bool, typer.Option(
        "--verbose", "-v", help="Add timings and the loader trace.")] = False,
) -> None:
    """Look at this machine, find what keeps frameworks off the GPU, and print fixes that work.

    Example: gpudoctor check --python .venv/bin/python
    """
    policy = Policy(fail_on=Severity(fail_on.value), allow_undecided=allow_undecided,
                    requirements=[requirements.parse(text) for text in require_ or ()])
    pairs = [parse_assumption(text) for text in assume or ()]
    database = sources.database(rules)

    def judge(snapshot: Snapshot) -> Report:
        report = examine(_assume(snapshot, pairs, database.tables), database, policy)
        return replace(report, assumptions=tuple(assume or ()))

    if from_ is not None:
        report = judge(sources.read_snapshot(from_))
    else:
        begun = time.monotonic()
        visit = sources.visit_here(python, depth.value, timeout)
        raw = local.collect(visit)
        report = judge(snapshots.read(raw))
        if not pairs:  # a machine that is partly assumed cannot be tried on
            report = trial.try_fixes(report, _looker(visit, raw, begun),
                                     lambda again: judge(snapshots.read(again)))
    sources.write(_render(report, format_, verbose, to_file=output is not None), output)
    raise typer.Exit(report.exit_code)


def _looker(visit: local.Visit, raw: RawDocument, begun: float) -> trial.Look:
    """Return how to look again with another environment, as long as the time of the whole check is not up."""
    def look(variables: Mapping[str, str | None]) -> RawDocument | None:
        left = begun + LIMITS_IN_ALL * visit.timeout_seconds - time.monotonic() - REAP_SECONDS
        if left < LEAST_SECONDS:
            return None
        hurried = replace(visit, timeout_seconds=min(left, visit.timeout_seconds))
        return local.look_again(hurried, raw, variables)

    return look


def _assume(snapshot: Snapshot, pairs: list[tuple[str, Value]], tables: Tables) -> Snapshot:
    return lay(snapshot, assumed(pairs), tables, source="assumed") if pairs else snapshot


def _render(report: Report, format_: Format, verbose: bool, *, to_file: bool) -> str:
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
