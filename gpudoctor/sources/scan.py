"""Look for every symptom in any amount of text, in one pass: `scan` is the door, `Seen` what it gives.

The automaton of `anchors.py` finds the places where a symptom may stand; only their lines are cleaned, taken
out of their envelopes and held against the patterns. Nothing here opens a file or knows the time: streams
come in, values go out. Memory is bounded whatever comes in, and the time is linear in it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from io import BytesIO
from typing import NamedTuple, TypeVar

from gpudoctor.lazily import latest_kept
from gpudoctor.model import SymptomPattern
from gpudoctor.sources import suspicious
from gpudoctor.sources.anchors import Finder, Place
from gpudoctor.sources.keeping import Keeper, Stretch
from gpudoctor.sources.reading import Block, Reader
from gpudoctor.sources.seen import Input, Note, Seen, Shown, Sighting
from gpudoctor.sources.suspicious import Suspicious
from gpudoctor.sources.unwrap import unwrapped
from gpudoctor.symptom_index import index_of
from gpudoctor.symptoms import LINE_CHARACTERS, anchor_of, printable, shown

__all__ = ["Input", "Note", "Seen", "Shown", "Sighting", "Stretch", "Suspicious", "finished", "scan",
           "scan_text"]

_T = TypeVar("_T")
MOST_SIGHTINGS = 16
# After so many lines of one symptom, a line that has its anchor is counted without a closer look.
CLOSELY_COUNTED = 10_000
# After so many suspicious lines, only the last few of each block are looked at.
CLOSELY_SUSPECTED, SUSPECTED_IN_BLOCK = 20_000, 32
KEPT_BYTES, KEPT_BYTES_IN_ALL = 2 * 1024 * 1024, 16 * 1024 * 1024
QUOTED_CHARACTERS = 1024
# A long line is read in pieces, each with what a pattern may need before and behind it.
_STEP, _BEFORE, _BEHIND = 2048, 1024, 2048


def scan(inputs: Iterable[Input], symptoms: Sequence[SymptomPattern], *,
         progress: Callable[[str, int], None] | None = None) -> Seen:
    """Read every input to its end, once, and return what it shows.

    `inputs` may be lazy: each stream is read before the next is asked for, and closing it is the caller's.
    `progress` is called after each read (of up to 256 KiB) with the input's name and the bytes read of it.
    """
    going = _Pass(symptoms)
    try:
        for given in inputs:
            if not going.read(given, progress):
                break
    except KeyboardInterrupt:
        going.interrupted = True
    return finished(going.seen)


def finished(work: Callable[[], _T]) -> _T:
    """Return what some work on texts that are read gives: Ctrl-C ends the reading, and loses nothing of it.

    Where it falls upon the work, that is done anew, which takes seconds; a second one ends it.
    """
    try:
        return work()
    except KeyboardInterrupt:
        return work()


def scan_text(text: str, symptoms: Sequence[SymptomPattern], *, name: str = "standard input") -> Seen:
    """Return what a text shows that is in memory already."""
    stream = BytesIO(text.encode("utf-8", "replace"))
    return scan([Input(name=name, stream=stream)], symptoms)


class _Wanted(NamedTuple):
    """A pattern, and its place in the order of the database."""

    place: int
    pattern: str
    symptom: SymptomPattern


class _Patterns:
    """The patterns by their stems, and what finds these."""

    def __init__(self, symptoms: Sequence[SymptomPattern]) -> None:
        self._symptoms = symptoms
        self._index = index_of(symptoms)
        self._places = list(self._index.stems.values())
        self._wanted: dict[int, Sequence[_Wanted]] = {}
        self.finder = Finder([*self._index.stems, *suspicious.words()])

    def of_stem(self, number: int) -> Sequence[_Wanted]:
        """Return the patterns of what the finder found; a suspicious word has none."""
        if number not in self._wanted:
            places = self._places[number] if number < len(self._places) else ()
            self._wanted[number] = tuple(map(self._at, places))
        return self._wanted[number]

    def _at(self, place: int) -> _Wanted:
        number, pattern = self._index.owner_of(place)
        symptom = self._symptoms[number]
        return _Wanted(place, symptom.patterns[pattern], symptom)


_prepared = latest_kept(_Patterns)


class _Tally:
    """One symptom's lines."""

    __slots__ = ("count", "id", "sightings")

    def __init__(self, identifier: str) -> None:
        self.id = identifier
        self.count = 0
        self.sightings: dict[tuple[tuple[str, str], ...], Sighting] = {}

    @property
    def is_closely_counted(self) -> bool:
        return self.count < CLOSELY_COUNTED

    def shown(self) -> Shown:
        return Shown(id=self.id, count=self.count, sightings=tuple(self.sightings.values()))


