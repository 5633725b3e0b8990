"""The Typer application: which commands there are."""

from __future__ import annotations

from typing import Annotated

import typer

from gpudoctor import __version__
from gpudoctor.cli import check, facts, rules, snapshot

app = typer.Typer(
    name="gpudoctor", no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Find out why a framework does not use the GPU, and what to do about it.")
app.command("check")(check.check)
app.command("snapshot")(snapshot.snapshot)
app.command("payload")(snapshot.payload)
app.command("diff")(snapshot.diff)
app.command("facts")(facts.facts)
app.add_typer(rules.app, name="rules")


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"gpudoctor {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True,
                                          help="Print the version and stop.")] = False,
) -> None:
    """Find out why a framework does not use the GPU, and what to do about it."""
