"""What the smallest change of the machine would make possible: another driver, another Python, or both."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence

from gpudoctor import versions
from gpudoctor.candidates.ground import Ground, capabilities, ground, with_facts
from gpudoctor.candidates.judging import Judge
from gpudoctor.candidates.stacks import Stack
from gpudoctor.derive import branches
from gpudoctor.derive.view import View
from gpudoctor.engine import Subjects
from gpudoctor.frozen import frozen
from gpudoctor.model import Change, Known, RuleDatabase, Scope, Snapshot

DRIVER, PYTHON = "driver", "python"
KINDS = (DRIVER, PYTHON)
_MOST_PYTHONS = 3  # of a framework's newest releases, when driver and Python are changed together

Newest = dict[str, Stack | None]


@frozen
class Variant:
    """The machine with another driver, another Python, or both; None is as it is."""

    driver: str | None = None
    python: str | None = None


class Changes:
    """Tries changes from the nearest on; what a nearer one made possible is no gain of a farther one."""

    def __init__(self, snapshot: Snapshot, base: Ground, database: RuleDatabase,
                 stacks: Mapping[str, Sequence[Stack]], newest: Newest) -> None:
        self._snapshot, self._base, self._database = snapshot, base, database
        self._stacks, self._newest = stacks, dict(newest)
        self._judges: dict[Variant, Judge] = {}

    def worth(self, kinds: Sequence[str]) -> list[Change]:
        """Return the changes that make something possible, the smallest first."""
        drivers = [Variant(driver=driver) for driver in self._drivers()] if DRIVER in kinds else []
        pythons = [Variant(python=python) for python in self._pythons()] if PYTHON in kinds else []
        singly, found = dict(self._newest), []
        for variants in (drivers, pythons):
            reached = dict(self._newest)
            for variant in variants:
                found += self._gain(variant, reached)
            singly = {name: _newer(singly[name], reached[name]) for name in singly}
        for one, other in itertools.product(drivers, pythons[:_MOST_PYTHONS]):
            found += self._gain(Variant(driver=one.driver, python=other.python), singly)
        return found

    def _gain(self, variant: Variant, reached: Newest) -> list[Change]:
        """Return the change if it makes a newer release possible than what was reached, which it adds to."""
        gains = []
        for name, stacks in self._stacks.items():
            better = next(self._fitting(variant, stacks, reached[name]), None)
            if better is not None:
                reached[name] = better
                gains.append(f"{name} {better.version}")
        return [Change(change=self._words(variant), gains=tuple(gains))] if gains else []

    def _fitting(self, variant: Variant, stacks: Sequence[Stack], above: Stack | None) -> Iterator[Stack]:
        judge = self._judge(variant)
        for stack in stacks:
            if above is not None and versions.parse(stack.version) <= versions.parse(above.version):
                return
            if not judge.of((stack,)).objections:
                yield stack

    def _judge(self, variant: Variant) -> Judge:
        if variant not in self._judges:
            base = self._base
            if variant.python is not None:
                base = ground(self._snapshot, self._database, variant.python)
            if variant.driver is not None:
                base = with_facts(base, {"driver": Known(value=variant.driver, source="a change")})
            self._judges[variant] = Judge(base)
        return self._judges[variant]

    def _words(self, variant: Variant) -> str:
        parts = []
        if variant.driver is not None:
            here = self._base.fact("driver.version")
            parts.append(f"driver {here.value if isinstance(here, Known) else 'none'} -> {variant.driver}")
        if variant.python is not None:
            parts.append(f"Python {self._base.place.python} -> {variant.python}")
        return " and ".join(parts)

    def _drivers(self) -> list[str]:
        """Return the drivers that a command may name and that serve the cards, newer than the one here."""
        subjects: Subjects = self._base.subjects
        view = View(facts=subjects[Scope.HOST][0].facts, database=self._database)
        served, here = branches.served(view), self._base.fact("driver.version")
        table = self._database.tables.get("driver_lifecycle")
        listed = [row for row in (table.rows if table else ()) if capabilities(self._base)
                  and served.allows(branches.major(row["branch"]))
                  and (row["maintained"] is True or branches.major(row["branch"]) == served.last_branch)]
        first = sorted((str(row["first_release"]) for row in listed), key=versions.parse)
        if not isinstance(here, Known):
            return first
        return [driver for driver in first if branches.major(driver) > branches.major(here.value)]

    def _pythons(self) -> list[str]:
        """Return the Pythons that some release has wheels for, the nearest first, of two the newer."""
        here = versions.parse(self._base.place.python)
        listed = {python for stacks in self._stacks.values() for stack in stacks for python in stack.pythons}
        others = [version for version in map(versions.parse, listed) if version != here]
        ordered = sorted(others, key=lambda other: (other.major != here.major, abs(other.minor - here.minor),
                                                    -other.minor))
        return [str(version) for version in ordered]


def _newer(one: Stack | None, other: Stack | None) -> Stack | None:
    known = [stack for stack in (one, other) if stack is not None]
    return max(known, key=lambda stack: stack.newness, default=None)
