"""Read what programs say: log lines against the patterns of `rules/symptoms/`. Pure, and never raises.

A pattern is the program's own format string with named holes: `Could not load dynamic library '{library}'`.
Its literal parts are searched for in their order with `str.find`; what lies between two of them must suit the
hole's type and be no longer than that allows. No regular expressions: the time is linear in the length of
the text, whatever a stranger wrote into it. A literal brace is written twice.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import count, pairwise
from string import Formatter, ascii_letters, digits
from typing import NamedTuple

from gpudoctor.frozen import frozen
from gpudoctor.lazily import latest_kept
from gpudoctor.model import SymptomPattern
from gpudoctor.quantities import all_hold

LINE_CHARACTERS = 4096
# A line that repeats the beginning of a pattern over and over is tried at so many places and no more.
ATTEMPTS = 4
_HOLE = re.compile(r"\{[^{}]*\}")
MINIMUM_LITERAL = 6
STEM_CHARACTERS = 8


class PatternError(ValueError):
    """A pattern that cannot be read: its braces do not close, or two holes touch."""


@frozen
class HoleType:
    """What may stand in a hole: only `allowed` characters, or all but `forbidden` ones."""

    longest: int
    allowed: str = ""
    forbidden: str = ""
    empty: bool = False

    def suits(self, text: str) -> bool:
        """Say whether the whole text may stand in the hole."""
        if not (text or self.empty) or len(text) > self.longest:
            return False
        if self.allowed:
            return not text.strip(self.allowed)
        return not any(character in text for character in self.forbidden)

    def last_of(self, text: str) -> str:
        """Return the longest end of the text that suits."""
        text = text[-self.longest:]
        if self.allowed:
            return text[len(text.rstrip(self.allowed)):]
        return text[max((text.rfind(character) for character in self.forbidden), default=-1) + 1:]

    def first_of(self, text: str) -> str:
        """Return the longest beginning that suits, without the punctuation after it."""
        text = text[:self.longest]
        if self.empty:
            return text.rstrip()
        if self.allowed:
            text = text[:len(text) - len(text.lstrip(self.allowed))]
        ends = (text.find(character) for character in self.forbidden)
        return text[:min((end for end in ends if end >= 0), default=len(text))].rstrip(".,:;)")


_WORD = ascii_letters + digits
HOLE_TYPES: Mapping[str, HoleType] = {
    "library": HoleType(longest=128, allowed=_WORD + "._+-"),
    "version": HoleType(longest=64, allowed=_WORD + "._+-"),
    "code": HoleType(longest=64, allowed=_WORD + "_-"),
    "number": HoleType(longest=32, allowed=digits + ".-+"),
    "path": HoleType(longest=1024, forbidden=" '\"<>|*?"),
    "word": HoleType(longest=128, forbidden=" "),
    "rest": HoleType(longest=1024, empty=True),
}


@frozen
class Hit:
    """A symptom in one line (counted from 1), and what its pattern took out of it."""

    id: str
    line: int
    captures: Mapping[str, str]


Parts = tuple[tuple[str, str], ...]


@lru_cache(maxsize=4096)
def parts(pattern: str) -> Parts:
    """Return the pattern as pairs of a literal and the hole after it; the last hole is "" for none."""
    try:
        found = list(Formatter().parse(pattern))
    except ValueError as error:
        raise PatternError(f"{pattern!r}: {error}; a literal brace is written twice") from None
    if any(hole == "" or specified or converted for _, hole, specified, converted in found):
        raise PatternError(f"{pattern!r}: a hole holds its name and nothing else")
    joined: list[tuple[str, str]] = []
    for literal, hole, _, _ in found:  # a doubled brace ends a piece that has no hole
        before = joined.pop()[0] if joined and not joined[-1][1] else ""
        if joined and not before + literal:
            raise PatternError(f"{pattern!r}: two holes without text between them")
        joined.append((before + literal, hole or ""))
    if joined and joined[-1][1]:
        joined.append(("", ""))
    if max((len(literal) for literal, _ in joined), default=0) < MINIMUM_LITERAL:
        raise PatternError(f"{pattern!r}: no literal part of {MINIMUM_LITERAL} characters")
    return tuple(joined)


def match(pattern: str, line: str, captures: Mapping[str, str], *, begin: int = 0, end: int | None = None
          ) -> Mapping[str, str] | None:
    """Return what the pattern takes out of the line, None when it is not there.

    `begin` and `end` bound where its first literal may begin, for a line that is read in overlapping pieces.
    """
    pieces = parts(pattern)
    leading = not pieces[0][0]
    anchor = pieces[1][0] if leading else pieces[0][0]
    last = None if end is None else end + len(anchor) - 1
    start = begin - 1
    for _ in range(ATTEMPTS):
        start = line.find(anchor, start + 1, last)
        if start < 0:
            return None
        found = _match_at(pieces[1:] if leading else pieces, line, start, captures)
        if found is None:
            continue
        if not leading:
            return found
        name = pieces[0][1]
        before = _type(name, captures).last_of(line[:start])
        if before or _type(name, captures).empty:
            return {name: before, **found}
    return None


def holes(pattern: str) -> tuple[str, ...]:
    """Return the names of a pattern's holes."""
    return tuple(hole for _, hole in parts(pattern) if hole)


def _type(hole: str, captures: Mapping[str, str]) -> HoleType:
    return HOLE_TYPES[captures.get(hole, hole)]


