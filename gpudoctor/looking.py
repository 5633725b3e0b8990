"""Look closer at this machine: run the frameworks, as far as what was seen without them says that one may."""

from __future__ import annotations

from collections.abc import Callable

from gpudoctor import courses
from gpudoctor.model import RuleDatabase
from gpudoctor.probes import snapshot as snapshots
from gpudoctor.probes.raw import Answer, RawDocument
from gpudoctor.transports import courses as transport
from gpudoctor.transports import local


def look(visit: local.Visit, raw: RawDocument, database: RuleDatabase, wish: courses.Wish,
         told: Callable[[str], None]) -> RawDocument:
    """Return the raw answers of the collectors and of every framework; `told` hears what takes long.

    Raises `courses.NoSuchCard` for a card that was asked for and is not there.
    """
    if visit.depth == "static":
        detail = "no framework is imported at depth static"
        return {**raw, "stages": Answer(outcome="not-asked", seconds=0.0, detail=detail)}
    raw = local.with_device_code(visit, raw, courses.of_unknown_code(snapshots.read(raw), database))
    wanted = courses.courses(snapshots.read(raw), database, wish, depth=visit.depth)
    return {**raw, "stages": transport.run(visit, wanted, wish.limit_seconds, told)}
