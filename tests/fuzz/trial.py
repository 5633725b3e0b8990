"""What must hold for any file, and how its work grows."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from dataclasses import replace
from types import FrameType
from typing import Any

from gpudoctor.model import RuleDatabase
from gpudoctor.sources import importers
from gpudoctor.sources.scan import Input, Seen, scan

SMALL_BYTES, TIMES = 6_000, 4
# A long line is read with overlaps.
MORE_THAN_LINEAR = 1.6


class Pieces(io.BytesIO):
    """A stream that gives a few bytes at a time, as a pipe does."""

    def __init__(self, data: bytes, size: int) -> None:
        super().__init__(data)
        self._size = size

    def read1(self, size: int | None = -1, /) -> bytes:
        """Return the next few bytes."""
        return super().read1(self._size if size is None else min(size, self._size))


def seen(data: bytes, database: RuleDatabase, size: int = 1 << 20) -> Seen:
    """Return what a file shows that is delivered in pieces."""
    found = scan([Input(name="file", stream=Pieces(data, size))], database.symptoms)
    return replace(found, bytes_read=0)  # of a damaged archive not all is read, in pieces even less


def problems(data: bytes, size: int, database: RuleDatabase) -> Iterator[str]:
    """Yield what does not hold for a file; an exception is the caller's."""
    whole = seen(data, database)
    if seen(data, database, size) != whole:
        yield f"in pieces of {size} bytes it shows something else"
    quoted = [line.text for line in whole.suspicious]
    quoted += [text for shown in whole.shown.values() for one in shown.sightings
               for text in (one.text, *one.captures.values())]
    stated = importers.read_all(
        (importers.Text(kept.text, kept.file, kept.numbers) for kept in whole.kept), tables=database.tables)
    for facts in (stated.host, stated.text, *(stated.gpus or ()), *(stated.frameworks or ())):
        quoted += [fact.source for fact in facts.values() if hasattr(fact, "source")]
    yield from (f"quotes {text[:80]!r}" for text in quoted if not text.isprintable())


def work(data: bytes, database: RuleDatabase) -> int:
    """Return how many functions, ours and built-in ones, are called for a file, whatever the machine."""
    counted = 0

    def count(_frame: FrameType, event: str, _argument: Any) -> None:
        nonlocal counted
        counted += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        for kept in seen(data, database).kept:
            importers.read(kept.text, kept.file, tables=database.tables, numbers=kept.numbers)
    finally:
        sys.setprofile(None)
    return counted


def growth(data: bytes, database: RuleDatabase) -> Iterator[str]:
    """Yield a sentence when four times the file is much more than four times the work."""
    # Twice at least: the file alone may be one envelope, which its repetition is not.
    unit = data * max(2, SMALL_BYTES // (len(data) + 1))
    work(b"", database)  # what is made once must not count as the work of the empty text
    base, small, large = (work(text, database) for text in (b"", unit, unit * TIMES))
    if large - base > TIMES * MORE_THAN_LINEAR * (small - base) + 5000:
        yield f"{len(unit)} bytes take {small - base} calls, {TIMES} times as many take {large - base}"
