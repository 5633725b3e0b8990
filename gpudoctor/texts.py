"""Texts become a reading: one pass over all symptoms, and what importers find stated in what was kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from io import BytesIO

from gpudoctor.explanation import Quoted, Reading, Said, explain
from gpudoctor.explanation.answers import Answered, answered, echoed
from gpudoctor.explanation.changes import other_versions
from gpudoctor.explanation.collisions import told
from gpudoctor.explanation.containers import started
from gpudoctor.explanation.context import is_context
from gpudoctor.explanation.cures import cures
from gpudoctor.explanation.ended import asked_for
from gpudoctor.explanation.hidden import hidden
from gpudoctor.explanation.libraries import libraries
from gpudoctor.explanation.listings import listed
from gpudoctor.explanation.locales import in_english
from gpudoctor.explanation.mentions import mentioned, without_denied
from gpudoctor.explanation.nodes import without_gpus
from gpudoctor.explanation.numbered import may_be, named
from gpudoctor.explanation.own_folder import own_frameworks
from gpudoctor.explanation.reading import quoted
from gpudoctor.explanation.scripts import unused_devices
from gpudoctor.explanation.shadowed import hidden_modules, taken_imports
from gpudoctor.explanation.silent import silent
from gpudoctor.explanation.traced import nowhere
from gpudoctor.explanation.unreached import unreached
from gpudoctor.explanation.waiting import slow_starts
from gpudoctor.explanation.wording import joined, retold
from gpudoctor.lazily import Lazy
from gpudoctor.model import Fact, Facts, Known, RuleDatabase
from gpudoctor.sources import importers
from gpudoctor.sources.scan import Input, Seen, scan, scan_text
from gpudoctor.sources.suspicious import is_fault, is_warning
from gpudoctor.symptom_index import ById
from gpudoctor.symptoms import LINE_CHARACTERS

_FIRST_LINES, _LAST_LINES = 300, 100
_READERS = (answered, echoed, joined, started, hidden, unused_devices, without_gpus, hidden_modules,
            taken_imports, listed, other_versions, slow_starts, libraries, unreached, cures, own_frameworks,
            nowhere, silent)
Progress = Callable[[str, int], None]


def read(inputs: Iterable[Input], database: RuleDatabase, progress: Progress | None = None) -> Reading:
    """Return what texts say; each stream is read once, to its end."""
    return understood(scan(inputs, database.symptoms, progress=progress), database)


def understood(seen: Seen, database: RuleDatabase) -> Reading:
    """Return what was seen, with all that its lines say together."""
    stated = [importers.read(kept.text, kept.file, tables=database.tables, numbers=kept.numbers)
              for kept in seen.kept]
    reported = _Reported(seen, database)
    return Reading(
        said=tuple(reported.said((*_said(seen), *_besides(seen, database)))),
        suspicious=tuple(reported.quoted(_suspicious(seen, database))),
        lines=Lazy(lambda: tuple(reported.quoted(_lines(seen)))),
        host=_first_of([one.host for one in stated]), text=_together([one.text for one in stated]),
        gpus=next((one.gpus for one in stated if one.gpus is not None), None),
        frameworks=next((one.frameworks for one in stated if one.frameworks is not None), None),
        notes=tuple(_notes(seen)), has_text=seen.has_text or bool(seen.shown), interrupted=seen.interrupted,
        recorded=next((one.snapshot for one in stated if one.snapshot is not None), None))


class _Reported:
    """Leaves out lines that only mention what they say, but for messages that other lines have as well."""

    def __init__(self, seen: Seen, database: RuleDatabase) -> None:
        self._mentions: set[str] = set()
        others: list[str] = []
        for kept in seen.kept:
            found = mentioned(kept.lines)
            self._mentions |= {f"{kept.file}:{kept.numbers[number - 1]}" for number in found}
            others += [line for number, line in enumerate(kept.lines, start=1) if number not in found]
            others += [rest for _, rest in without_denied(kept.lines)]
        # of lines with the same words only the first was noted, and that one may be the mention
        self._reported = scan_text("\n".join(others), database.symptoms).shown if self._mentions else {}

    def said(self, lines: Iterable[Said]) -> Iterator[Said]:
        """Yield the lines that report a message."""
        return (line for line in lines if line.source not in self._mentions or line.id in self._reported)

    def quoted(self, lines: Iterable[Quoted]) -> Iterator[Quoted]:
        """Yield the lines that are no mere mention."""
        return (line for line in lines if line.source not in self._mentions)


def read_text(text: str, database: RuleDatabase, name: str = "standard input") -> Reading:
    """Return what a text says that is in memory."""
    return read([Input(name=name, stream=BytesIO(text.encode("utf-8", "replace")))], database)


def told_causes(text: str, database: RuleDatabase) -> tuple[str, ...]:
    """Return the causes that are told of a text, in order: faults, then what is harmless."""
    found = explain(read_text(text, database), database).findings
    return tuple(dict.fromkeys(one.cause for finding in found for one in (finding, *finding.consequences)))


def _said(seen: Seen) -> Iterator[Said]:
    for shown in seen.shown.values():
        for sighting in shown.sightings:
            yield Said(id=shown.id, captures=sighting.captures, text=_quoted(sighting.text),
                       source=f"{sighting.file}:{sighting.line}",
                       is_trouble=is_fault(sighting.text) or is_warning(sighting.text))


def _answers(seen: Seen, database: RuleDatabase) -> Iterator[Said]:
    """Yield symptoms of what lines mean: a call and its answer, a command, a line that was broken."""
    for kept in seen.kept:
        english = in_english(kept.lines, database.tables)
        lines = [english.get(place, line) for place, line in enumerate(kept.lines)]
        found = [Answered(text=line, line=place + 1) for place, line in english.items()]
        found += [one for understood in _READERS for one in understood(lines)]
        found += [one for understood in (named, asked_for, told)
                  for one in understood(lines, database.tables)]
        # what finds them is there already
        together = scan_text("\n".join(one.text for one in found), database.symptoms)
        for shown in together.shown.values():
            for sighting in shown.sightings:
                one = found[sighting.line - 1]
                own = kept.lines[one.line - 1]
                text = _quoted(own if one.line - 1 in english else one.text)
                if one.meaning:
                    text = f"{_quoted(own)} ({one.meaning})"
                yield Said(id=shown.id, captures=sighting.captures, text=text,
                           source=f"{kept.file}:{kept.numbers[one.line - 1]}")


def _retold(seen: Seen, database: RuleDatabase, *, of_people_alone: bool) -> Iterator[Said]:
    """Yield symptoms that lines show in another spelling than the program's or people's."""
    for kept in seen.kept:
        for hit, one in retold(kept.lines, database.symptoms, of_people_alone=of_people_alone):
            yield Said(id=hit.id, captures=hit.captures, text=_quoted(one.text),
                       source=f"{kept.file}:{kept.numbers[one.line - 1]}",
                       is_trouble=is_fault(one.text) or is_warning(one.text))


def _besides(seen: Seen, database: RuleDatabase) -> Iterator[Said]:
    """Yield what no line shows by itself in the program's own words; what is retold, once.

    Programs' messages are looked for in other spellings only where none was found that speaks of a fault.
    """
    together = [said for said in _answers(seen, database) if said.id not in seen.shown]
    yield from together
    known = {*seen.shown, *(said.id for said in together)}
    symptoms = ById(database.symptoms)
    has_fault = any(not (one.benign or is_context(one)) for one in map(symptoms.__getitem__, known))
    for said in _retold(seen, database, of_people_alone=has_fault):
        if said.id not in known:
            known.add(said.id)
            yield said


def _suspicious(seen: Seen, database: RuleDatabase) -> Iterator[Quoted]:
    for line in seen.suspicious:
        yield Quoted(text=_quoted(line.text), source=f"{line.file}:{line.line}", is_warning=line.warning,
                     may_be=may_be(line.text, database.tables))


def _lines(seen: Seen) -> Iterator[Quoted]:
    """Yield the first and the last lines of what was kept of each text."""
    for kept in seen.kept:
        numbered = list(zip(kept.numbers, kept.lines, strict=False))
        if len(numbered) > _FIRST_LINES + _LAST_LINES:
            numbered = numbered[:_FIRST_LINES] + numbered[-_LAST_LINES:]
        for number, line in numbered:
            yield Quoted(text=" ".join(line[:LINE_CHARACTERS].split()), source=f"{kept.file}:{number}")


def _quoted(line: str) -> str:
    return quoted(" ".join(line.split()))


def _notes(seen: Seen) -> Iterator[str]:
    yield from (f"{note.file}: {note.text}" for note in seen.notes)
    if seen.interrupted:
        yield f"interrupted after {seen.lines} lines: what follows is what was found until then"


def _first_of(found: Iterable[Facts]) -> Facts:
    together: dict[str, Fact] = {}
    for facts in found:
        together.update({name: fact for name, fact in facts.items() if name not in together})
    return together


def _together(found: Iterable[Facts]) -> Facts:
    """Return the facts of several texts: lists joined, of single values the first."""
    together: dict[str, Fact] = {}
    for facts in found:
        for name, fact in facts.items():
            known = together.get(name)
            if not isinstance(known, Known):
                together[name] = fact
            elif isinstance(fact, Known) and isinstance(fact.value, tuple) and isinstance(known.value, tuple):
                texts = dict.fromkeys(str(item) for item in (*known.value, *fact.value))
                together[name] = Known(value=tuple(texts), source=f"{known.source}; {fact.source}")
    return together
