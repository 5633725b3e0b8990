"""Which known messages a line resembles: words and pairs of words, the rarer the weightier.

The index is made where rules are compiled, of every wording, real example and meaning of the symptoms.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from gpudoctor.model import SymptomPattern, WordIndex
from gpudoctor.unfamiliar.words import words_of

MOST_LIKE = 5  # messages that a line is said to resemble
_RARITY = 1.5  # the exponent of a word's weight
_PAIR = 0.5  # of a pair of words, against a word as rare
_UNKNOWN = 0.5  # of a word that no message has, against one that a single message has
_TELLING = 20  # of so many messages one may have a feature that tells them apart: "cuda error" has many
_HOLE = re.compile(r"\{\w*\}")


def index(symptoms: Sequence[SymptomPattern]) -> WordIndex:
    """Return the index of symptoms that have patterns; it needs them whole."""
    kept = [symptom for symptom in symptoms if symptom.patterns]
    owners: list[int] = []
    documents: list[frozenset[str]] = []
    for number, symptom in enumerate(kept):
        for text in dict.fromkeys(_texts(symptom)):
            owners.append(number)
            documents.append(features(text))
    places: dict[str, list[int]] = {}
    for place, found in enumerate(documents):
        for feature in sorted(found):
            places.setdefault(feature, []).append(place)
    weights = {feature: _weight(feature, len({owners[place] for place in where}), len(kept))
               for feature, where in places.items()}
    masses = tuple(round(sum(weights[feature] for feature in sorted(found)), 2) for found in documents)
    return WordIndex(symptoms=tuple(symptom.id for symptom in kept), owners=tuple(owners), masses=masses,
                     places={feature: tuple(where) for feature, where in sorted(places.items())})


def as_raw(index: WordIndex) -> dict[str, Any]:
    """Return an index as it is compiled."""
    return {"symptoms": index.symptoms, "owners": index.owners, "masses": index.masses,
            "places": index.places}


def of_raw(raw: Mapping[str, Any]) -> WordIndex:
    """Return a compiled index."""
    return WordIndex(symptoms=tuple(raw["symptoms"]), owners=tuple(raw["owners"]),
                     masses=tuple(raw["masses"]),
                     places={word: tuple(places) for word, places in raw["places"].items()})


def _texts(symptom: SymptomPattern) -> Iterator[str]:
    yield from (_HOLE.sub(" ", pattern) for pattern in symptom.patterns)
    yield from (example.line for example in symptom.examples if not example.filled)
    yield symptom.meaning


def features(text: str) -> frozenset[str]:
    """Return the words of a text, and each two that stand together."""
    words = [word for word in words_of(text) if len(word) > 1]
    return frozenset((*words, *(f"{one} {other}" for one, other in pairwise(words))))


def _weight(feature: str, messages: int, of_all: int) -> float:
    rarity = math.pow(math.log(1 + of_all / messages), _RARITY)
    return rarity * _PAIR if " " in feature else rarity


def alike(line: str, known: WordIndex, among: frozenset[str]) -> list[tuple[float, str]]:
    """Return how much a line resembles messages (0 to 1) and which, the likest first; of `among` alone.

    It resembles none with which it has only words that many messages have.
    """
    number = len(known.symptoms)
    shared: dict[int, float] = {}
    told: set[int] = set()
    mass = 0.0
    for feature in sorted(features(line)):
        where = known.places.get(feature, ())
        owners = len({known.owners[place] for place in where})
        weight = _weight(feature, owners or 1, number)
        mass += weight if where else weight * _UNKNOWN
        told.update(where if owners * _TELLING <= number else ())
        for place in where:
            shared[place] = shared.get(place, 0.0) + weight
    best: dict[str, float] = {}
    for place, weight in shared.items():
        if place not in told:
            continue
        symptom = known.symptoms[known.owners[place]]
        if symptom in among:
            best[symptom] = max(best.get(symptom, 0.0), weight / math.sqrt(known.masses[place] * mass))
    ordered = sorted(best.items(), key=lambda found: (-found[1], found[0]))
    return [(likeness, symptom) for symptom, likeness in ordered[:MOST_LIKE]]
