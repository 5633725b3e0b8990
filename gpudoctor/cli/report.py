"""The options of `gpudoctor report`: many machines at once."""

from __future__ import annotations

from enum import Enum
from typing import Annotated

import typer

from gpudoctor.cli import parameters
from gpudoctor.cli.parameters import FailOn


class SummaryFormat(str, Enum):
    """For a person, a program, a spreadsheet, a merge request, a browser."""

    TEXT = "text"
    JSON = "json"
    CSV = "csv"
    MARKDOWN = "markdown"
    HTML = "html"


def report(
    names: Annotated[list[str], typer.Argument(
        metavar="DIR|FILE",
        help="Reports, snapshots and raw documents, one in a file, one a line, one behind another or in a "
             "list, also packed with gzip; folders of them; - for stdin.")],
    judge: Annotated[bool, typer.Option(
        "--judge", help="Judge the machines of reports anew; else reports are taken at their word.")] = False,
    format_: Annotated[SummaryFormat, typer.Option(
        "--format", help="How to print the summary.")] = SummaryFormat.TEXT,
    output: Annotated[str | None, typer.Option(
        "--output", "-o", metavar="FILE", help="Write it there instead of standard output.")] = None,
    fail_on: parameters.FailsOn = FailOn.ERROR,
    allow_undecided: parameters.AllowUndecided = False,
    rules: parameters.Rules = None,
) -> None:
    """Add up many machines, and name the odd ones.

    Verdicts, causes by number, and what sets some apart. A machine is called by its file. Peers are machines
    with the same models of cards.

    Example: gpudoctor report reports/
    """
    from gpudoctor.cli import reporting

    asked = reporting.Asked(
        names=tuple(names), judge=judge, format=format_.value, output=output, fail_on=fail_on.value,
        allow_undecided=allow_undecided, rules=rules)
    raise typer.Exit(reporting.report(asked))
