"""`gpudoctor rules`: list, show, compare, extend and prove the rule database."""

from __future__ import annotations

import json
import sys
from enum import Enum
from typing import TYPE_CHECKING, Annotated

import typer

from gpudoctor.cli import completing, showing, streams
from gpudoctor.cli.errors import UsageError
from gpudoctor.cli.plain_values import Command, Group
from gpudoctor.nearest import did_you_mean
from gpudoctor.render import wrapped
from gpudoctor.render.plain import printable

if TYPE_CHECKING:
    from gpudoctor.compiled import Extent
    from gpudoctor.model import Rule, RuleDatabase

app = typer.Typer(cls=Group, no_args_is_help=True, rich_markup_mode=None,
                  help="List, show, compare, extend and prove the rules.\n\n"
                       "Example: gpudoctor rules show GPD2010")
Folder = Annotated[str | None, typer.Option(
    "--rules", metavar="DIR", help="Use the rule pages in this folder instead of the shipped ones.")]


class Format(str, Enum):
    """How to print."""

    TEXT = "text"
    JSON = "json"


FormatOption = Annotated[Format, typer.Option("--format", help="How to print.")]


def _database(folder: str | None, extent: Extent = "told", *, for_proof: bool = False) -> RuleDatabase:
    from gpudoctor.cli import sources  # what reads rules waits until a command needs it

    return sources.announced_database(folder, extent, for_proof=for_proof)


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
    lines = "".join(f"{rule.id}  {rule.severity.value:8} {rule.cause:36} {rule.title}\n"
                    for rule in database.rules)
    streams.say(showing.fitted(lines, wrapped.records))


@app.command("show", cls=Command)
def show(identifier: Annotated[str, typer.Argument(
             metavar="ID", help="A rule's id, or its cause.", autocompletion=completing.rules)],
         rules: Folder = None) -> None:
    """Print a rule's page: what it means, why it happens, what to do.

    Example: gpudoctor rules show GPD2010
    """
    database = _database(rules, "whole")
    found, hint = rules_called(identifier, database)
    if not found:
        raise UsageError(f"there is no rule {printable(identifier, 80)}{hint}; "
                         "`gpudoctor rules list` names them all")
    text = "\n".join(page_text(rule) for rule in found) + f"\n{_origin(database)}\n"
    streams.say(showing.fitted(text, wrapped.page))


def rules_called(name: str, database: RuleDatabase) -> tuple[list[Rule], str]:
    """Return the rules of an id or a cause, and what may have been meant where there are none."""
    wanted = name.lower().replace("_", "-")
    found = [rule for rule in database.rules if wanted in (rule.id.lower(), rule.cause)]
    known = (called for rule in database.rules for called in (rule.id, rule.cause))
    return found, "" if found else did_you_mean(wanted, known)


def _origin(database: RuleDatabase) -> str:
    return f"Rules {database.version}, sha256 {database.sha256}, read from {database.origin}"


def page_text(rule: Rule) -> str:
    """Return a rule's page as it is printed."""
    listed = "".join(f"- {source.url}" + (f" (read {source.accessed})" if source.accessed else "") + "\n"
                     for source in rule.source)
    return (f"# {rule.title}\n\n{rule.id}, {rule.cause}, {rule.severity.value}, since {rule.since}\n\n"
            f"{rule.page}\n\nSources\n{listed}")


@app.command("table", cls=Command)
def table(name: Annotated[str | None, typer.Argument(
              help="A table's name; without one the names are listed.",
              autocompletion=completing.tables)] = None,
          where: Annotated[list[str] | None, typer.Option(
              metavar="COLUMN=VALUE", help="Only rows with this value, compared by the column's type, "
              "names without case and spaces; may be given again. cc=7.0 asks for a card, also of device "
              "code.")] = None,
          format_: FormatOption = Format.TEXT, rules: Folder = None) -> None:
    """Print a reference table, or some of its rows.

    Example: gpudoctor rules table torch --where cc=7.0 --format json
    """
    from gpudoctor.cli import rows

    tables = _database(rules).tables
    if name is None:
        if where:
            raise UsageError("--where is for the rows of a table: name one; gpudoctor rules table lists them")
        streams.say(rows.names(tables, as_json=format_ is Format.JSON))
        return
    found = rows.table_named(name, tables)
    chosen = rows.chosen(found, where or (), tables)
    if format_ is Format.JSON:
        streams.say(rows.as_json(found, chosen))
    else:
        streams.say(showing.fitted(rows.as_text(chosen), wrapped.records))
    if not chosen:
        sys.stderr.write(f"gpudoctor: {rows.none_of(found, where or ())}\n")


