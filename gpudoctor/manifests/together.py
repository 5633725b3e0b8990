"""What is installed of NVIDIA's packages: what frameworks need, what files pin, what excludes another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING

from packaging.specifiers import SpecifierSet

from gpudoctor import versions
from gpudoctor.derive import planned
from gpudoctor.derive.view import as_texts
from gpudoctor.frozen import frozen
from gpudoctor.manifests import releases
from gpudoctor.manifests.choices import Chosen
from gpudoctor.manifests.spans import Place
from gpudoctor.manifests.statements import Asked, Environment
from gpudoctor.versions import distribution_name

if TYPE_CHECKING:
    from packaging.requirements import Requirement

_LEAST, _JUST_ABOVE = "0", ".0.0.0.1"


@frozen
class Pin:
    """What is asked of one of NVIDIA's packages: by name, or by a constraint on what `asked` brings along."""

    asked: Asked
    requirement: Requirement
    written: str


def pins(environment: Environment, chosen: Sequence[Chosen]) -> tuple[Pin, ...]:
    """Return what files ask of NVIDIA's packages beside what the frameworks themselves do."""
    return (*_named(environment), *(pin for one in chosen for pin in _along(one)))


def _named(environment: Environment) -> Iterator[Pin]:
    for asked in environment.asked:
        requirement = releases.requirement_of(asked)
        if (requirement is not None and asked.tool != "conda"
                and distribution_name(requirement.name).startswith(releases.NVIDIA)
                and releases.applies(requirement, environment.python)):
            yield Pin(asked=asked, requirement=requirement, written=_written(asked.text, asked.place))


def _along(one: Chosen) -> Iterator[Pin]:
    """Yield the constraints on what a framework brings along; others bound what is not there."""
    brought = planned.names(needs(one))
    for bound in one.asked.along:
        for requirement in planned.parse((bound.text,)):
            if distribution_name(requirement.name) in brought:
                yield Pin(asked=one.asked, requirement=requirement, written=_written(bound.text, bound.place))


def _written(text: str, place: Place) -> str:
    return f"{text.strip()} ({place})"


def requirements(chosen: Sequence[Chosen], others: Sequence[Pin]) -> tuple[str, ...]:
    """Return what is asked for by frameworks and pins: the words of the last command last, which count.

    Within one command those of a framework do, for pip refuses a pin that they exclude.
    """
    found = [(pin.asked.command, str(pin.requirement)) for pin in others]
    found += [(one.asked.command, text) for one in chosen if one.stack is not None and not one.is_other
              for text in (*as_texts(one.stack.row.get("requires")), *needs(one))]
    return tuple(text for _, text in sorted(found, key=lambda pair: pair[0]))


def settled(chosen: Sequence[Chosen], others: Sequence[Pin]) -> tuple[Chosen, ...]:
    """Return choices; one that is not exact, and as the newest clashes with others, pip would take older."""
    unsure = {one.distribution for pair in combinations(chosen, 2) if clash(*pair) is not None
              for one in pair if not _is_exact(one)}
    unsure |= {one.distribution for one in chosen if not _is_exact(one)
               and any(excluded(one, pin) is not None for pin in others)}
    why = "is taken as new as what else is installed with it allows"
    return tuple(replace(one, supposed=one.supposed or why) if one.distribution in unsure else one
                 for one in chosen)


def contradictions(chosen: Sequence[Chosen], others: Sequence[Pin], environment: Environment
                   ) -> Iterator[tuple[Place, tuple[str, str]]]:
    """Yield what pip refuses to install beside an exact release, each at the later place, and why."""
    exact = [one for one in chosen if _is_exact(one)]
    for one, other in combinations(exact, 2):
        found = clash(one, other)
        if found is not None:
            yield other.asked.place, (f"{_written(one.asked.text, one.asked.place)} needs {found[0]}",
                                      f"{_written(other.asked.text, other.asked.place)} needs {found[1]}")
    for one in exact:
        more = _others_needed(one, environment.python)
        for pin in (*others, *_beside(one, environment)):
            need = None if one.asked.locked else excluded(one, pin, more)
            if need is not None:
                yield pin.asked.place, (
                    f"{_written(one.asked.text, one.asked.place)} needs {need}", pin.written)


