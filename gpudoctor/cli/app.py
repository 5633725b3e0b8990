"""The Typer application: which commands there are.

Typer takes about a millisecond to build one, and the probes of a check wait for that. So where the first word
is a command, only that one is built.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated

import typer

from gpudoctor import __version__
from gpudoctor.cli import (
    check, dockerfile, env, explain, facts, fix, lint, preflight, recommend, report, rules, run_command,
    snapshot,
)
from gpudoctor.cli.plain_values import Command, Group

_COMMANDS: Mapping[str, Callable[..., None]] = {
    "check": check.check, "preflight": preflight.preflight, "snapshot": snapshot.snapshot,
    "payload": snapshot.payload, "diff": snapshot.diff, "facts": facts.facts,
    "explain": explain.explain, "run": run_command.run,
    "recommend": recommend.recommend, "dockerfile": dockerfile.dockerfile, "lint": lint.lint,
    "fix": fix.fix, "env": env.env, "report": report.report,
}
_PURPOSE = "Find out why a framework does not use the GPU, and what to do about it."
_CODES = ("Exit codes: 0 nothing found, 1 findings, 2 wrong usage, 3 undecided, 4 an input cannot be used, "
          "5 gpudoctor failed. Each command has --help with an example.")
# what stands behind the command to run belongs to that command
_SETTINGS: Mapping[str, dict[str, bool]] = {"run": {"allow_interspersed_args": False}}


def application(words: Sequence[str]) -> typer.Typer:
    """Return the application for a command line of these words."""
    app = typer.Typer(
        name="gpudoctor", cls=Group, no_args_is_help=True, pretty_exceptions_enable=False,
        rich_markup_mode=None, context_settings={"help_option_names": ["-h", "--help"]},
        help=f"{_PURPOSE}\n\nExample: gpudoctor check", epilog=_CODES)
    app.callback()(options)
    first = words[0] if words else ""
    for name, function in _COMMANDS.items():
        if name == first or first not in _COMMANDS:
            app.command(name, cls=Command, context_settings=_SETTINGS.get(name))(function)
    if first not in _COMMANDS:
        app.add_typer(rules.app, name="rules")
    return app


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"gpudoctor {__version__}")
        raise typer.Exit


def options(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True,
                                          help="Print the version and stop.")] = False,
) -> None:
    """Find out why a framework does not use the GPU, and what to do about it."""
