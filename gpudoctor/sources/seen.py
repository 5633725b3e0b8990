"""What one pass over texts gives: which symptoms stand where, what else looks bad, what importers read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import BinaryIO

from gpudoctor.frozen import frozen
from gpudoctor.sources.keeping import Stretch
from gpudoctor.sources.suspicious import Suspicious


@frozen
class Input:
    """A text and the name under which findings quote it; the stream gives bytes, as they are in the file."""

    name: str
    stream: BinaryIO


@frozen
class Sighting:
    """A line (counted from 1, as editors and grep do) that shows a symptom, and what the pattern took out.

    `text` is the line without colours, envelopes and what no terminal should see, at most 1024 characters
    around the symptom.
    """

    file: str
    line: int
    text: str
    captures: Mapping[str, str]


@frozen
class Shown:
    """A symptom that the text shows: how many lines do, and the first line for each set of captures.

    There are at most 16 sightings. A count of more than 10 000 may hold lines that only begin as the symptom.
    """

    id: str
    count: int
    sightings: tuple[Sighting, ...]


@frozen
class Note:
    """Something about an input that the reader of a report should know: why a part of it was not read."""

    file: str
    text: str


@frozen
class Seen:
    """What was seen in all inputs. `shown` is by id, in the order of first sightings.

    `interrupted` says that Ctrl-C ended the pass, and everything else is what was found until then. Without
    `has_text` every input was empty, blank or binary, or what only another program reads.
    """

    shown: Mapping[str, Shown]
    suspicious: tuple[Suspicious, ...]
    kept: tuple[Stretch, ...]
    notes: tuple[Note, ...]
    lines: int
    bytes_read: int
    interrupted: bool = False
    has_text: bool = True
