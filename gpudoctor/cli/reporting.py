"""What `gpudoctor report` does: read documents one by one, add them up, print the sums."""

from __future__ import annotations

import gc
import json
import os
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gpudoctor import codec
from gpudoctor.cli import showing, sources
from gpudoctor.cli.errors import InputError, UsageError
from gpudoctor.cli.gathering import Found, LeftOut, Unusable, gather
from gpudoctor.cli.progress import Progress
from gpudoctor.examine import Policy, examine
from gpudoctor.exhaustive import assert_never
from gpudoctor.fleet import machine as machines
from gpudoctor.fleet.document import Judging, encode
from gpudoctor.fleet.machine import Machine
from gpudoctor.fleet.summary import FOREIGN, Summary
from gpudoctor.frozen import frozen
from gpudoctor.model import RuleDatabase, Severity, Snapshot
from gpudoctor.render.plain import counted_words, printable
from gpudoctor.ruledb import RuleDatabaseError

_OURS = ("gpudoctor.report/", "gpudoctor.snapshot/", "gpudoctor.raw/")


@frozen
class Asked:
    """The options of `gpudoctor report`."""

    names: Sequence[str]
    judge: bool = False
    format: str = "text"
    output: str | None = None
    fail_on: str = "error"
    allow_undecided: bool = False
    rules: str | None = None


class Reader:
    """Turns documents into machines; rules that nobody named are read when the first has to be judged."""

    def __init__(self, asked: Asked) -> None:
        self.policy = Policy(fail_on=Severity(asked.fail_on), allow_undecided=asked.allow_undecided)
        self._asked = asked
        self._database: RuleDatabase | None = None
        if asked.rules is not None:
            self.database()

    def database(self) -> RuleDatabase:
        """Return the rules; raise `RuleDatabaseError`, which is no fault of the machine at hand."""
        if self._database is None:
            self._database = sources.announced_database(self._asked.rules, "judged")
            gc.freeze()
        return self._database

    def machine(self, document: Mapping[str, Any], name: str) -> Machine:
        """Return the machine of a document; raise `codec.CodecError`."""
        if document["schema"] == codec.REPORT_SCHEMA and not self._asked.judge:
            return machines.taken(document, name, self.policy)
        report = examine(_snapshot(document, name), self.database(), self.policy)
        return machines.judged(report, name, self.policy)


def _snapshot(document: Mapping[str, Any], name: str) -> Snapshot:
    from gpudoctor.probes import document as raw
    from gpudoctor.probes import snapshot

    if raw.is_raw(document):
        return snapshot.read(raw.decode(document, name))
    return codec.decode_snapshot(document, name)


def report(asked: Asked) -> int:
    """Print what many machines come to, and return the exit code."""
    if list(asked.names).count("-") > 1:
        raise UsageError("standard input can be read only once")
    showing.refuse_lost_output(asked.output)
    gc.enable()  # which other commands are over too soon to need
    reader, summary = Reader(asked), Summary()
    progress = Progress() if sys.stderr.isatty() else None
    try:
        for _ in read(asked.names, reader, summary):
            if progress is not None:
                progress.of_machines(summary.machines.number)
    except KeyboardInterrupt:
        if not summary.machines.number:
            raise
        summary.is_interrupted = True
    if progress is not None:
        progress.end()
    if not summary.machines.number:
        raise InputError(_nothing(summary, asked.names))
    judged_by = reader.database() if summary.kinds["judged"] else None
    rules = (judged_by.version, judged_by.sha256) if judged_by else None
    judging = Judging(fail_on=reader.policy.fail_on, allow_undecided=asked.allow_undecided, rules=rules)
    sources.write(_rendered(summary, judging, asked), asked.output)
    return summary.exit_code(allow_undecided=asked.allow_undecided)


def read(names: Sequence[str], reader: Reader, summary: Summary) -> Iterator[None]:
    """Add up what is in files and folders, and yield after each document."""
    for gathered in gather(names):
        match gathered:
            case Found(name=name, document=[*listed]) if any(map(_is_ours, listed)):
                for number, one in enumerate(listed):
                    _take(one, f"{name}[{number}]", reader, summary)
            case Found(name=name, document=document):
                _take(document, name, reader, summary)
            case Unusable(name=name, why=why):
                summary.refuse(name, why)
            case LeftOut(name=name, what=what):
                summary.skip(name, what)
            case _:
                assert_never(gathered)
        yield


def _take(document: Any, name: str, reader: Reader, summary: Summary) -> None:
    if not _is_ours(document):
        summary.skip(name, FOREIGN)
        return
    try:
        machine = reader.machine(document, name)
    except codec.CodecError as error:
        summary.refuse(name, str(error))
    except (MemoryError, RuleDatabaseError):
        raise
    except Exception as error:  # noqa: BLE001 - thousands of machines are not lost for one that no rule foresaw
        summary.refuse(name, f"{name}: could not be judged ({type(error).__name__}): {error}")
    else:
        with _Whole():
            summary.add(machine)


def _is_ours(document: object) -> bool:
    schema = document.get("schema") if isinstance(document, Mapping) else None
    return isinstance(schema, str) and schema.startswith(_OURS)


class _Whole:
    """Holds Ctrl-C back until a machine is added: half of one would be told otherwise."""

    def __enter__(self) -> None:
        self._is_noted = False
        self._before = signal.signal(signal.SIGINT, self._note)

    def __exit__(self, *_: object) -> None:
        signal.signal(signal.SIGINT, self._before)
        if self._is_noted and callable(self._before):
            self._before(signal.SIGINT, None)

    def _note(self, *_: object) -> None:
        self._is_noted = True


def _nothing(summary: Summary, names: Sequence[str]) -> str:
    refused = sorted(summary.refused.counts)
    if refused:
        more = summary.refused.total - 1
        return refused[0][1] + (f" (and {more} more that cannot be used)" if more else "")
    left = sum(count.number for count in summary.skipped.counts.values())
    looked = f" among {counted_words(left, 'file')}" if left else ""
    where = printable(names[0], 200) + (f" and {len(names) - 1} more" if len(names) > 1 else "")
    return f"{where}: no report and no snapshot{looked}; write one: gpudoctor check --format json -o FILE"


def _rendered(summary: Summary, judging: Judging, asked: Asked) -> str:
    from gpudoctor.render import fleet_formats as formats

    folder = _folder(asked.names)
    match asked.format:
        case "json":
            return json.dumps(encode(summary, judging), indent=2) + "\n"
        case "csv":
            return formats.table(summary, judging, folder)
        case "markdown":
            return formats.markdown(summary, judging, folder)
        case "html":
            return formats.page(summary, judging, folder)
    terminal = sys.stdout.isatty() and asked.output is None
    return formats.text(summary, judging, folder, width=showing.width(terminal),
                        colour=terminal and showing.colour())


def _folder(names: Sequence[str]) -> str:
    """Return the folder of all that was named, where that is one thing: what is in it needs only its name."""
    if len(names) > 1:
        return ""
    return names[0].rstrip("/") if os.path.isdir(names[0]) else os.path.dirname(names[0])
