"""What sets machines apart from their peers: where most agree, who does not.

No statistics: of three or more peers that know a fact, more than half have the same value; the others stand
apart, and the fewer they are the earlier they are told. Where no value is that of most, the peers are
divided, and nobody is called odd.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from gpudoctor.fleet.compared import NOT_THERE, Held, place
from gpudoctor.fleet.machine import CARDS_UNKNOWN, NO_MACHINE
from gpudoctor.fleet.summary import Peers
from gpudoctor.fleet.tally import Count, Tally
from gpudoctor.frozen import frozen

LEAST_PEERS = 3
_MOST_ITEMS = 6  # of a list
_EMPTY = "(empty)"
NO_PEERS = (CARDS_UNKNOWN, NO_MACHINE)  # what they have in common is that nothing was seen


@frozen
class Difference:
    """A fact in which machines differ from most of their peers; `of` peers know it, `usual_number` agree."""

    fact: str
    value: Held
    usual: Held
    usual_number: int
    of: int


@frozen
class Apart:
    """Machines that differ from their peers, all in the same facts; `typical` is a peer as most are, to be
    held beside one of them."""

    number: int
    names: Sequence[str]
    typical: str
    differences: Sequence[Difference]


@frozen
class Compared:
    """What came of comparing peers: who stands apart, where they are divided, what is of each its own."""

    apart: Sequence[Apart]
    divided: Sequence[tuple[str, Tally[Held]]]
    varied: Sequence[str]


def compared(key: str, peers: Peers) -> Compared:
    """Return what sets machines of one kind apart from one another."""
    usual: dict[str, tuple[Held, Count]] = {}
    divided: list[tuple[str, Tally[Held]]] = []
    varied: list[str] = []
    for fact in sorted(peers.facts, key=place) if key not in NO_PEERS else ():
        tally = peers.facts[fact]
        value, most = tally.ranked()[0] if tally.counts else (NOT_THERE, Count())
        if tally.total < LEAST_PEERS:
            continue
        if tally.beyond:
            varied.append(fact)
        elif 2 * most.number > tally.total:
            usual[fact] = (value, most)
        else:
            divided.append((fact, tally))
    return Compared(apart=_apart(peers, usual), divided=divided, varied=varied)


def _apart(peers: Peers, usual: Mapping[str, tuple[Held, Count]]) -> list[Apart]:
    """Return the machines without the usual value, those that are so in several facts once."""
    together: dict[tuple[int, int], tuple[Count, list[Difference]]] = {}
    for fact, (value, most) in usual.items():
        tally = peers.facts[fact]
        for other, count in tally.counts.items():
            if other != value:
                together.setdefault((count.number, count.mark), (count, []))[1].append(Difference(
                    fact=fact, value=other, usual=value, usual_number=most.number, of=tally.total))
    usually = Counter(name for _, most in usual.values() for name in most.names)
    apart = [Apart(number=count.number, names=count.names, typical=_typical(differences, usual, usually),
                   differences=sorted(differences, key=lambda one: (-one.usual_number, place(one.fact))))
             for count, differences in together.values()]
    return sorted(apart, key=lambda one: (one.number, -len(one.differences), *one.names))


def _typical(differences: Sequence[Difference], usual: Mapping[str, tuple[Held, Count]],
             usually: Counter[str]) -> str:
    """Return a machine that is as most are in these facts, and in most others, as far as names are kept."""
    here = Counter(name for one in differences for name in usual[one.fact][1].names)
    return min(here, key=lambda name: (-here[name], -usually[name], name))


def words(value: Held) -> str:
    """Return a value as a person reads it, of a long list the beginning."""
    said = ", ".join(item or _EMPTY for item in value[:_MOST_ITEMS]) or "none"
    rest = len(value) - _MOST_ITEMS
    return f"{said} and {rest} more" if rest > 0 else said


def against(value: Held, usual: Held) -> tuple[str, str]:
    """Return both values as a person compares them: of lists only what the other one lacks."""
    if max(len(value), len(usual)) < 2 or NOT_THERE in (value, usual):
        return words(value), words(usual)
    own, other = [one for one in value if one not in usual], [one for one in usual if one not in value]
    if not own and not other:
        return "the same in another order", words(usual)
    return words(tuple(own)) if own else "without", words(tuple(other)) if other else "without"
