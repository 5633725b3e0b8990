"""Where symptoms are found without a look at all of them: by id, by program, by the stem of a pattern.

A text shows few of the two thousand: compiled ones bring their index and are decoded one by one, when they
are asked for; of others it is made once.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, overload

from gpudoctor.frozen import frozen
from gpudoctor.lazily import latest_kept
from gpudoctor.model import SymptomPattern


@frozen
class SymptomIndex:
    """Places of symptoms in their order, and of their patterns, counted through all symptoms.

    `first_patterns` holds the place of each symptom's first pattern, and at last how many there are; `stems`
    the places of the patterns which no line can match without that text (`pattern_forms.stem_of`).
    """

    ids: Sequence[str]
    programs: Mapping[str, Sequence[int]]
    first_patterns: Sequence[int]
    stems: Mapping[str, Sequence[int]]

    def owner_of(self, pattern: int) -> tuple[int, int]:
        """Return the place of a pattern's symptom, and which of that symptom's patterns it is."""
        symptom = bisect_right(self.first_patterns, pattern) - 1
        return symptom, pattern - self.first_patterns[symptom]

    def without_patterns(self) -> Iterator[int]:
        """Yield the places of the symptoms that no line shows: facts alone are their reason."""
        return (place for place, (first, after) in enumerate(pairwise(self.first_patterns)) if first == after)

    def as_raw(self) -> dict[str, Any]:
        """Return the index as JSON holds it."""
        return {"ids": self.ids, "programs": self.programs, "first_patterns": self.first_patterns,
                "stems": self.stems}


class OneByOne(Sequence[SymptomPattern]):
    """The symptoms of a compiled database, each decoded when somebody asks for it."""

    def __init__(self, length: int, read_index: Callable[[], SymptomIndex],
                 read_lines: Callable[[], Sequence[bytes]], decode: Callable[[bytes], SymptomPattern],
                 ) -> None:
        self._length, self._decode = length, decode
        self._read_index, self._read_lines = read_index, read_lines
        self._index: SymptomIndex | None = None
        self._lines: Sequence[bytes] = ()
        self._decoded: dict[int, SymptomPattern] = {}

    @property
    def compiled_index(self) -> SymptomIndex:
        """Return the index that was compiled with them."""
        if self._index is None:
            self._index = self._read_index()
        return self._index

    @overload
    def __getitem__(self, index: int) -> SymptomPattern: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[SymptomPattern, ...]: ...

    def __getitem__(self, index: int | slice) -> SymptomPattern | tuple[SymptomPattern, ...]:
        """Return one, or several."""
        if isinstance(index, slice):
            return tuple(self._one(place) for place in range(self._length)[index])
        return self._one(range(self._length)[index])

    def _one(self, place: int) -> SymptomPattern:
        if place not in self._decoded:
            self._lines = self._lines or self._read_lines()
            self._decoded[place] = self._decode(self._lines[place])
        return self._decoded[place]

    def __len__(self) -> int:
        """Return how many there are."""
        return self._length

    def __eq__(self, other: object) -> bool:
        """Say whether the same are in the other, in the same order."""
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    __hash__ = None  # type: ignore[assignment]


def index_of(symptoms: Sequence[SymptomPattern]) -> SymptomIndex:
    """Return the index that symptoms bring, or make it; the latest is kept."""
    if isinstance(symptoms, OneByOne):
        return symptoms.compiled_index
    return _made(symptoms)


@latest_kept
def _made(symptoms: Sequence[SymptomPattern]) -> SymptomIndex:
    from gpudoctor.pattern_forms import stem_of

    programs: dict[str, list[int]] = {}
    stems: dict[str, list[int]] = {}
    first_patterns = []
    place = 0
    for number, symptom in enumerate(symptoms):
        programs.setdefault(symptom.program, []).append(number)
        first_patterns.append(place)
        for pattern in symptom.patterns:
            stems.setdefault(stem_of(pattern), []).append(place)
            place += 1
    return SymptomIndex(ids=[symptom.id for symptom in symptoms], programs=programs,
                        first_patterns=[*first_patterns, place], stems=stems)


def of_program(symptoms: Sequence[SymptomPattern], program: str) -> Iterator[SymptomPattern]:
    """Yield the symptoms of one program, in their order."""
    return (symptoms[place] for place in index_of(symptoms).programs.get(program, ()))


class ById(Mapping[str, SymptomPattern]):
    """Symptoms by their ids."""

    def __init__(self, symptoms: Sequence[SymptomPattern]) -> None:
        self._symptoms = symptoms
        self._places = {identifier: place for place, identifier in enumerate(index_of(symptoms).ids)}

    def __getitem__(self, identifier: str) -> SymptomPattern:
        """Return the symptom of that id; raise KeyError where there is none."""
        return self._symptoms[self._places[identifier]]

    def __iter__(self) -> Iterator[str]:
        """Yield every id, in the symptoms' order."""
        return iter(self._places)

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._places)

    def without_patterns(self) -> Iterator[SymptomPattern]:
        """Yield those that no line shows."""
        return (self._symptoms[place] for place in index_of(self._symptoms).without_patterns())
