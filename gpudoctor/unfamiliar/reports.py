"""Which causes the words of a text are reported in: a linear classifier, learnt from texts of each cause.

The table `cause_words` says how much a word, or two words that stand together, speak for a cause or against
it. Words by themselves are a weaker reason than any line that is understood, so they are asked last.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from itertools import pairwise

from gpudoctor.frozen import frozen
from gpudoctor.model import Row
from gpudoctor.unfamiliar.words import words_of

# Chosen with written texts that were not learnt from, and by counts of real reports (docs/decisions/0069).
_SHARPNESS = 0.15  # how far apart two scores are that give shares of e to one
_SHORTEST = 2
_DIGITS = 3  # of a number; longer ones are sizes, addresses and dates
_MOST_TELLING = 4
_FEWEST = 6  # known words of a text; fewer are found in anybody's report
_OF_NOTHING = -1.0  # the score of a cause for which no word speaks
_WHOLE = 100  # the table keeps hundredths


@frozen
class Guess:
    """A cause whose texts have the words, its share (0 to 1) among all causes, and the most telling words.

    `ahead` is how far the words speak more for it than for a text without any fault; scores differ by about 1
    between what is and what is not.
    """

    cause: str
    share: float
    ahead: float
    words: tuple[str, ...]


def telling(lines: Iterable[str]) -> frozenset[str]:
    """Return the words of lines by which causes are told apart, and pairs of those that stand together."""
    found: set[str] = set()
    for line in lines:
        words = [word for word in words_of(line)
                 if len(word) >= _SHORTEST and not (word.isdecimal() and len(word) > _DIGITS)]
        found.update(words)
        found.update(f"{one} {next_one}" for one, next_one in pairwise(words))
    return frozenset(found)


class Reports:
    """What words say of each cause, by the rows of the table; `no_fault` names that of texts without one."""

    def __init__(self, rows: Sequence[Row], no_fault: str) -> None:
        self._no_fault = no_fault
        self._biases = {str(row["cause"]): int(str(row["bias"])) for row in rows}
        self._weights = {str(row["cause"]): _weights(row) for row in rows}

    def guesses(self, words: Collection[str]) -> tuple[Guess, ...]:
        """Return the causes in whose texts the words stand, the likeliest first; none where they are too few.

        Of a long text each word says less.
        """
        known = sorted({word for weights in self._weights.values() for word in words if word in weights})
        if sum(" " not in word for word in known) < _FEWEST:
            return ()
        scores = {cause: (bias + sum(self._weights[cause].get(word, 0) for word in known)
                          / math.sqrt(len(words))) / _WHOLE for cause, bias in self._biases.items()}
        of_none = scores.pop(self._no_fault, _OF_NOTHING)
        most = max(scores.values())
        shares = {cause: math.exp((score - most) / _SHARPNESS) for cause, score in scores.items()}
        whole = sum(shares.values())
        return tuple(Guess(cause=cause, share=shares[cause] / whole, ahead=scores[cause] - of_none,
                           words=self._most_telling(cause, known))
                     for cause in sorted(shares, key=lambda cause: -shares[cause]))

    def _most_telling(self, cause: str, words: Sequence[str]) -> tuple[str, ...]:
        weights = self._weights[cause]
        speaking = sorted((word for word in words if weights.get(word, 0) > 0),
                          key=lambda word: -weights[word])
        return tuple(speaking[:_MOST_TELLING])


def _weights(row: Row) -> dict[str, int]:
    """Return the hundredths of each word; the two columns are in the same order."""
    words, weights = row["words"], str(row["weights"]).split()
    return dict(zip(map(str, words), map(int, weights), strict=True)) if isinstance(words, tuple) else {}
