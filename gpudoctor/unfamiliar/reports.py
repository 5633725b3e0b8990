"""Which causes the words of a text are reported in: naive Bayes over texts that were written for each cause.

The table `cause_words` says of each cause in how many of its texts a word stands. Words by themselves are a
weaker reason than any line that is understood, so they are asked last.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

from gpudoctor.frozen import frozen
from gpudoctor.model import Value
from gpudoctor.unfamiliar.words import words_of

# Chosen by holding halves of the written texts against each other (docs/decisions/0057).
_UNSEEN = 0.1  # texts of a cause that are supposed to have a word which none of them has
_LEAST_AHEAD = 4.0  # of the first cause before all causes together, as the logarithm of the odds
_DOUBT = 2.0  # by what the logarithms are divided: the words of a text depend on each other
_SHORTEST = 2
_DIGITS = 3  # of a number; longer ones are sizes, addresses and dates
_MOST_TELLING = 4
_FEWEST = 6  # known words of a text; fewer are found in anybody's report


@frozen
class Guess:
    """A cause whose texts have the words, its share (0 to 1) among all causes, and the most telling words."""

    cause: str
    share: float
    words: tuple[str, ...]


def telling(lines: Iterable[str]) -> frozenset[str]:
    """Return the words of lines by which causes are told apart."""
    return frozenset(word for line in lines for word in words_of(line)
                     if len(word) >= _SHORTEST and not (word.isdecimal() and len(word) > _DIGITS))


class Reports:
    """The words of each cause's texts, of the rows of the table."""

    def __init__(self, rows: Sequence[Mapping[str, Value]]) -> None:
        self._counts = {str(row["cause"]): _counted(row["words"]) for row in rows}
        together: Counter[str] = Counter()
        for counts in self._counts.values():
            together.update(counts)
        self._together = together
        self._sums = {cause: sum(counts.values()) for cause, counts in self._counts.items()}

    def guesses(self, words: Collection[str]) -> tuple[Guess, ...]:
        """Return the causes in whose texts the words stand, the likeliest first.

        None where they are too few, or no cause's texts have them more than all texts have.
        """
        known = sorted(word for word in words if word in self._together)
        odds = {cause: sum(self._ahead(cause, word) for word in known) for cause in self._counts}
        most = max(odds.values(), default=0.0)
        if most < _LEAST_AHEAD or len(known) < _FEWEST:
            return ()
        shares = {cause: math.exp((ahead - most) / _DOUBT) for cause, ahead in odds.items()}
        whole = sum(shares.values())
        return tuple(Guess(cause=cause, share=shares[cause] / whole, words=self._most_telling(cause, known))
                     for cause in sorted(shares, key=lambda cause: -shares[cause]))

    def _ahead(self, cause: str, word: str) -> float:
        """Return how much likelier a word is in the texts of a cause than in all: a logarithm."""
        own = self._likelihood(self._counts[cause].get(word, 0), self._sums[cause])
        return math.log(own / self._likelihood(self._together[word], self._together.total()))

    def _likelihood(self, count: int, of_all: int) -> float:
        return (count + _UNSEEN) / (of_all + _UNSEEN * len(self._together))

    def _most_telling(self, cause: str, words: Sequence[str]) -> tuple[str, ...]:
        ahead = {word: self._ahead(cause, word) for word in words if word in self._counts[cause]}
        return tuple(sorted(ahead, key=lambda word: -ahead[word])[:_MOST_TELLING])


def _counted(words: Value) -> dict[str, int]:
    """Return the counts of "cudnn 12", "driver 7"."""
    pairs = (str(word).split(" ") for word in (words if isinstance(words, tuple) else ()))
    return {word: int(count) for word, count in pairs}
