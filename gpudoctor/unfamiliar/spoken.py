"""What a line names and what it says of it: a card that is not there, a driver that is too old.

The words are in the tables `spoken_things` and `spoken_troubles`; which known message a thing with a trouble
means is in `spoken_meanings`. Numbers of errors are those of the interface that the line names.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpudoctor.frozen import frozen
from gpudoctor.model import Row, SymptomPattern, Tables, rows_of
from gpudoctor.unfamiliar.phrases import Named, Phrases
from gpudoctor.unfamiliar.required import MET, OTHER, held_against
from gpudoctor.unfamiliar.words import words_of

FARTHEST = 6  # words between a thing and what is said of it
_NEARER = 0.5  # what a word between them counts against a word that names them
_BEFORE_NUMBER = frozenset({"error", "code", "returned", "result", "rc", "failed", "errno", "err", "status"})
# "command failed 2", "ValueError: 7 cards": a process' number, and no number of the exception's.
_OTHERS = frozenset({"exit", "exited", "return", "command", "value", "assertion", "type", "key", "index"})
_ASKS, _DENIALS = "why", frozenset({"not", "cannot"})
_OF_GPUS = "GPU computing"  # the words that nothing else is spoken of in
_USES_OF_GPUS = frozenset({_OF_GPUS, "tensor on a card", "graph of CUDA"})
_OF_THIS_KIND = frozenset({_OF_GPUS, "framework"})  # beside them, words of any hardware are of this one
_CUDA, _CUDA_VERSION = "the start of CUDA", "CUDA version"
_DRIVER, _NONE = "driver", "none"
_NOT_WANTED = "not wanted"
_LEAST_BRANCH = 3  # digits of a driver's branch
_BEFORE_BRANCH = frozenset({"version", "branch", "series", "release"})
_DIGITS = 6
_LEAST_NUMBER, _MOST_NUMBER = 2, 1000  # a 1 is any program's; none of the interfaces counts farther


@frozen
class Meaning:
    """The symptom that a line means, and why; where it `is_plain`, without such a word as "error" too."""

    symptom: str
    is_plain: bool = False
    because: str


class Speech:
    """The words for things and troubles, and what they mean together."""

    def __init__(self, tables: Tables, symptoms: Sequence[SymptomPattern]) -> None:
        things, troubles = tables["spoken_things"].rows, tables["spoken_troubles"].rows
        self._things = Phrases(_phrases(things, "thing"))
        self._troubles = Phrases(_phrases(troubles, "trouble"))
        self._denied = frozenset(tuple(words_of(phrase)) for _, phrase in _phrases(troubles, "trouble"))
        self._plain = frozenset(str(row["trouble"]) for row in troubles if row.get("plain"))
        self._special = {str(row["thing"]): place for place, row in enumerate(things)}
        self._of_anything = frozenset(str(row["thing"]) for row in things if row.get("of_anything"))
        self._alone = frozenset(str(row["thing"]) for row in things if row.get("alone"))
        self._errors = {str(row["thing"]): str(row["errors"]) for row in things if "errors" in row}
        self._meanings = {(str(row["thing"]), str(row["trouble"])): str(row["symptom"])
                          for row in tables["spoken_meanings"].rows}
        self._tables = tables
        self._symptoms = symptoms

    def meanings(self, words: Sequence[str]) -> Sequence[Meaning]:
        """Return what a line may mean, the likeliest first; none where it names no thing, or no trouble."""
        words = self._as_statement(words)
        things = self._named(words)
        if _OF_THIS_KIND.isdisjoint(thing.name for thing in things):
            things = [thing for thing in things if thing.name not in self._of_anything]
        if not things:
            return ()
        by_number = self._by_number(words, things)
        if by_number:
            return (by_number,)
        troubles = _whole([*self._troubles.named(words)])
        if asked := held_against(words):  # the words around both versions say no more than these
            if asked.name == MET:
                return ()
            if any(thing.name == _CUDA and thing.end <= asked.end for thing in things):
                asked = asked._replace(name=OTHER)  # whose CUDA it is, the driver's or a toolkit's, is open
                things = [thing._replace(name=_CUDA_VERSION) for thing in things if thing.name == _CUDA]
            troubles = [asked]
        return self._by_words(self._in_question(things, troubles, words), troubles)

    def _named(self, words: Sequence[str]) -> Sequence[Named]:
        """Return the things of a line; "cuda" in "cuda graph" names no card."""
        things = list(self._things.named(words))
        alone = [thing for thing in things if thing.name in self._alone]
        return [thing for thing in things
                if thing in alone or not any(one.begin <= thing.begin < one.end for one in alone)]

    def _in_question(self, things: Sequence[Named], troubles: Sequence[Named], words: Sequence[str]
                     ) -> Sequence[Named]:
        """Return the things without a driver that is named with its version: it is there, another is not.

        Where it is the only one, or the trouble stands right behind the number, it is meant all the same.
        """
        ends = {thing: _end_of_branch(thing, words) for thing in things if thing.name == _DRIVER}
        missing = [trouble for trouble in troubles if trouble.name == _NONE]
        there = [thing for thing, end in ends.items()
                 if end is not None and all(trouble.begin != end for trouble in missing)]
        others = [thing for thing in things if thing.name != _DRIVER]
        return [thing for thing in things if thing not in there] if missing and others else things

    def _as_statement(self, words: Sequence[str]) -> Sequence[str]:
        """Return a question as it would be told: "why cannot PyTorch see" parts the verb from its denial."""
        for index, word in enumerate(words[:-1]):
            if word != _ASKS or words[index + 1] not in _DENIALS:
                continue
            denial = words[index + 1]
            for verb in range(index + 2, min(index + 2 + FARTHEST, len(words))):
                if (denial, words[verb]) in self._denied:
                    return [*words[:index + 1], *words[index + 2:verb], denial, *words[verb:]]
        return words

    def is_of_gpus(self, words: Sequence[str]) -> bool:
        """Say whether a line names what only computing on GPUs has."""
        return any(thing.name in _USES_OF_GPUS for thing in self._named(words))

    def speaks_of_trouble(self, words: Sequence[str]) -> bool:
        """Say whether a line names any trouble, whatever with."""
        return next(self._troubles.named(words), None) is not None

    def _by_number(self, words: Sequence[str], things: Sequence[Named]) -> Meaning | None:
        interfaces = [name for name in self._errors if any(thing.name == name for thing in things)]
        for index, word in enumerate(words[:-1]):
            number, before = words[index + 1], words[max(index - 1, 0)]
            if word in _BEFORE_NUMBER and number.isdecimal() and before not in _OTHERS:
                for interface in interfaces:
                    if found := self._numbered(self._errors[interface], int(number[:_DIGITS])):
                        return found
        return None

    def _numbered(self, table: str, number: int) -> Meaning | None:
        """Return the meaning of an error's number, if a symptom has the error's name."""
        if not _LEAST_NUMBER <= number < _MOST_NUMBER:
            return None
        names = [str(row["name"]) for row in rows_of(self._tables, table) if row["code"] == number]
        for name in names:
            known = next((one.id for one in self._symptoms if name in one.patterns), None)
            if known is not None:
                return Meaning(symptom=known, because=f"{number} is {name}")
        return None

    def _by_words(self, things: Sequence[Named], troubles: Sequence[Named]) -> Sequence[Meaning]:
        """Return the meanings of things and troubles, first of those named at most length and nearest."""
        found: dict[str, Meaning] = {}
        for _, _, thing, trouble in sorted(self._pairs(things, troubles), reverse=True):
            symptom = self._meanings[thing, trouble]
            found.setdefault(symptom, Meaning(
                symptom=symptom, is_plain=trouble in self._plain,
                because=f"it speaks of {thing!r} and of {trouble!r}"))
        return tuple(found.values())

    def _pairs(self, things: Sequence[Named], troubles: Sequence[Named]
               ) -> Iterator[tuple[float, int, str, str]]:
        for thing in things:
            for trouble in troubles:
                between = max(trouble.begin - thing.end, thing.begin - trouble.end, 0)
                if (thing.name, trouble.name) in self._meanings and between <= FARTHEST:
                    said = (thing.end - thing.begin) + (trouble.end - trouble.begin)
                    yield said - _NEARER * between, -self._special[thing.name], thing.name, trouble.name


def _end_of_branch(driver: Named, words: Sequence[str]) -> int | None:
    """Return where the version behind a driver ends, None where none stands there."""
    end = driver.end
    while end < len(words) and words[end] in _BEFORE_BRANCH:
        end += 1
    if end == len(words) or not words[end].isdecimal() or len(words[end]) < _LEAST_BRANCH:
        return None
    while end < len(words) and words[end].isdecimal():
        end += 1
    return end


def _whole(named: Sequence[Named]) -> Sequence[Named]:
    """Return the troubles that no other goes on from: in "GPU not used" the denial is of the use.

    Nor those that a wish begins with: "no GPU requested" says of none that it is missing.
    """
    return [one for one in named
            if not any(one.begin < other.begin < one.end < other.end or (
                other.name == _NOT_WANTED and one.begin <= other.begin < one.end) for other in named)]


def _phrases(rows: Sequence[Row], column: str) -> Iterator[tuple[str, str]]:
    for row in rows:
        phrases = row["phrases"]
        for phrase in phrases if isinstance(phrases, tuple) else ():
            yield str(row[column]), str(phrase)
