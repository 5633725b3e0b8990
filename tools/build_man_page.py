"""Write the manual page from the command line's own help.

    python -m tools.build_man_page

Source of the macros: https://man7.org/linux/man-pages/man7/man.7.html (2026-11-23).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from gpudoctor import __version__
from gpudoctor.cli.app import application

PAGE = Path(__file__).resolve().parent.parent / "docs" / "gpudoctor.1"
EXIT_CODES = {
    "0": "healthy: nothing at or above --fail-on, and nothing that matters undecided",
    "1": "findings at or above --fail-on, or a --require that is not met; with recommend: nothing fits",
    "2": "wrong usage",
    "3": "undecided: something at or above --fail-on could not be judged (--allow-undecided makes it 0)",
    "4": "rules, a snapshot or another input is missing or cannot be used, or the output cannot be written",
    "5": "gpudoctor itself failed",
}
VARIABLES = {
    "GPUDOCTOR_RULES": "a folder of rule pages in place of the shipped ones, as --rules",
    "GPUDOCTOR_RULES_EXTRA": "one folder (no list) of a site's own rule pages (GPDX...), added to the others",
    "GPUDOCTOR_DEBUG": "if gpudoctor itself fails, show where",
    "NO_COLOR": "if not empty, print without colours",
    "COLUMNS": "how many columns to fill",
}


def render() -> str:
    """Return the page as troff."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    command = typer.main.get_command(application([]))
    yield '.\\" Written by tools/build_man_page.py from the help of the commands.'
    yield f'.TH GPUDOCTOR 1 "" "gpudoctor {__version__}" "User Commands"'
    yield from (".SH NAME", f"gpudoctor \\- {_escaped(_named(command))}")
    yield from (".SH SYNOPSIS", ".B gpudoctor", ".I COMMAND", "[\\fIOPTIONS\\fR] [\\fIARGUMENTS\\fR]")
    yield from (".SH DESCRIPTION", _escaped(_first(command)))
    yield "It looks at driver, CUDA, cuDNN, frameworks and cards, runs a checked kernel, and prints fixes."
    yield ".SH COMMANDS"
    yield from _commands(command, "gpudoctor")
    yield ".SH EXIT STATUS"
    for code, meaning in EXIT_CODES.items():
        yield from (".TP", f".B {code}", _escaped(meaning))
    yield ".SH ENVIRONMENT"
    for name, meaning in VARIABLES.items():
        yield from (".TP", f".B {name}", _escaped(meaning))
    yield from (".SH SEE ALSO", "The pages of single causes:", ".B gpudoctor rules list")


def _commands(group: Any, path: str) -> Iterator[str]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _commands(command, f"{path} {name}")
        else:
            yield from _command(command, f"{path} {name}")


def _command(command: Any, path: str) -> Iterator[str]:
    context = typer.Context(command, info_name=path)
    usage = command.get_usage(context).partition(": ")[2]
    yield f'.SS "{_escaped(" ".join(usage.split()))}"'
    for paragraph in re.split(r"\n\s*\n", (command.help or "").strip()):
        said = " ".join(paragraph.split())
        if said.startswith("Example: "):
            example = _escaped(said.removeprefix("Example: "))
            yield from (".PP", "Example:", ".PP", ".nf", ".RS", example, ".RE", ".fi")
        else:
            yield from (".PP", _escaped(said))
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None and record[0] != "-h, --help":
            yield from (".TP", f".B {_escaped(record[0])}", _escaped(" ".join(record[1].split())))


def _first(command: Any) -> str:
    return (command.help or "").partition("\n")[0]


def _named(command: Any) -> str:
    """Return the first sentence as the line under which a page is looked up."""
    said = _first(command).rstrip(".")
    return said[:1].lower() + said[1:]


def _escaped(text: str) -> str:
    """Return text that troff prints as it stands, hyphens as they are typed."""
    said = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\(ga")
    said = said.replace("^", "\\(ha").replace("~", "\\(ti").replace('"', "\\(dq")
    return f"\\&{said}" if said.startswith((".", "\\(aq")) else said


if __name__ == "__main__":
    PAGE.write_text(render(), encoding="utf-8")