def shown(pattern: str, line: str, symptom: SymptomPattern, *, begin: int = 0, end: int | None = None
          ) -> Mapping[str, str] | None:
    """Return what one of a symptom's patterns takes out of the line, None where it does not show it."""
    found = match(pattern, line, symptom.captures, begin=begin, end=end)
    return None if found is None or not all_hold(symptom.holds, found) else found


def _match_at(pieces: Parts, line: str, start: int, captures: Mapping[str, str]) -> dict[str, str] | None:
    """Return the captures of a pattern whose first literal stands at `start`.

    A number of the pattern's at its beginning or end is a whole one: error 100 does not stand in error 1000.
    """
    if start and pieces[0][0][:1].isdecimal() and line[start - 1].isdecimal():
        return None
    found: dict[str, str] = {}
    position = start + len(pieces[0][0])
    for (_, hole), (literal, _) in pairwise(pieces):
        kind = _type(hole, captures)
        if literal:
            end = line.find(literal, position, position + kind.longest + len(literal))
            value = line[position:end] if end >= 0 else ""
            if end < 0 or not kind.suits(value):
                return None
            position = end + len(literal)
        else:
            value = kind.first_of(line[position:])
            if not (value or kind.empty):
                return None
        found[hole] = value
    if pieces[-1][0][-1:].isdecimal() and line[position:position + 1].isdecimal():
        return None
    return found


def pattern_problems(symptom: SymptomPattern) -> Iterator[str]:
    """Yield what keeps the patterns of a symptom from being read."""
    for name, kind in symptom.captures.items():
        if kind not in HOLE_TYPES:
            yield f"captures {name} as {kind!r}; there are {', '.join(HOLE_TYPES)}"
    for pattern in symptom.patterns:
        try:
            names = holes(pattern)
        except PatternError as error:
            yield str(error)
            continue
        yield from (f"{pattern!r}: {name} is twice in it"
                    for name in sorted(set(names)) if names.count(name) > 1)
        yield from (f"{pattern!r}: captures does not say what {{{name}}} is (one of {', '.join(HOLE_TYPES)})"
                    for name in names if name not in HOLE_TYPES and name not in symptom.captures)
        yield from (f"{pattern!r}: {{{name}}} may itself hold the text {literal!r} after it: leave that out"
                    for name, literal in _swallowed(pattern, symptom.captures))


def _swallowed(pattern: str, captures: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield holes that would end too early, as 8.1.0 in "{version}." does; `rest` is meant to end there."""
    pieces = parts(pattern)
    for (_, name), (literal, _) in pairwise(pieces):
        kind = HOLE_TYPES.get(captures.get(name, name))
        if literal and kind is not None and not kind.empty and kind.suits(literal):
            yield name, literal


def anchor_of(pattern: str) -> str:
    """Return the longest literal part: a line without it cannot match."""
    if "{{" in pattern or "}}" in pattern:
        return max((literal for literal, _ in parts(pattern)), key=len)
    return max(_HOLE.split(pattern), key=len)  # of thousands of patterns, most are never taken apart


def clean(line: str) -> str:
    """Return the line without what no terminal should see, cut to the length that is read."""
    return printable(line[:LINE_CHARACTERS])


def printable(text: str) -> str:
    """Return the text without what no terminal should see: a blank for each such character."""
    if text.isprintable():
        return text
    return "".join(character if character.isprintable() else " " for character in text)


def read(lines: Iterable[str], symptoms: Sequence[SymptomPattern]) -> tuple[Hit, ...]:
    """Return every symptom in every line; one that a line shows in two wordings counts once."""
    index = _index_of(symptoms)
    numbered = enumerate(lines, start=1)
    return tuple(hit for number, line in numbered for hit in _hits(clean(line), number, index))


class _Wanted(NamedTuple):
    """A pattern, its place in the order of the database, and the text without which it cannot match."""

    place: int
    anchor: str
    pattern: str
    symptom: SymptomPattern


@frozen
class _Index:
    """Which patterns are worth a look: by a word between spaces that the line must have, else by a stem.

    With hundreds of patterns, looking for each in every line would take ten times as long.
    """

    by_word: Mapping[str, Sequence[_Wanted]]
    by_stem: Mapping[str, Sequence[_Wanted]]


@latest_kept
def _index_of(symptoms: Sequence[SymptomPattern]) -> _Index:
    """Return the index of the patterns."""
    by_word: dict[str, list[_Wanted]] = {}
    by_stem: dict[str, list[_Wanted]] = {}
    places = count()
    for symptom in symptoms:
        for pattern in symptom.patterns:
            anchor = anchor_of(pattern)
            wanted = _Wanted(next(places), anchor, pattern, symptom)
            word = max(anchor.split(" ")[1:-1], key=len, default="")
            if word:
                by_word.setdefault(word, []).append(wanted)
            else:
                by_stem.setdefault(anchor[:STEM_CHARACTERS], []).append(wanted)
    return _Index(by_word=by_word, by_stem=by_stem)


def _hits(line: str, number: int, index: _Index) -> Iterator[Hit]:
    words = index.by_word.keys() & set(line.split(" "))
    near = [wanted for word in words for wanted in index.by_word[word]]
    near += [wanted for stem, group in index.by_stem.items() if stem in line for wanted in group]
    seen: set[str] = set()
    for wanted in sorted(near, key=lambda wanted: wanted.place):
        if wanted.symptom.id in seen or wanted.anchor not in line:
            continue
        captures = shown(wanted.pattern, line, wanted.symptom)
        if captures is not None:
            seen.add(wanted.symptom.id)
            yield Hit(id=wanted.symptom.id, line=number, captures=captures)
