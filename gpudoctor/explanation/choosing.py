"""Which candidates are told: how far behind the first one may be, and when the answer is "harmless"."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from gpudoctor.explanation.ranking import Candidate
from gpudoctor.explanation.reading import Said
from gpudoctor.frozen import frozen
from gpudoctor.model import Rule, Severity

MOST = 5
LEAST_SCORE = 0.04
BEHIND = 0.12  # of the first one's score
INFORMS = 0.15  # a line below it is neither harmless nor a fault: it tells what is there
CERTAIN, NEAR = 0.95, 0.6
LIKELY = 0.94  # the most that a guess gives
BEHIND_CERTAIN = 0.45
OWN_FAULT = 0.3  # what messages that no other told cause explains must give, for theirs to be told as well
# The last line of a traceback.
_RAISED = re.compile(r"(?:[A-Za-z_]\w{0,60}\.){0,6}[A-Za-z_]{0,60}(?:Error|Exception): ")


@frozen
class Choice:
    """What is told: the faults in order, and the harmless causes.

    `instead` are faults that are less probable than that all is harmless; they are only named.
    """

    faults: tuple[Candidate, ...]
    harmless: tuple[Candidate, ...]
    instead: tuple[Candidate, ...] = ()

    @property
    def is_certain(self) -> bool:
        """Return whether the first fault is as good as sure, and no other reason of its messages near."""
        return self.certain_at(0)

    def certain_at(self, place: int) -> bool:
        """Say so of one fault: one that no message shares with those before it is another, as sure as it."""
        if place >= len(self.faults) or self.faults[place].score < CERTAIN:
            return False
        one = self.faults[place]
        if place and not self.is_certain:
            return False
        shared = [not set(one.suspicions).isdisjoint(other.suspicions) for other in self.faults]
        later = zip(self.faults[place + 1:], shared[place + 1:], strict=True)
        return not any(shared[:place]) and all(other.score < NEAR for other, is_rival in later if is_rival)


def at_most_likely(candidates: Sequence[Candidate], guesses: Collection[str]) -> tuple[Candidate, ...]:
    """Return the candidates by their scores, none made certain by symptoms that are guesses."""
    scored = []
    for candidate in candidates:
        understood = [name for name in candidate.suspicions if name not in guesses]
        most = 1.0 if len(understood) == len(candidate.suspicions) else max(
            LIKELY, candidate.score_of(understood))
        scored.append(replace(candidate, score=min(candidate.score, most)))
    return tuple(sorted(scored, key=lambda candidate: -candidate.score))


def raised(said: Iterable[Said]) -> frozenset[str]:
    """Return the symptoms in lines by which a program ended: whatever they mean, they are not harmless."""
    return frozenset(line.id for line in said if _RAISED.match(line.text))


def choose(candidates: Sequence[Candidate], rules: Mapping[str, Rule],
           fatal: Collection[str] = ()) -> Choice:
    """Return what to tell of ranked candidates; a cause without a page cannot be told.

    `fatal` are symptoms that no harmless cause explains.
    """
    known = [candidate for candidate in candidates if candidate.cause in rules]
    harmless = [c for c in known if rules[c.cause].severity is Severity.BENIGN and c.score >= LEAST_SCORE]
    faults = [c for c in known if rules[c.cause].severity is not Severity.BENIGN and c.score >= LEAST_SCORE]
    best = faults[0].score if faults else 0.0
    disputed = {name for fault in faults for name in fault.suspicions}.difference(fatal)
    if faults and max((c.score_of(disputed) for c in harmless), default=0.0) >= best:
        return Choice(faults=(), harmless=tuple(harmless[:MOST]), instead=tuple(faults[:MOST]))
    least_told = BEHIND_CERTAIN if best >= CERTAIN else BEHIND * best
    told = _with_all_explained([c for c in faults if c.score >= least_told][:MOST], faults)
    explained = {name for fault in told for name in fault.suspicions}
    least = INFORMS if told else LEAST_SCORE  # beside a fault nobody needs to hear what was opened well
    rest = [c for c in harmless if c.score >= least and not set(c.suspicions) <= explained]
    return Choice(faults=told, harmless=tuple(rest[:MOST]))


def _with_all_explained(told: Sequence[Candidate], faults: Sequence[Candidate]) -> tuple[Candidate, ...]:
    """Return what is told, with the best cause of each message that none of it explains: another fault."""
    more: list[Candidate] = []
    for candidate in faults:
        explained = {name for one in (*told, *more) for name in one.suspicions}
        if len(more) < MOST and candidate.score_of(set(candidate.suspicions) - explained) >= OWN_FAULT:
            more.append(candidate)
    return (*told, *more)