def _beside(one: Chosen, environment: Environment) -> Iterator[Pin]:
    """Yield what is asked for of the packages that a framework needs besides NVIDIA's."""
    needed = planned.names(_others_needed(one, environment.python))
    for asked in environment.asked:
        requirement = releases.requirement_of(asked) if asked.tool != "conda" else None
        if (requirement is not None and distribution_name(requirement.name) in needed
                and releases.applies(requirement, environment.python)):
            yield Pin(asked=asked, requirement=requirement, written=_written(asked.text, asked.place))


def _others_needed(one: Chosen, python: str | None) -> Sequence[str]:
    """Return what a framework needs besides NVIDIA's packages, as far as it does with any Python.

    The tables have what is asked for with the newest; with an older one a lower bound is often lower, but
    not where the need is for one release (jaxlib<=0.5.0,>=0.5.0).
    """
    if one.stack is None or one.supposed or one.by_conda:
        return ()
    listed = releases.overridden(as_texts(one.stack.row.get("requires")), one.asked)
    if python is not None and one.stack.pythons[-1:] == (python,):
        return listed
    found = []
    for need in planned.parse(listed):
        ends = {bound.version for bound in need.specifier if bound.operator == "<="}
        kept = [str(bound) for bound in need.specifier
                if bound.operator not in (">", ">=") or bound.version in ends]
        found.append(f"{need.name}{','.join(kept)}")
    return tuple(found)


def clash(one: Chosen, other: Chosen) -> tuple[str, str] | None:
    """Return what two frameworks of one command need that excludes one another, None where nothing does."""
    if not _by_one_command(one.asked, other.asked):
        return None
    theirs = {distribution_name(need.name): need for need in planned.parse(needs(other))}
    for need in planned.parse(needs(one)):
        its = theirs.get(distribution_name(need.name))
        if its is not None and not can_meet(need.specifier, its.specifier):
            return f"{need.name}{need.specifier}", f"{its.name}{its.specifier}"
    return None


def excluded(one: Chosen, pin: Pin, more: Sequence[str] = ()) -> str | None:
    """Return what a framework needs, or `more`, that excludes a pin of the same command, else None."""
    if not _by_one_command(one.asked, pin.asked):
        return None
    name = distribution_name(pin.requirement.name)
    return next((f"{need.name}{need.specifier}" for need in planned.parse((*needs(one), *more))
                 if distribution_name(need.name) == name
                 and not can_meet(need.specifier, pin.requirement.specifier)), None)


def _by_one_command(one: Asked, other: Asked) -> bool:
    return one.command == other.command and (one.command > 0 or one.place.file == other.place.file)


def needs(one: Chosen) -> Sequence[str]:
    """Return what pip installs of NVIDIA's packages because a framework asks for it."""
    is_known = not (one.is_other or one.by_conda or one.build == "cpu") and one.brings_libraries
    listed = as_texts(one.stack.row.get("requires_nvidia")) if one.stack and is_known else ()
    return releases.overridden(listed, one.asked)


def _is_exact(one: Chosen) -> bool:
    return any(bound.operator in ("==", "===") and not bound.version.endswith("*")
               for bound in one.requirement.specifier)


def can_meet(one: SpecifierSet, other: SpecifierSet) -> bool:
    """Return whether a version may be in both: where one is, so is a bound, or what is just above one."""
    bounds = [bound.version.removesuffix(".*") for bound in (*one, *other)]
    try:
        above = [f"{versions.parse(bound).base_version}{_JUST_ABOVE}" for bound in bounds]
    except versions.Incomparable:
        return True
    return any(one.contains(version, prereleases=True) and other.contains(version, prereleases=True)
               for version in (_LEAST, *bounds, *above))
