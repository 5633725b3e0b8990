"""What sets machines apart from their peers: where most agree, who does not.

No statistics: of three or more peers that know a fact, more than half have the same value; the others stand
apart, and the fewer they are the earlier they are told. Where no value is that of most, the peers are divided,
and nobody is called odd.
"""

from __future__ import annotations

from collections.abc import Sequence

from gpudoctor.fleet.compared import NOT_THERE, Held
from gpudoctor.fleet.machine import CARDS_UNKNOWN, NO_MACHINE
from gpudoctor.fleet.summary import Peers
from gpudoctor.fleet.tally import Count, Tally
from gpudoctor.frozen import frozen

LEAST_PEERS = 3
NO_PEERS = (CARDS_UNKNOWN, NO_MACHINE)  # what they have in common is that nothing was seen


@frozen
class Difference:
    """A fact in which machines differ from most of their peers; `of` peers know it, `usual_number` agree."""

    fact: str
    value: Held
    usual: Held
    usual_number: int
    of: int
    usual_names: Sequence[str]


@frozen
class Apart:
    """Machines that differ from their peers, all in the same facts."""

    number: int
    names: Sequence[str]
    differences: Sequence[Difference]

    @property
    def typical(self) -> str:
        """Return a peer that has all the usual values, as far as names are kept; else the first of them."""
        first, *others = [one.usual_names for one in self.differences]
        shared = [name for name in first if all(name in names for names in others)]
        return (shared or [*first])[0]


@frozen
class Compared:
    """What came of comparing peers: who stands apart, where they are divided, what is of each its own."""

    apart: Sequence[Apart]
    divided: Sequence[tuple[str, Tally[Held]]]
    varied: Sequence[str]


def compared(key: str, peers: Peers) -> Compared:
    """Return what sets machines of one kind apart from one another."""
    together: dict[tuple[int, int], tuple[Count, list[Difference]]] = {}
    divided: list[tuple[str, Tally[Held]]] = []
    varied: list[str] = []
    for fact, tally in peers.facts.items() if key not in NO_PEERS else ():
        if tally.total < LEAST_PEERS or (len(tally.counts) == 1 and not tally.beyond):
            continue
        usual, most = tally.ranked()[0]
        if tally.beyond:
            varied.append(fact)
        elif 2 * most.number <= tally.total:
            divided.append((fact, tally))
        else:
            for value, count in tally.counts.items():
                if value != usual:
                    difference = Difference(fact=fact, value=value, usual=usual, usual_number=most.number,
                                            of=tally.total, usual_names=most.names)
                    together.setdefault((count.number, count.mark), (count, []))[1].append(difference)
    apart = [Apart(number=count.number, names=count.names,
                   differences=sorted(differences, key=lambda one: (one.usual_number * -1, one.fact)))
             for count, differences in together.values()]
    apart.sort(key=lambda one: (one.number, -len(one.differences), *one.names))
    return Compared(apart=apart, divided=sorted(divided, key=lambda one: one[0]), varied=sorted(varied))


def words(value: Held) -> str:
    """Return a value as a person reads it."""
    return ", ".join(value) or "none"


def against(value: Held, usual: Held) -> tuple[str, str]:
    """Return both values as a person compares them: of lists only what the other one lacks."""
    if max(len(value), len(usual)) < 2 or NOT_THERE in (value, usual):
        return words(value), words(usual)
    own, other = [one for one in value if one not in usual], [one for one in usual if one not in value]
    if not own and not other:
        return "the same in another order", words(usual)
    return words(tuple(own)) if own else "without", words(tuple(other)) if other else "without"
