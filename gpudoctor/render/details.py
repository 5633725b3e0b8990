"""What lies behind a report: how each probe ended, where libraries were found, how stages of a run ended."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from gpudoctor.derive.view import as_records, text_in
from gpudoctor.frozen import frozen
from gpudoctor.model import Facts, Known, Record, Snapshot, Unknown
from gpudoctor.render.plain import printable


@frozen
class Block:
    """Rows of (label, words) under a title."""

    title: str
    rows: tuple[tuple[str, str], ...]
    is_of_probes: bool = False


def blocks(snapshot: Snapshot) -> Iterator[Block]:
    """Yield the probes, and of each framework the trace of its libraries and its stages."""
    yield Block(title="PROBES", is_of_probes=True, rows=tuple(
        (printable(probe.probe), printable(
            f"{probe.outcome}, {probe.seconds * 1000:.0f} ms{f', {probe.detail}' if probe.detail else ''}"))
        for probe in snapshot.probes))
    for framework in () if isinstance(snapshot.frameworks, Unknown) else snapshot.frameworks:
        yield from _records(framework, "LOADER TRACE", "framework.libraries", "soname", _traced)
        yield from _records(framework, "STAGES", "framework.stages", "stage", _staged)


def name_of(framework: Facts) -> str:
    """Return what a framework is called."""
    name = framework.get("framework.name")
    return printable(str(name.value)) if isinstance(name, Known) else "a framework"


def _records(framework: Facts, title: str, fact: str, label: str, words: Callable[[Record], str]
             ) -> Iterator[Block]:
    """Yield a row for each record of a fact, where there are any."""
    listed = framework.get(fact)
    if isinstance(listed, Known) and listed.value:
        yield Block(title=f"{title} of {name_of(framework)}", rows=tuple(
            (printable(text_in(record, label)), printable(words(record)))
            for record in as_records(listed.value)))


def _traced(library: Record) -> str:
    where, error = text_in(library, "path") or "nowhere", text_in(library, "error")
    return f"{where} ({text_in(library, 'why')})" + (f", {error}" if error else "")


def _staged(stage: Record) -> str:
    """Return how a stage ended, where its result lies, how far off it is, and how long it took."""
    card, device = text_in(stage, "card"), text_in(stage, "device")
    error, seconds = _figure(stage, "largest_error", "g"), _figure(stage, "seconds", ".2f")
    allowed = _figure(stage, "tolerance", "g")
    parts = [text_in(stage, "outcome"), f"for GPU {card}" if card else "",
             f"result on {device}" if device else "",
             f"off by {error} (allowed: {allowed})" if error and allowed else "",
             f"{seconds} s" if seconds else "", text_in(stage, "reason")]
    return ", ".join(part for part in parts if part)


def _figure(record: Record, name: str, form: str) -> str:
    """Return a number of a record as it is shown, "" where there is none."""
    value = record.get(name)
    return format(value, form) if isinstance(value, int | float) and not isinstance(value, bool) else ""
