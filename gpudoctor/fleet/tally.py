"""Counting in bounded space: how many machines there are of each kind, and the first names of them.

All that is kept are sums and the smallest of what was seen. So neither the order in which machines come nor
the parts in which they are added up change anything: `a + b = b + a`, and what stood in both counts in full.
"""

from __future__ import annotations

import hashlib
from bisect import insort
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

MOST_NAMES = 10  # names that are kept of each kind


class Ordered(Protocol):
    """Anything that has an order, and so a smallest."""

    def __lt__(self, other: Any, /) -> bool:
        """Say whether it comes first."""


class Key(Ordered, Protocol):
    """What machines are counted by."""

    def __hash__(self) -> int:
        """Return the hash by which it is looked up."""


K = TypeVar("K", bound=Key)


@dataclass(slots=True)
class Count:
    """Machines of one kind: their number, the first of their names, and a mark that the same ones have.

    The mark is a sum of digests: two counts of the same number with the same mark are of the same machines.
    """

    number: int = 0
    names: list[str] = field(default_factory=list)
    mark: int = 0

    def add(self, number: int, names: list[str], mark: int) -> None:
        """Count more machines."""
        self.number += number
        self.mark = (self.mark + mark) % (1 << 64)
        for name in names:
            if len(self.names) < MOST_NAMES or name < self.names[-1]:
                insort(self.names, name)
                del self.names[MOST_NAMES:]


class Tally(Generic[K]):
    """How many machines there are of each kind; of more than `most` kinds the smallest are told apart."""

    __slots__ = ("beyond", "counts", "most")

    def __init__(self, most: int) -> None:
        self.most = most
        self.counts: dict[K, Count] = {}
        self.beyond = 0  # machines of kinds that are not told apart

    def add(self, key: K, name: str, mark: int) -> None:
        """Count one machine."""
        self._count(key, 1, [name], mark)

    def merge(self, other: Tally[K]) -> None:
        """Count the machines of another tally as well."""
        self.beyond += other.beyond
        for key, count in other.counts.items():
            self._count(key, count.number, count.names, count.mark)

    @property
    def total(self) -> int:
        """Return the number of machines."""
        return self.beyond + sum(count.number for count in self.counts.values())

    def ranked(self) -> list[tuple[K, Count]]:
        """Return the kinds, those of most machines first."""
        return sorted(sorted(self.counts.items(), key=lambda item: item[0]),
                      key=lambda item: -item[1].number)

    def _count(self, key: K, number: int, names: list[str], mark: int) -> None:
        count = self.counts.get(key)
        if count is None:
            count = self.counts[key] = Count()
        count.add(number, names, mark)
        if len(self.counts) > self.most:
            self.beyond += self.counts.pop(max(self.counts)).number


def mark_of(name: str) -> int:
    """Return the number that stands for a machine in marks."""
    digest = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big")
