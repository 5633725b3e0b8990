"""Parameters that several commands have, and which of a command's were given."""

from __future__ import annotations

from typing import Annotated

import typer

KernelName = Annotated[str | None, typer.Option(
    metavar="NAME", help="Examine what this Jupyter kernel starts, with its environment.")]
ProcessNumber = Annotated[int | None, typer.Option(
    metavar="N", min=1, help="Examine a running process: its interpreter, environment and root.")]


def given(context: typer.Context) -> frozenset[str]:
    """Return the names of the options that stood on the command line."""
    sources = ((parameter, context.get_parameter_source(parameter.name or ""))
               for parameter in context.command.params)
    return frozenset(parameter.opts[0] for parameter, source in sources
                     if source is not None and source.name == "COMMANDLINE")
