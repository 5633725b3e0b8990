"""What the words of a text are reported in: the last reading, of texts in which nothing known was found.

A guess becomes a message of its own, which suspects one cause; it is weighed and told as the others are.
"""

from __future__ import annotations

from collections.abc import Sequence

from gpudoctor.explanation import denied, entries, other_programs
from gpudoctor.explanation.reading import Quoted, Reading, Said
from gpudoctor.explanation.undecided import NO_FAULT
from gpudoctor.frozen import frozen
from gpudoctor.model import RuleDatabase, Severity, Suspect, SymptomPattern, rows_of
from gpudoctor.pattern_forms import PEOPLE
from gpudoctor.unfamiliar.reports import Guess, Reports, telling
from gpudoctor.unfamiliar.spoken import Speech
from gpudoctor.unfamiliar.words import words_of

TABLE = "cause_words"
_MOST_LINES = 40  # of a longer text only those that speak of an error are read: words of many say nothing
# Of a hundred texts: words never make a cause certain, and beside lines that are understood they say less.
_MOST_WEIGHT, _WEIGHT_BESIDE = 90, 20
_LEAST_SHARE, _LEAST_BESIDE = 0.15, 0.6  # of the likeliest cause; below it the words speak for nothing
# Before a text without a fault: by itself, and where a trouble is told of and known words name a GPU.
_AHEAD_ALONE, _AHEAD = 1.0, -0.1
_MOST_GUESSES = 5
# Words that sentences are held together by.
_OF_SENTENCES = frozenset(
    "my i i'm me we they it but why how when after then what can with without same again still now no not "
    "only does is are".split())
_LEAST_OF_SENTENCES = 2
_OF_PACKAGES = "placeholder_distributions"  # what is wrong with them: who names none has another trouble


@frozen
class Guessed:
    """Lines with the messages that their words are taken for; none of a text of no GPUs, or of no trouble."""

    said: tuple[Said, ...] = ()
    symptoms: tuple[SymptomPattern, ...] = ()


def guessed(reading: Reading, database: RuleDatabase, *, beside: bool) -> Guessed:
    """Return the causes in whose reports the words of a text stand, if the likeliest one is a fault.

    `beside` says that lines of the text were understood already.
    """
    if TABLE not in database.tables:
        return Guessed()
    lines = _read(reading)
    faults = frozenset(rule.cause for rule in database.rules if rule.severity is not Severity.BENIGN)
    guesses = Reports(database.tables[TABLE].rows, NO_FAULT).guesses(telling(line.text for line in lines))
    guesses = tuple(guess for guess in guesses if _names_its_packages(guess.cause, lines, database))
    least = _LEAST_BESIDE if beside else _LEAST_SHARE
    if not guesses or guesses[0].cause not in faults or guesses[0].share < least:
        return Guessed()
    trouble = _Trouble(reading, lines, database)
    is_foreign = any(other_programs.says_nothing_of_gpus(line.text) for line in reading.lines)
    if (is_foreign or guesses[0].ahead < _AHEAD_ALONE) and not (
            guesses[0].ahead >= _AHEAD and trouble.is_told and trouble.is_of_gpus):
        return Guessed()
    told = [guess for guess in guesses[:_MOST_GUESSES] if guess.cause in faults]
    most = _WEIGHT_BESIDE if beside else _MOST_WEIGHT
    return Guessed(said=tuple(_said(guess, lines) for guess in told),
                   symptoms=tuple(_symptom(guess, most) for guess in told))


def _names_its_packages(cause: str, lines: Sequence[Quoted], database: RuleDatabase) -> bool:
    """Say whether a text names one of the packages that a cause is about; most are about none."""
    names = [str(row["distribution"]) for row in rows_of(database.tables, _OF_PACKAGES)
             if row.get("cause") == cause]
    return not names or any(name in line.text.lower().replace("_", "-") for line in lines for name in names)


class _Trouble:
    """What lines have of a report: that one is told by somebody or speaks of a trouble with GPUs; and GPUs.

    What programs print where all is well has the words of reports too, and neither of both.
    """

    def __init__(self, reading: Reading, lines: Sequence[Quoted], database: RuleDatabase) -> None:
        speech = Speech(database.tables, database.symptoms)
        words = [words_of(line.text) for line in lines]
        self.is_of_gpus = any(map(speech.is_of_gpus, words))
        self.is_told = bool(reading.suspicious or any(map(_is_told, lines)) or any(
            speech.is_of_gpus(line) and speech.speaks_of_trouble(line) for line in words))


def _read(reading: Reading) -> Sequence[Quoted]:
    lines = [line for line in reading.lines
             if not (entries.speaks_of_none(line.text) or entries.is_listed(line.text)
                     or denied.is_source(line.text) or other_programs.says_nothing_of_gpus(line.text))]
    return lines if len(lines) <= _MOST_LINES else reading.suspicious[:_MOST_LINES]


def _is_told(line: Quoted) -> bool:
    """Say whether a person tells something in a line: what programs list has few of such words."""
    return len(_OF_SENTENCES.intersection(line.text.lower().split())) >= _LEAST_OF_SENTENCES


def _name(guess: Guess) -> str:
    return f"reports-of-{guess.cause}"


def _said(guess: Guess, lines: Sequence[Quoted]) -> Said:
    """Return the line with most of the telling words, and which they are."""
    line = max(lines, key=lambda line: len(telling([line.text]).intersection(guess.words)))
    return Said(id=_name(guess), captures={}, text=line.text, source=line.source,
                because=f"{', '.join(map(repr, guess.words))} are words of such reports")


def _symptom(guess: Guess, most: int) -> SymptomPattern:
    return SymptomPattern(
        id=_name(guess), program=PEOPLE, patterns=guess.words, meaning="", benign=False, versions=(),
        examples=(), suspects=(Suspect(cause=guess.cause, weight=round(most * guess.share)),),
        source=(), path="")
