"""Releases of several frameworks in one environment: which of them go together, and which cannot."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence

from gpudoctor.candidates.judging import Judge, Judged
from gpudoctor.candidates.wishes import Wish
from gpudoctor.derive.stacks import Stack

_MOST_JUDGED = 60  # sets that pip can install and that the rules are asked about

Fitting = Mapping[str, Sequence[Stack]]


def judged_sets(wishes: Sequence[Wish], fitting: Fitting, judge: Judge) -> Iterator[Judged]:
    """Yield sets, for each release of the first framework the newest others that go with it.

    Of a release that nothing goes with, what spoke against its newest set is yielded.
    """
    return (judge.of(stacks) for stacks, _ in chosen_sets(wishes, fitting, judge))


def chosen_sets(wishes: Sequence[Wish], fitting: Fitting,
                judge: Judge) -> Iterator[tuple[tuple[Stack, ...], bool]]:
    """Yield these sets, and whether they fit, without the words of the rules."""
    judged = 0
    choices = [fitting[wish.framework] for wish in wishes[1:]]
    for first in fitting[wishes[0].framework]:
        newest = (first, *(some[0] for some in choices))
        best = newest if judge.fits(*newest) else None
        for rest in _ordered(first, choices, judge) if best is None else ():
            if judge.pip.clash((first, *rest)) is not None:
                continue
            judged += 1
            if judge.fits(first, *rest):
                best = (first, *rest)
            if best is not None or judged >= _MOST_JUDGED:
                break
        yield best or newest, best is not None
        if judged >= _MOST_JUDGED:
            return


def _ordered(first: Stack, choices: Sequence[Sequence[Stack]], judge: Judge) -> Iterator[tuple[Stack, ...]]:
    """Yield one stack of each that pip can install with the first, those with the newest releases first."""
    left = [[one for one in some if judge.pip.clash((first, one)) is None] for some in choices]
    positions = itertools.product(*(range(len(some)) for some in left))
    for chosen in sorted(positions, key=sum):
        yield tuple(some[position] for some, position in zip(left, chosen, strict=True))


def smallest_conflict(wishes: Sequence[Wish], fitting: Fitting, judge: Judge) -> tuple[Wish, ...]:
    """Return the fewest wishes that nothing fits together; all of them where every part fits."""
    for count in range(1, len(wishes)):
        for some in itertools.combinations(wishes, count):
            if count == 1 and not fitting[some[0].framework]:
                return some
            if count > 1 and not any(fits for _, fits in chosen_sets(some, fitting, judge)):
                return some
    return tuple(wishes)
