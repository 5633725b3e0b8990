"""Releases of several frameworks in one environment: which of them go together, and which cannot."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter

from gpudoctor.candidates.judging import Judge, Judged
from gpudoctor.candidates.wishes import Wish
from gpudoctor.derive.stacks import Stack

Fitting = Mapping[str, Sequence[Stack]]


def judged_sets(wishes: Sequence[Wish], fitting: Fitting, judge: Judge) -> Iterator[Judged]:
    """Yield sets, for each release of the first framework the newest others that go with it.

    Of a release that nothing goes with, what spoke against its newest set is yielded.
    """
    return (judge.of(stacks) for stacks, _ in chosen_sets(wishes, fitting, judge))


def chosen_sets(wishes: Sequence[Wish], fitting: Fitting,
                judge: Judge) -> Iterator[tuple[tuple[Stack, ...], bool]]:
    """Yield these sets, and whether they fit, without the words of the rules."""
    choices = [fitting[wish.framework] for wish in wishes[1:]]
    for first in fitting[wishes[0].framework]:
        newest = (first, *(some[0] for some in choices))
        best = next(((first, *rest) for rest in ordered(first, choices, judge)
                     if judge.fits(first, *rest)), None)
        yield best or newest, best is not None


def ordered(first: Stack, choices: Sequence[Sequence[Stack]], judge: Judge) -> Iterator[tuple[Stack, ...]]:
    """Yield one stack of each, any two of which pip can install together, the newest releases first.

    Of those that nothing tells apart the newest will do: where that does not fit, no other does.
    """
    found: list[tuple[int, tuple[Stack, ...]]] = [(0, ())]
    for some in choices:
        going_with = [one for one in some if judge.pip.clash((first, one)) is None]
        newest = {judge.told_apart(one): place for place, one in reversed([*enumerate(going_with)])}
        left = [(place, going_with[place]) for place in sorted(newest.values())]
        earlier = {other.release: other for _, stacks in found for other in stacks}
        going = {name: {n for n, (_, one) in enumerate(left) if judge.pip.clash((other, one)) is None}
                 for name, other in earlier.items()}
        every = frozenset(range(len(left)))
        found = [(age + left[n][0], (*stacks, left[n][1])) for age, stacks in found
                 for n in sorted(every.intersection(*[going[other.release] for other in stacks]))]
    yield from (stacks for _, stacks in sorted(found, key=itemgetter(0)))


def smallest_conflict(wishes: Sequence[Wish], fitting: Fitting, judge: Judge) -> tuple[Wish, ...]:
    """Return the fewest wishes that nothing fits together; all of them where every part fits."""
    for count in range(1, len(wishes)):
        for some in itertools.combinations(wishes, count):
            if count == 1 and not fitting[some[0].framework]:
                return some
            if count > 1 and not any(fits for _, fits in chosen_sets(some, fitting, judge)):
                return some
    return tuple(wishes)
