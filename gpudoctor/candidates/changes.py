"""What the smallest change of the machine would make possible: another driver, another Python, or both."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from gpudoctor import versions
from gpudoctor.candidates.drivers import may_help, others
from gpudoctor.candidates.ground import Ground, can_be_made, ground_of, usable_capabilities, with_facts
from gpudoctor.candidates.images import Images, Newness, newest_that_fits, pythons_of
from gpudoctor.candidates.judging import Judge
from gpudoctor.candidates.sets import chosen_sets
from gpudoctor.candidates.wishes import Wish
from gpudoctor.derive.stacks import Stack
from gpudoctor.frozen import frozen
from gpudoctor.model import Change, Known, RuleDatabase, Snapshot

DRIVER, PYTHON = "driver", "python"
KINDS = (DRIVER, PYTHON)
_MOST_PYTHONS = 4  # that are tried together with each driver, or for a set

Stacks = Mapping[str, Sequence[Stack]]
Group = tuple[str, ...]  # frameworks that must live in one environment; mostly one
_IMAGE, _RELEASES = 0, 1  # whatever pip can install comes before any image


@frozen
class Variant:
    """The machine with another driver, another Python, or both; None is as it is."""

    driver: str | None = None
    python: str | None = None


@frozen
class Best:
    """The newest of a group that fits, in words; nothing is older than all."""

    newness: Newness = ()
    words: str = ""


Reached = dict[Group, Best]
_NOTHING = Best()


class Changes:
    """Tries changes from the nearest on; what a nearer one made possible is no gain of a farther one."""

    def __init__(self, snapshot: Snapshot, database: RuleDatabase, judge: Judge, stacks: Stacks,
                 images: Mapping[str, Images], *, is_set: bool) -> None:
        self._snapshot, self._database, self._base = snapshot, database, judge.base
        cards = usable_capabilities(judge.base)  # no driver and no Python brings code for them
        self._stacks = {name: [one for one in some if one.serves(cards, database.tables)]
                        for name, some in stacks.items()}
        self._images = images
        self._groups: list[Group] = [tuple(stacks)] if is_set else [(name,) for name in stacks]
        self._driver = _driver_in_words(judge.base)
        self._judges: dict[Variant, Judge] = {Variant(): judge}

    def worth(self, kinds: Sequence[str]) -> list[Change]:
        """Return the changes that make something possible, the smallest first."""
        drivers = [Variant(driver=driver) for driver in others(self._base)
                   if DRIVER in kinds and may_help(self._base)]
        pythons = [Variant(python=python) for python in self._pythons()] if PYTHON in kinds else []
        now: Reached = {group: best for group in self._groups
                        if (best := self._newest(Variant(), group, ())) is not None}
        singly, changes = dict(now), list[Change]()
        for variants in (drivers, pythons):
            reached = dict(now)
            for variant in variants:
                changes += self._gain(variant, reached)
            singly.update({group: max(best, singly.get(group, _NOTHING), key=lambda one: one.newness)
                           for group, best in reached.items()})
        for one, other in itertools.product(drivers, pythons[:_MOST_PYTHONS]):
            changes += self._gain(Variant(driver=one.driver, python=other.python), singly)
        return changes

    def _gain(self, variant: Variant, reached: Reached) -> list[Change]:
        """Return the change if it makes a newer release possible than what was reached, which it adds to."""
        gains = []
        for group in self._groups:
            better = self._newest(variant, group, reached.get(group, _NOTHING).newness)
            if better is not None:
                reached[group] = better
                gains.append(better.words)
        return [Change(change=self._words(variant), gains=tuple(gains))] if gains else []

    def _newest(self, variant: Variant, group: Group, above: Newness) -> Best | None:
        """Return the newest of a group that fits a variant and is newer than `above`; None, if none is."""
        stacks = self._newest_releases(self._judge(variant), group, above)
        if stacks:
            return Best(newness=_newness(stacks),
                        words=" with ".join(f"{stack.framework} {stack.version}" for stack in stacks))
        return self._newest_image(variant, group[0], above)

    def _newest_image(self, variant: Variant, framework: str, above: Newness) -> Best | None:
        """Return the newest image; it has a Python of its own, so that another one here changes nothing."""
        images = self._images.get(framework)
        if images is None or above[:1] == (_RELEASES,) or (variant.python and images.python is None):
            return None
        found = newest_that_fits(replace(images, python=variant.python or images.python),
                                 self._judge(replace(variant, python=None)), above[1:])
        return None if found is None else Best(newness=(_IMAGE, *found[1]), words=f"the image {found[0]}")

    def _newest_releases(self, judge: Judge, group: Group, above: Newness) -> tuple[Stack, ...]:
        """Return the newest; of a set none is older than in `above`, as that would be a loss, too."""
        if len(group) == 1:
            return next(self._fitting(judge, group[0], above), ())
        newest = tuple(one for name in group for one, in itertools.islice(self._fitting(judge, name, ()), 1))
        if len(newest) < len(group) or not _newness(newest) > above or any(
                _is_older(one, above, place) for place, one in enumerate(newest)):
            return ()
        if judge.fits(*newest):  # mostly so; then no other need be looked at
            return newest
        fitting = {name: [one for one, in self._fitting(judge, name, ()) if not _is_older(one, above, place)]
                   for place, name in enumerate(group)}
        if not all(fitting.values()):
            return ()
        sets = chosen_sets([Wish(framework=name) for name in group], fitting, judge)
        best = next((stacks for stacks, fits in sets if fits), ())
        return best if best and _newness(best) > above else ()

    def _fitting(self, judge: Judge, name: str, above: Newness) -> Iterator[tuple[Stack]]:
        for stack in self._stacks[name]:
            if not _newness((stack,)) > above:
                return
            if judge.fits(stack):
                yield (stack,)

    def _judge(self, variant: Variant) -> Judge:
        if variant not in self._judges:
            base, alike = self._base, None
            if variant.python is not None:
                base = ground_of(self._snapshot, self._database, variant.python, judged=self._base.database)
                alike = self._judge(Variant(driver=variant.driver))
            if variant.driver is not None:
                base = with_facts(base, {"driver": Known(value=variant.driver, source="a change")})
            self._judges[variant] = Judge(base, alike, nearby=self._judges[next(reversed(self._judges))])
        return self._judges[variant]

    def _words(self, variant: Variant) -> str:
        parts = []
        if variant.driver is not None:
            parts.append(f"{self._driver} {self._base.driver or 'none'} -> {variant.driver}")
        if variant.python is not None:
            parts.append(f"Python {self._base.place.python} -> {variant.python}")
        return " and ".join(parts)

    def _pythons(self) -> list[str]:
        """Return the Pythons that some release has wheels for, the nearest first, of two the newer."""
        here = versions.parse(self._base.place.python)
        listed = {python for stacks in self._stacks.values() for stack in stacks for python in stack.pythons}
        listed |= {python for images in self._images.values() if images.python is not None
                   for python in pythons_of(images, self._database.tables)}
        beside = [version for version in map(versions.parse, filter(can_be_made, listed)) if version != here]
        ordered = sorted(beside, key=lambda other: (other.major != here.major, abs(other.minor - here.minor),
                                                    -other.minor))
        is_set = len(self._groups[0]) > 1
        return [str(version) for version in ordered][:_MOST_PYTHONS if is_set else None]


def _driver_in_words(base: Ground) -> str:
    """Return whose driver is changed: there is never one inside WSL, nor one of a container."""
    if isinstance(base.fact("system.wsl"), Known):
        return "the driver in Windows"
    return "the host's driver" if isinstance(base.fact("container.runtime"), Known) else "driver"


def _newness(stacks: tuple[Stack, ...]) -> Newness:
    return _RELEASES, *(versions.parse(stack.version) for stack in stacks)


def _is_older(stack: Stack, reached: Newness, place: int) -> bool:
    """Return whether a release is older than the one in its place of what was reached; nothing is of none."""
    return len(reached) > 1 and _newness((stack,))[1:] < reached[place + 1:place + 2]
