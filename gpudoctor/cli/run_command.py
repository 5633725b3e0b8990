"""The options of `gpudoctor run`: run a command, and explain it if it failed or fell back to the CPU."""

from __future__ import annotations

from typing import Annotated

import typer


def run(
    command: Annotated[list[str], typer.Argument(
        metavar="COMMAND", help="What to run; its output passes through untouched.")],
    here: Annotated[bool, typer.Option(
        "--here", help="Look at this machine too before explaining.")] = False,
    rules: Annotated[str | None, typer.Option(
        metavar="DIR", help="Use the rule pages in this folder instead of the shipped ones.")] = None,
) -> None:
    """Run a command, and explain it if it failed or used the CPU.

    The explanation stands on standard error. The exit code is that of the command.

    Example: gpudoctor run -- python train.py
    """
    from gpudoctor.cli import running

    raise typer.Exit(running.run(command, here=here, rules=rules))
