"""`gpudoctor snapshot`, `payload` and `diff`: record a machine, carry the looking elsewhere, compare."""

from __future__ import annotations

import json
import os
from enum import Enum
from typing import TYPE_CHECKING, Annotated

import typer

from gpudoctor.cli import parameters, streams, visits
from gpudoctor.cli.errors import InputError
from gpudoctor.cli.parameters import Depth
from gpudoctor.transports import local

if TYPE_CHECKING:
    from gpudoctor.compare import Change


class Format(str, Enum):
    """How to print."""

    TEXT = "text"
    JSON = "json"


def snapshot(
    context: typer.Context,
    output: Annotated[str | None, typer.Option(
        "--output", "-o", metavar="FILE", help="Write it there.")] = None,
    python: Annotated[str | None, typer.Option(metavar="PYTHON", help="The interpreter to examine.")] = None,
    kernel: parameters.KernelName = None,
    pid: parameters.ProcessNumber = None,
    depth: Annotated[Depth, typer.Option(help="How far to look.")] = Depth.STATIC,
    timeout: Annotated[float, typer.Option(
        metavar="SECONDS", min=0.1, max=3600, help="Limit of each probe.")] = 20.0,
    share_: Annotated[bool, typer.Option(
        "--share", help="Redact what is private, to show it to others.")] = False,
    record: Annotated[str | None, typer.Option(
        metavar="DIR", help="Also save what every probe answered, raw, in this folder.")] = None,
) -> None:
    """Record this machine, to be judged anywhere with check --from.

    Example: gpudoctor snapshot --share -o machine.json
    """
    from gpudoctor import codec, courses, looking, share
    from gpudoctor.cli import sources, wish
    from gpudoctor.probes import document
    from gpudoctor.probes import snapshot as snapshots

    visits.refuse(parameters.given(context), depth.value, output)
    visit = visits.visit_here(python, depth.value, timeout, kernel=kernel, pid=pid)
    raw = looking.look(visit, local.collect(visit), sources.database(None), courses.Wish(), wish.told)
    if record is not None:
        _record(document.encode(raw), record)
        if share_:
            typer.echo(f"{record} holds raw answers, which are not redacted: show others only the snapshot",
                       err=True)
    seen = snapshots.read(raw)
    if share_:
        seen = share.share(seen)
    sources.write(json.dumps(codec.encode_snapshot(seen), indent=2) + "\n", output)
    if share_:
        typer.echo("redacted: folders and names of one's own, ids of cards and values of variables have "
                   "stand-ins; look it through before it is shown to others", err=True)


def _record(raw: object, folder: str) -> None:
    from gpudoctor.cli import sources

    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: cannot be made: {error.strerror}") from None
    sources.write(json.dumps(raw, indent=1) + "\n", os.path.join(folder, "raw.json"))


def payload(
    output: Annotated[str, typer.Option(
        "--output", "-o", metavar="FILE", help="Write it there.")] = "probe.pyz",
) -> None:
    """Write one file that looks where gpudoctor is not installed.

    It needs Python 3.6 or newer there, and nothing else.

    Example: gpudoctor payload -o probe.pyz
    """
    from gpudoctor import host, zipapp

    refused = host.write_atomically(output, zipapp.build())
    if refused is not None:
        raise InputError(f"{output}: cannot be written: {refused.reason}")
    typer.echo(f"{output} is written. There: python3 {output} > raw.json; "
               f"here: gpudoctor check --from raw.json", err=True)


def diff(
    before: Annotated[str, typer.Argument(metavar="BEFORE", help="A snapshot, report or raw document.")],
    after: Annotated[str, typer.Argument(metavar="AFTER", help="Another one, later or of another machine.")],
    format_: Annotated[Format, typer.Option("--format", help="How to print.")] = Format.TEXT,
) -> None:
    """Say what changed between two snapshots or reports.

    Example: gpudoctor diff yesterday.json today.json
    """
    from gpudoctor.cli import sources
    from gpudoctor.compare import differences
    from gpudoctor.render.plain import counted_words

    changes = differences(sources.read_snapshot(before), sources.read_snapshot(after))
    if format_ is Format.JSON:
        listed = [{"subject": c.subject, "fact": c.name, "before": c.before, "after": c.after}
                  for c in changes]
        streams.say(json.dumps({"schema": "gpudoctor.diff/1", "changes": listed}, indent=2) + "\n")
        return
    streams.say("".join(_words(change) for change in changes) + f"{counted_words(len(changes), 'change')}\n")


def _words(change: Change) -> str:
    from gpudoctor.render.plain import printable

    name = f"{change.subject}: {change.name}" if change.name else change.subject
    return f"{printable(name)}\n    was {printable(change.before)}\n    is  {printable(change.after)}\n"
