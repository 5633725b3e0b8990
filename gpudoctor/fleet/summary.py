"""What is kept of all machines: verdicts, causes, what could not be read, and the facts of peers."""

from __future__ import annotations

from collections import Counter

from gpudoctor.examine import EXIT_FINDINGS, EXIT_HEALTHY, EXIT_INPUT, EXIT_UNDECIDED
from gpudoctor.fleet.compared import Held
from gpudoctor.fleet.machine import Cause, Machine
from gpudoctor.fleet.tally import Count, Tally, mark_of
from gpudoctor.model import Verdict

_MOST_CAUSES, _MOST_KINDS, _MOST_EDITIONS, _MOST_REFUSED = 1000, 500, 20, 20
_MOST_GROUPS, _MOST_FACTS, _MOST_VALUES, _MOST_MODELS = 32, 300, 32, 8
FOREIGN, HIDDEN, LINKED = "no report or snapshot", "hidden", "links to folders"


class Peers:
    """Machines with the same cards, and what each fact is on how many of them."""

    __slots__ = ("all", "cards", "facts")

    def __init__(self) -> None:
        self.all = Count()
        self.cards: Tally[str] = Tally(_MOST_MODELS)
        self.facts: dict[str, Tally[Held]] = {}

    def add(self, machine: Machine, mark: int) -> None:
        """Take in a machine."""
        self.all.add(1, [machine.name], mark)
        if machine.cards:
            self.cards.add(machine.cards, machine.name, mark)
        for fact, value in machine.facts.items():
            self._tally(fact).add(value, machine.name, mark)
        self._bound()

    def merge(self, other: Peers) -> None:
        """Take in the machines of another part."""
        self.all.add(other.all.number, other.all.names, other.all.mark)
        self.cards.merge(other.cards)
        for fact, tally in other.facts.items():
            self._tally(fact).merge(tally)
        self._bound()

    def _tally(self, fact: str) -> Tally[Held]:
        if fact not in self.facts:
            self.facts[fact] = Tally(_MOST_VALUES)
        return self.facts[fact]

    def _bound(self) -> None:
        """Keep so many facts: a machine may have as many frameworks as whoever wrote it liked."""
        for name in sorted(self.facts)[_MOST_FACTS:] if len(self.facts) > _MOST_FACTS else ():
            del self.facts[name]


class Summary:
    """The sums over all machines so far; their size does not grow with the number of machines."""

    def __init__(self) -> None:
        self.machines = Count()
        self.kinds: Counter[str] = Counter()  # of documents: "reports", "judged", "assumed"
        self.verdicts: Counter[Verdict] = Counter()
        self.exit_codes: Counter[int] = Counter()
        self.editions: Tally[str] = Tally(_MOST_EDITIONS)
        self.causes: Tally[Cause] = Tally(_MOST_CAUSES)
        self.open: Tally[Cause] = Tally(_MOST_CAUSES)
        self.alike: Tally[tuple[Cause, ...]] = Tally(_MOST_KINDS)
        self.peers: dict[str, Peers] = {}
        self.peers_beyond = 0  # machines of further kinds of cards, which are not compared
        self.refused: Tally[tuple[str, str]] = Tally(_MOST_REFUSED)  # what cannot be used: (file, why)
        self.skipped: Tally[str] = Tally(_MOST_REFUSED)  # what is none of ours, by what it is
        self.is_interrupted = False

    def add(self, machine: Machine) -> None:
        """Take in a machine."""
        mark, name = mark_of(machine.name), machine.name
        self.machines.add(1, [name], mark)
        self.kinds["judged" if machine.is_judged else "reports"] += 1
        self.kinds["assumed"] += machine.is_assumed
        self.verdicts[machine.verdict] += 1
        self.exit_codes[machine.exit_code] += 1
        self.editions.add(machine.edition, name, mark)
        for cause in machine.causes:
            self.causes.add(cause, name, mark)
        for cause in machine.open:
            self.open.add(cause, name, mark)
        sure = tuple(cause for cause in machine.causes if not cause.is_likely)  # of the others one may hold
        if sure:
            self.alike.add(sure, name, mark)
        self._peers(machine.peers).add(machine, mark)
        self._bound()

    def refuse(self, name: str, why: str) -> None:
        """Take in that something was to be read and cannot be used."""
        self.refused.add((name, why), name, 0)

    def skip(self, name: str, what: str) -> None:
        """Take in that something was left alone."""
        self.skipped.add(what, name, 0)

    def merge(self, other: Summary) -> None:
        """Take in the machines of another part, of which none is in this one."""
        self.machines.add(other.machines.number, other.machines.names, other.machines.mark)
        for mine, theirs in ((self.kinds, other.kinds), (self.verdicts, other.verdicts),
                             (self.exit_codes, other.exit_codes)):
            mine.update(theirs)  # type: ignore[arg-type]
        self.editions.merge(other.editions)
        self.causes.merge(other.causes)
        self.open.merge(other.open)
        self.alike.merge(other.alike)
        self.refused.merge(other.refused)
        self.skipped.merge(other.skipped)
        self.peers_beyond += other.peers_beyond
        for key, peers in other.peers.items():
            self._peers(key).merge(peers)
        self._bound()
        self.is_interrupted |= other.is_interrupted

    def exit_code(self, *, allow_undecided: bool) -> int:
        """Return 1 for a machine with a failure, 3 for one of which something is not known, 0 for none.

        A file that cannot be used is a machine of which nothing is known, and so is what an interrupt left
        unread, which no option allows; 4 where there is nothing else.
        """
        if not self.machines.number:
            return EXIT_INPUT
        if self.exit_codes[EXIT_FINDINGS]:
            return EXIT_FINDINGS
        blind = self.exit_codes[EXIT_UNDECIDED] or self.refused.total
        if self.is_interrupted or (blind and not allow_undecided):
            return EXIT_UNDECIDED
        return EXIT_HEALTHY

    def _peers(self, key: str) -> Peers:
        if key not in self.peers:
            self.peers[key] = Peers()
        return self.peers[key]

    def _bound(self) -> None:
        while len(self.peers) > _MOST_GROUPS:
            self.peers_beyond += self.peers.pop(max(self.peers)).all.number