class _Pass:
    """What one pass has found so far."""

    def __init__(self, symptoms: Sequence[SymptomPattern]) -> None:
        self._patterns = _prepared(symptoms)
        self._tallies: dict[str, _Tally] = {}
        self._gathered = suspicious.Gathered()
        self._left_to_suspect = CLOSELY_SUSPECTED
        self._keepers: list[Keeper] = []
        self._notes: list[Note] = []
        self._file = ""
        self._lines = self._bytes_read = 0
        self._has_text = False
        self.interrupted = False

    def read(self, given: Input, progress: Callable[[str, int], None] | None) -> bool:
        """Read one input; say whether the pass goes on."""
        self._file = given.name
        held_bytes = sum(keeper.held_bytes for keeper in self._keepers)
        keeper = Keeper(given.name, min(KEPT_BYTES, max(KEPT_BYTES_IN_ALL - held_bytes, 0) // 4))
        self._keepers.append(keeper)
        if held_bytes >= KEPT_BYTES_IN_ALL:
            self._note(given.name, "was searched for messages alone, not for versions: it is too much text")
        reader = Reader(
            given.stream, tell=lambda text: self._note(given.name, text),
            progress=None if progress is None else lambda count: progress(given.name, count))
        block = None
        try:
            for block in reader.blocks():
                keeper.add(block)
                if block.whole:
                    self._whole(block)
                else:
                    self._stretch(block)
        finally:
            self._bytes_read += reader.bytes_read
            self._has_text = self._has_text or reader.has_text
            if not reader.bytes_read and not reader.interrupted:
                self._note(given.name, "is empty: there is nothing to explain")
            elif not reader.has_text and not self._has_note(given.name):
                self._note(given.name, "holds only blanks: there is nothing to explain")
            if block is not None:
                ended = block.data.endswith(b"\n", block.begin, block.end)
                self._lines += block.line + block.feeds - ended
        self.interrupted = reader.interrupted
        return not reader.interrupted

    def seen(self) -> Seen:
        """Return what was found."""
        kept = (stretch for keeper in self._keepers for stretch in keeper.stretches() if stretch.lines)
        return Seen(
            shown={identifier: tally.shown() for identifier, tally in self._tallies.items()},
            suspicious=self._gathered.all(), kept=tuple(kept), notes=tuple(self._notes),
            lines=self._lines, bytes_read=self._bytes_read, interrupted=self.interrupted,
            has_text=self._has_text)

    def _has_note(self, file: str) -> bool:
        return any(note.file == file for note in self._notes)

    def _note(self, file: str, text: str) -> None:
        self._notes.append(Note(file=file, text=text))

    def _whole(self, block: Block) -> None:
        """Look at the lines of a block in which the automaton found something."""
        late: deque[tuple[int, bytes]] = deque(maxlen=SUSPECTED_IN_BLOCK)
        for number, line, found in _lines_with(block, self._patterns.finder.find(block.data)):
            wanted = self._candidates(found)
            if wanted:
                if unsettled := self._unsettled(wanted):
                    self._look(number, line, unsettled)
            elif self._left_to_suspect > 0:
                self._left_to_suspect -= 1
                self._look(number, line, ())
            else:
                late.append((number, line))
        for number, line in late:
            self._look(number, line, ())

    def _candidates(self, found: set[int]) -> list[_Wanted]:
        """Return the patterns to try in a line, in their order; none when only words were found in it."""
        wanted = [each for number in found for each in self._patterns.of_stem(number)]
        return sorted(wanted, key=lambda each: each.place)

    def _unsettled(self, wanted: Sequence[_Wanted]) -> Sequence[_Wanted]:
        """Count what was seen in very many lines already; return the others."""
        many = {each.symptom.id for each in wanted if not self._is_closely_counted(each.symptom.id)}
        for identifier in many:
            self._tallies[identifier].count += 1
        return [each for each in wanted if each.symptom.id not in many] if many else wanted

    def _is_closely_counted(self, identifier: str) -> bool:
        tally = self._tallies.get(identifier)
        return tally is None or tally.is_closely_counted

    def _look(self, number: int, line: bytes, wanted: Sequence[_Wanted]) -> None:
        """Hold a line against patterns; what none explains may be suspicious."""
        text = unwrapped(line.decode("utf-8", "replace"))
        for part in text.replace("\r", "\n").split("\n"):
            if not self._hits(number, part, 0, len(part), wanted):
                self._gathered.add(self._file, number, printable(part[:QUOTED_CHARACTERS]))

    def _stretch(self, block: Block) -> None:
        """Look at a stretch of a long line."""
        found = {index for index, _, _ in self._patterns.finder.find(block.data)}
        data = block.data
        before, own, after = (part.decode("utf-8", "replace") for part in (
            data[:block.begin], data[block.begin:block.end], data[block.end:]))
        if wanted := self._unsettled(self._candidates(found)):
            self._hits(block.line, before + own + after, len(before), len(before) + len(own), wanted)

    def _hits(self, number: int, text: str, begin: int, end: int, wanted: Sequence[_Wanted]) -> bool:
        """Count the symptoms that begin between `begin` and `end` of a text; say whether there are any."""
        hit = False
        for piece, low, high in _pieces(printable(text), begin, end):
            seen: set[str] = set()
            for each in wanted:
                if each.symptom.id in seen:
                    continue
                captures = shown(each.pattern, piece, each.symptom, begin=low, end=high)
                if captures is not None:
                    seen.add(each.symptom.id)
                    self._count(each, number, piece, captures)
            hit = hit or bool(seen)
        return hit

    def _count(self, each: _Wanted, number: int, piece: str, captures: Mapping[str, str]) -> None:
        tally = self._tallies.setdefault(each.symptom.id, _Tally(each.symptom.id))
        tally.count += 1
        key = tuple(captures.items())
        if key not in tally.sightings and len(tally.sightings) < MOST_SIGHTINGS:
            text = _around(piece, anchor_of(each.pattern))
            tally.sightings[key] = Sighting(file=self._file, line=number, text=text, captures=captures)


def _around(piece: str, anchor: str) -> str:
    if len(piece) <= QUOTED_CHARACTERS:
        return piece
    start = max(0, piece.find(anchor) - QUOTED_CHARACTERS // 4)
    return piece[start:start + QUOTED_CHARACTERS]


def _lines_with(block: Block, places: Sequence[Place]) -> Iterator[tuple[int, bytes, set[int]]]:
    """Yield the number, the bytes and the findings of each line that has any."""
    data, number, counted = block.data, block.line, 0
    begin = end = -1
    found: set[int] = set()
    for index, start, _ in places:
        if start >= end:
            if found:
                yield number, data[begin:end], found
                found = set()
            begin = data.rfind(b"\n", 0, start) + 1
            begin = max(begin, data.rfind(b"\r", begin, start) + 1)
            end = data.find(b"\n", start)
            end = end if end >= 0 else len(data)
            back = data.find(b"\r", start, end)
            end = back if back >= 0 else end
            number += data.count(b"\n", counted, begin)
            counted = begin
        found.add(index)
    if found:
        yield number, data[begin:end], found


def _pieces(text: str, begin: int, end: int) -> Iterator[tuple[str, int, int]]:
    """Yield the text, or overlapping pieces of it, each with where in it a pattern may begin."""
    if len(text) <= LINE_CHARACTERS:
        yield text, begin, end
        return
    for base in range(begin, end, _STEP):
        low = max(0, base - _BEFORE)
        yield text[low:base + _STEP + _BEHIND], base - low, min(base + _STEP, end) - low
