"""The options of `gpudoctor explain`: from a log, a traceback or a bug report to the cause."""

from __future__ import annotations

from typing import Annotated

import typer

from gpudoctor.cli import completing, parameters


def explain(
    what: Annotated[list[str], typer.Argument(
        metavar="FILE", autocompletion=completing.ids,
        help="Logs or bug reports (- for stdin); or a rule's id or cause, to print its page.")],
    here: Annotated[bool, typer.Option(
        "--here", help="Look at this machine too: it usually settles what the text leaves open.")] = False,
    format_: Annotated[parameters.ReportFormat, typer.Option(
        "--format", help="How to print the report.")] = parameters.ReportFormat.TEXT,
    output: Annotated[str | None, typer.Option(
        "--output", "-o", metavar="FILE", help="Write the report there instead of standard output.")] = None,
    fail_on: Annotated[parameters.FailOn, typer.Option(
        help="The severity from which the exit code is 1.")] = parameters.FailOn.ERROR,
    allow_undecided: Annotated[bool, typer.Option(
        "--allow-undecided", help="Exit 0 even if the text could not be explained.")] = False,
    rules: Annotated[str | None, typer.Option(
        metavar="DIR", help="Use the rule pages in this folder instead of the shipped ones.")] = None,
) -> None:
    """Name the cause of a message, a log or a bug report.

    With what to do about it and, where the text alone cannot decide, the command that does.

    Example: gpudoctor explain train.log
    """
    from gpudoctor.cli import explaining

    wish = explaining.Wish(here=here, format=format_.value, output=output, fail_on=fail_on.value,
                           allow_undecided=allow_undecided, rules=rules)
    raise typer.Exit(explaining.explain(what, wish))
