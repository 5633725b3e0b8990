"""`gpudoctor rules`: list, show and prove the rule database."""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import Enum
from typing import TYPE_CHECKING, Annotated

import typer

from gpudoctor.cli import streams
from gpudoctor.cli.errors import InputError
from gpudoctor.cli.plain_values import Command, Group

if TYPE_CHECKING:
    from gpudoctor.compiled import Extent
    from gpudoctor.model import Rule, RuleDatabase

app = typer.Typer(cls=Group, no_args_is_help=True, rich_markup_mode=None,
                  help="List, show and prove the rules.")
Folder = Annotated[str | None, typer.Option(
    "--rules", metavar="DIR", help="Use the rule pages in this folder instead of the shipped ones.")]


class Format(str, Enum):
    """How to print."""

    TEXT = "text"
    JSON = "json"


FormatOption = Annotated[Format, typer.Option("--format", help="How to print.")]


def _database(folder: str | None, extent: Extent = "told") -> RuleDatabase:
    from gpudoctor.cli import sources  # what reads rules waits until a command needs it

    return sources.announced_database(folder, extent)


@app.command("list", cls=Command)
def list_(format_: FormatOption = Format.TEXT, rules: Folder = None) -> None:
    """List every rule: id, severity, cause, summary.

    Example: gpudoctor rules list --format json
    """
    database = _database(rules)
    if format_ is Format.JSON:
        listed = [{"id": r.id, "cause": r.cause, "severity": r.severity.value, "summary": r.title}
                  for r in database.rules]
        streams.say(json.dumps({"rules": listed}, indent=2) + "\n")
        return
    streams.say("".join(f"{rule.id}  {rule.severity.value:8} {rule.cause:36} {rule.title}\n"
                        for rule in database.rules))


@app.command("show", cls=Command)
def show(identifier: Annotated[str, typer.Argument(metavar="ID", help="A rule's id, or its cause.")],
         rules: Folder = None) -> None:
    """Print a rule's page: what it means, why it happens, what to do.

    Example: gpudoctor rules show GPD2010
    """
    database = _database(rules, "whole")
    found = [r for r in database.rules if identifier.lower() in (r.id.lower(), r.cause)]
    if not found:
        raise InputError(f"there is no rule {identifier}; `gpudoctor rules list` names them all")
    streams.say("\n".join(page_text(rule) for rule in found) + f"\n{_origin(database)}\n")


def _origin(database: RuleDatabase) -> str:
    return f"Rules {database.version}, sha256 {database.sha256}, read from {database.origin}"


def page_text(rule: Rule) -> str:
    """Return a rule's page as it is printed."""
    listed = "".join(f"- {source.url}" + (f" (read {source.accessed})" if source.accessed else "") + "\n"
                     for source in rule.source)
    return (f"# {rule.title}\n\n{rule.id}, {rule.cause}, {rule.severity.value}, since {rule.since}\n\n"
            f"{rule.page}\n\nSources\n{listed}")


@app.command("table", cls=Command)
def table(name: Annotated[str, typer.Argument(help="A table's name; without a match the names are listed.")],
          format_: FormatOption = Format.TEXT, rules: Folder = None) -> None:
    """Print a reference table.

    Example: gpudoctor rules table tensorflow --format json
    """
    from gpudoctor import codec

    database = _database(rules)
    found = database.tables.get(name)
    if found is None:
        raise InputError(f"there is no table {name}; there are: {', '.join(sorted(database.tables))}")
    rows = [{column: codec.encode_value(value) for column, value in row.items()} for row in found.rows]
    if format_ is Format.JSON:
        nothing = dict.fromkeys(found.columns)  # every row has every column; what is not known is null
        streams.say(json.dumps({"rows": [{**nothing, **row} for row in rows]}, indent=2) + "\n")
        return
    streams.say("".join(f"{_row(row)}\n" for row in rows))


def _row(row: Mapping[str, object]) -> str:
    return "  ".join(f"{column}={value}" for column, value in row.items() if not _is_bulky(value))


def _is_bulky(value: object) -> bool:
    return isinstance(value, list) and any(isinstance(item, dict) for item in value)


@app.command("lint", cls=Command)
def lint_(rules: Folder = None) -> None:
    """Prove every rule and symptom.

    Form, cases, coverage, blindness, cures, examples.

    Example: gpudoctor rules lint --rules rules/
    """
    from gpudoctor import lint, texts
    from gpudoctor.examine import EXIT_FINDINGS
    from gpudoctor.render.plain import counted_words

    database = _database(rules, "whole")
    problems = list(lint.lint(database, lambda log: texts.told_causes(log, database)))
    cases = sum(len(rule.case) for rule in database.rules)
    streams.say("".join(f"{problem}\n" for problem in problems)
                + f"{len(database.rules)} rules, {cases} cases, {len(database.symptoms)} symptoms, "
                + f"{counted_words(len(problems), 'problem')}\n")
    if problems:
        raise typer.Exit(EXIT_FINDINGS)
