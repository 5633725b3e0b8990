"""Releases of several frameworks in one environment: which of them go together, and which cannot."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence

from gpudoctor.candidates.judging import Judge, Judged
from gpudoctor.candidates.stacks import Stack
from gpudoctor.candidates.wishes import Wish

_MOST_TRIED = 400  # sets whose requirements are compared; every one of them is one of stacks that fit alone
_MOST_JUDGED = 24

Fitting = Mapping[str, Sequence[Stack]]


def judged_sets(wishes: Sequence[Wish], fitting: Fitting, judge: Judge) -> Iterator[Judged]:
    """Yield sets, for each release of the first framework the newest others that go with it.

    Of the newest release that nothing goes with, what spoke against its newest set is yielded, too.
    """
    judged = 0
    for first in fitting[wishes[0].framework]:
        best: Judged | None = None
        for rest in _ordered([fitting[wish.framework] for wish in wishes[1:]]):
            found = judge.of((first, *rest))
            judged += found.subjects is not None
            best = found if best is None else best
            if not found.objections:
                best = found
                break
            if judged >= _MOST_JUDGED:
                break
        if best is not None:
            yield best
        if judged >= _MOST_JUDGED:
            return


def _ordered(choices: Sequence[Sequence[Stack]]) -> Iterator[tuple[Stack, ...]]:
    """Yield one stack of each, those with the newest releases first."""
    positions = itertools.product(*(range(len(some)) for some in choices))
    near = sorted(itertools.islice(positions, _MOST_TRIED), key=sum)
    for chosen in near:
        yield tuple(some[position] for some, position in zip(choices, chosen, strict=True))


def smallest_conflict(wishes: Sequence[Wish], fitting: Fitting, judge: Judge) -> tuple[Wish, ...]:
    """Return the fewest wishes that nothing fits together; all of them where every part fits."""
    for count in range(1, len(wishes)):
        for some in itertools.combinations(wishes, count):
            if count == 1 and not fitting[some[0].framework]:
                return some
            if count > 1 and all(found.objections for found in judged_sets(some, fitting, judge)):
                return some
    return tuple(wishes)