@app.command("new", cls=Command)
def new(family: Annotated[str, typer.Argument(help="The folder of pages it belongs to: card, driver, ...")],
        slug: Annotated[str, typer.Argument(help="What the cause is called: driver-too-old.")],
        rules: Annotated[str, typer.Option(
            "--rules", metavar="DIR", help="The folder of rule pages that gets it.")] = "rules") -> None:
    """Begin a rule page with the family's next free id.

    It holds all that the linter asks for, to be filled in.

    A folder that is empty, or has pages with ids GPDX0001 and up alone, gets a site's own page.

    Example: gpudoctor rules new driver driver-too-old --rules rules/
    """
    import shlex

    from gpudoctor.cli import rule_folder

    path, same = rule_folder.begin(rules, family, slug)
    if same:
        sys.stderr.write(f"gpudoctor: {', '.join(same)} of the same cause: both pages will be judged\n")
    folder, is_sites = shlex.quote(rules), rule_folder.is_of_a_site(path)
    proof = (f"GPUDOCTOR_RULES_EXTRA={folder} gpudoctor rules lint" if is_sites  # beside the published ones
             else f"gpudoctor rules lint --rules {folder}")
    streams.say(f"{path}\nfill it in, then prove it: {proof}\n")


@app.command("diff", cls=Command)
def diff(before: Annotated[str, typer.Argument(metavar="A", help="A folder of pages or compiled rules.")],
         after: Annotated[str, typer.Argument(metavar="B", help="Another one, as a rule newer.")],
         format_: FormatOption = Format.TEXT) -> None:
    """Say in words what changed between two editions of the rules.

    Example: gpudoctor rules diff old/site-packages/gpudoctor/_rules rules/
    """
    from gpudoctor.cli import rule_folder
    from gpudoctor.editions import differences
    from gpudoctor.render.plain import counted_words

    old, new_ = rule_folder.edition(before), rule_folder.edition(after)
    found = differences(old, new_)
    if format_ is Format.JSON:
        listed = [{"kind": one.kind, "name": one.name, "what": one.what} for one in found]
        streams.say(json.dumps({"before": old.version, "after": new_.version, "differences": listed},
                               indent=2) + "\n")
        return
    streams.say("".join(f"{one.kind} {one.name}: {printable(one.what, 2000)}\n" for one in found)
                + f"{old.version} -> {new_.version}: {counted_words(len(found), 'difference')}\n")


@app.command("lint", cls=Command)
def lint_(folder: Annotated[str | None, typer.Argument(
              metavar="[DIR]", help="The folder of pages; else the rules that a check would use.")] = None,
          rules: Folder = None) -> None:
    """Prove every rule and symptom.

    Form, cases, coverage, blindness, cures, examples.

    A folder with a site's own pages alone is proven beside the published ones, as it judges.

    Example: gpudoctor rules lint rules/
    """
    if folder is not None:
        if rules is not None:
            raise UsageError("name the folder once: DIR and --rules are the same")
        rules = folder
    from gpudoctor import proving, texts
    from gpudoctor.cli import rule_folder
    from gpudoctor.examine import EXIT_FINDINGS
    from gpudoctor.render.plain import counted_words

    if rules is not None and rule_folder.is_of_sites(rules):
        database, released = rule_folder.beside_published(rules), {}
    else:
        database = _database(rules, "whole", for_proof=True)
        released = dict(rule_folder.released(rule_folder.named(rules)))
    problems = list(proving.problems_of(database, lambda log: texts.told_causes(log, database), released))
    cases = sum(len(rule.case) for rule in database.rules)
    streams.say("".join(f"{problem}\n" for problem in problems)
                + f"{len(database.rules)} rules, {cases} cases, {len(database.symptoms)} symptoms, "
                + f"{counted_words(len(problems), 'problem')}\n")
    if problems:
        raise typer.Exit(EXIT_FINDINGS)
