"""What lines mean whose wording no symptom knows: read where the known wordings explain no fault.

First by what a line names and says of it, else by the known messages that it resembles. Either is a guess: it
counts for less than a known wording, and what is told of it says so.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence

from gpudoctor.explanation import denied, entries, other_programs
from gpudoctor.explanation.context import is_context
from gpudoctor.explanation.reading import Quoted, Reading, Said, quoted
from gpudoctor.model import RuleDatabase, rows_of
from gpudoctor.pattern_forms import PEOPLE
from gpudoctor.symptom_index import ById
from gpudoctor.unfamiliar import likeness
from gpudoctor.unfamiliar.languages import Languages
from gpudoctor.unfamiliar.spoken import Speech
from gpudoctor.unfamiliar.words import words_of

MOST_LINES = 24  # that are taken for known messages
LEAST_ALIKE = 0.45  # below it a line resembles nothing
# How far such a line counts as the known message: what it speaks of first, and second; what it resembles, if
# it speaks of nothing, and if it does.
SPOKEN, ALIKE, ALIKE_BESIDE = (0.75, 0.35), 0.8, 0.4
_SUSPECT = frozenset({"cannot", "error", "failed"})  # in a line of another language


def said_otherwise(reading: Reading, database: RuleDatabase) -> tuple[Said, ...]:
    """Return the known messages that lines of a text may mean, in the order of the lines."""
    if "spoken_meanings" not in database.tables:
        return ()
    reader = _Reader(database)
    suspicious = {line.source: line.is_warning for line in reading.suspicious}
    found: list[Said] = []
    lines = 0
    for line in _unknown(reading, reader.is_spoken):
        said = list(reader.said(line, is_suspicious=line.source in suspicious,
                                is_fault=not suspicious.get(line.source, True)))
        found += said
        lines += bool(said)
        if lines == MOST_LINES:
            break
    return tuple(found)


def _unknown(reading: Reading, is_spoken: Callable[[str], bool]) -> Iterator[Quoted]:
    """Yield the lines that show no symptom of a program, each once: people say several things in one.

    A command, or a place, that a line names is no reason to leave out what it says besides.
    """
    seen = {line.source for line in reading.said if not is_spoken(line.id)}
    for line in (*reading.lines, *reading.suspicious):
        if line.source not in seen and not (
                entries.speaks_of_none(line.text) or denied.is_source(line.text)
                or other_programs.says_nothing_of_gpus(line.text)):
            seen.add(line.source)
            yield line


class _Reader:
    """Reads single lines; what it needs of the rules is taken out of them once."""

    def __init__(self, database: RuleDatabase) -> None:
        self._speech = Speech(database.tables, database.symptoms)
        self._languages = Languages(rows_of(database.tables, "spoken_languages"))
        self._words = database.words
        self._symptoms = ById(database.symptoms)
        self._known = frozenset(self._symptoms)

    def is_spoken(self, symptom: str) -> bool:
        """Say whether a symptom is a sentence of people's, or only says where or how something was run."""
        return self._symptoms[symptom].program == PEOPLE or is_context(self._symptoms[symptom])

    def said(self, line: Quoted, *, is_suspicious: bool, is_fault: bool) -> Iterator[Said]:
        """Yield what a line may mean: what a warning resembles is no fault yet."""
        named = other_programs.without_names(line.text)
        english = self._languages.in_english(named)
        words = words_of(english)
        is_suspicious = is_suspicious or (english is not named and not _SUSPECT.isdisjoint(words))
        meanings = [one for one in self._speech.meanings(words) if one.symptom in self._known
                    and (is_suspicious or one.is_plain)]
        spoken = [_said(line, meaning.symptom, how_far, meaning.because)
                  for meaning, how_far in zip(meanings, SPOKEN, strict=False)]
        yield from spoken
        if is_fault and self._speech.is_of_gpus(words):
            yield from self._resembled(line, ALIKE_BESIDE if spoken else ALIKE, {one.id for one in spoken})

    def _resembled(self, line: Quoted, at_most: float, but: Container[str]) -> Iterator[Said]:
        """Yield the messages that a line resembles, `but` those that were read in it already."""
        said = other_programs.without_names(line.text)
        alike = [one for index in self._words for one in likeness.alike(said, index, self._known)]
        if not alike or max(alike)[0] < LEAST_ALIKE or self._is_harmless(alike):
            return
        whole = sum(how_far ** 2 for how_far, _ in alike)
        for how_far, symptom in alike:
            if symptom not in but and not self._symptoms[symptom].benign:
                wording = self._symptoms[symptom].patterns[0]
                yield _said(line, symptom, at_most * how_far ** 2 / whole, f"it resembles {wording!r}")

    def _is_harmless(self, alike: Sequence[tuple[float, str]]) -> bool:
        """Say whether a line resembles a harmless message most."""
        return self._symptoms[max(alike)[1]].benign


def _said(line: Quoted, symptom: str, how_far: float, because: str) -> Said:
    return Said(id=symptom, captures={}, text=quoted(line.text), source=line.source, likeness=how_far,
                because=because)
