"""A veil over what another driver changes of a machine: what is said under it holds with each driver.

A driver that leaves out a card beside others that it serves makes another machine of it: no program uses that
card then. So drivers that serve the same cards share a veil, and others have one of their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import cast

from gpudoctor import derive
from gpudoctor.assume import lay
from gpudoctor.candidates import drivers
from gpudoctor.candidates.ground import Ground
from gpudoctor.derive.branches import is_left_out
from gpudoctor.derive.lazy import LazyFacts
from gpudoctor.model import Fact, Facts, Known, Scope, Snapshot, Subjects, Unknown

_SOURCE = "another driver"
_OF_DRIVER = ("driver.present", "driver.ready", "driver.works", "cuda.serves")  # whatever is installed

LeftOut = tuple[bool, ...]  # of each card, whether the driver leaves it out


class UnforeseenError(Exception):
    """A verdict rests on what another driver changes."""


class _Veil:
    """Stands for such a fact: asking it anything, also of which kind it is, raises `UnforeseenError`."""

    __slots__ = ()

    def __getattribute__(self, name: str) -> object:
        raise UnforeseenError(name)


_VEIL = cast(Fact, _Veil())


class Drivers:
    """One machine with each of some drivers, which do the same for the same cards."""

    def __init__(self, machines: Sequence[Ground]) -> None:
        """Take the machine with each of them, at least one."""
        self._machines = machines

    @cached_property
    def _veils(self) -> Facts:
        """Return a veil for each fact that another driver changes."""
        first, *others = self._machines
        names = (name for other in others for name in _differing(first.snapshot, other.snapshot))
        return dict.fromkeys(names, _VEIL)

    @cached_property
    def _unchanged(self) -> Facts:
        """Return what follows from the driver, and is the same of each."""
        return {name: fact for name, fact in _of_driver(self._machines[0]).items()
                if all(_is_alike(other, {name: fact}) for other in self._machines)}

    def are_like(self, base: Ground) -> bool:
        """Return whether a machine is as with one of them."""
        return _is_alike(base, self._unchanged)

    def veiled(self, snapshot: Snapshot) -> Snapshot:
        """Return a machine with the veil over it."""
        cards = snapshot.gpus if isinstance(snapshot.gpus, Unknown) else tuple(
            {name: self._veils.get(name, fact) for name, fact in card.items()} for card in snapshot.gpus)
        host = {name: self._veils.get(name, fact) for name, fact in snapshot.host.items()}
        return replace(snapshot, host={**host, **self._unchanged}, gpus=cards)

    def unveiled(self, snapshot: Snapshot, subjects: Subjects, base: Ground) -> Subjects:
        """Return a veiled state as it is on a machine; what was computed under the veil holds there too."""
        host = dict(snapshot.host)
        for name in self._unchanged:
            host.pop(name, None)
        host.update((name, base.snapshot.host[name]) for name in self._veils if name in base.snapshot.host)
        found = derive.subjects(replace(snapshot, host=host, gpus=base.snapshot.gpus), base.database)
        for scope, mine in found.items():
            for subject, veiled in zip(mine, subjects[scope], strict=True):
                if isinstance(subject.facts, LazyFacts) and isinstance(veiled.facts, LazyFacts):
                    subject.facts.take_over(veiled.facts, _VEIL)
        return found


def by_cards(base: Ground) -> dict[LeftOut, Drivers]:
    """Return the machine with each driver that it could have, its own among them, by the cards they serve.

    Its own is left out where it does other things than those that serve the same cards: it does not work.
    """
    database = base.database
    found: dict[LeftOut, list[Ground]] = {}
    for driver in drivers.others(base):
        laid = lay(base.snapshot, {"driver": Known(value=driver, source=_SOURCE)}, database.tables,
                   source=_SOURCE)
        other = replace(base, snapshot=laid, subjects=derive.subjects(laid, database))
        found.setdefault(left_out(other), []).append(other)
    mine = found.setdefault(left_out(base), [])
    if not mine or _is_alike(base, _of_driver(mine[0])):
        mine.insert(0, base)
    return {cards: Drivers(machines) for cards, machines in found.items()}


def left_out(base: Ground) -> LeftOut:
    """Return of each card whether the driver leaves it out."""
    return tuple(is_left_out(card.facts) for card in base.subjects[Scope.GPU])


def _of_driver(base: Ground) -> Facts:
    return {name: base.fact(name) for name in _OF_DRIVER}


def _is_alike(base: Ground, facts: Facts) -> bool:
    """Return whether these facts are so on a machine."""
    return all(_read(base.fact(name)) == _read(fact) for name, fact in facts.items())


def _differing(one: Snapshot, other: Snapshot) -> Iterator[str]:
    """Yield the names of facts that are not the same on two machines with the same cards."""
    yield from _unlike(one.host, other.host)
    if not isinstance(one.gpus, Unknown) and not isinstance(other.gpus, Unknown):
        for mine, theirs in zip(one.gpus, other.gpus, strict=True):
            yield from _unlike(mine, theirs)


def _unlike(facts: Facts, others: Facts) -> Iterator[str]:
    return (name for name in {**facts, **others} if _read(facts.get(name)) != _read(others.get(name)))


def _read(fact: Fact | None) -> tuple[object, ...]:
    """Return what rules can tell of a fact, which is not in whose words it stands."""
    match fact:
        case Known():
            return "known", fact.value
        case Unknown():
            return "unknown", fact.asked, fact.at_least
        case _:
            return ("absent" if fact is not None else "",)
