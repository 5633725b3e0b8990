"""The options of `gpudoctor recommend`: what to install on this machine, or on another one."""

from __future__ import annotations

from typing import Annotated

import typer

from gpudoctor.cli import completing, parameters


def recommend(
    framework: Annotated[list[str] | None, typer.Option(
        "--framework", metavar="NAME[==VERSION]", autocompletion=completing.frameworks,
        help="Only this one, such as tensorflow==2.15.*; repeated: a set for one environment.")] = None,
    python: Annotated[str | None, typer.Option(
        metavar="VERSION|PYTHON", help="For this Python: a version such as 3.12, or an interpreter.")] = None,
    image: Annotated[bool, typer.Option("--image", help="Only container images.")] = False,
    may_change: Annotated[str | None, typer.Option(
        "--may-change", metavar="WHAT",
        help="driver, python or both (driver,python): say which change, the nearest first, makes something "
             "newer possible.")] = None,
    why: Annotated[list[str] | None, typer.Option(
        metavar="NAME==VERSION", help="Give the chain of reasons for this release (repeatable).")] = None,
    pre: Annotated[bool, typer.Option("--pre", help="Consider pre-releases, too.")] = False,
    from_: Annotated[str | None, typer.Option(
        "--from", metavar="SNAPSHOT", help="For a recorded machine (- for stdin).")] = None,
    assume: parameters.AssumedHost = None,
    format_: Annotated[parameters.Format, typer.Option(
        "--format", help="How to print it.")] = parameters.Format.TEXT,
    output: Annotated[str | None, typer.Option(
        "--output", "-o", metavar="FILE", help="Write it there instead of standard output.")] = None,
    timeout: Annotated[float, typer.Option(
        metavar="SECONDS", min=0.1, max=3600, help="Limit of each probe.")] = 20.0,
    rules: Annotated[str | None, typer.Option(
        metavar="DIR", help="Use the rule pages in this folder instead of the shipped ones.")] = None,
) -> None:
    """Say what to install here, and why nothing newer.

    The newest releases that no rule objects to, as commands to copy. Exit code 0 if something fits, 1 if
    nothing does, 3 if nothing could be judged.

    Example: gpudoctor recommend --framework tensorflow
    """
    from gpudoctor.cli import recommending

    wish = recommending.Wish(
        frameworks=tuple(framework or ()), python=python, image=image, may_change=may_change,
        why=tuple(why or ()), pre=pre, recorded=from_, assume=tuple(assume or ()), format=format_.value,
        output=output, timeout=timeout, rules=rules)
    raise typer.Exit(recommending.recommend(wish))
