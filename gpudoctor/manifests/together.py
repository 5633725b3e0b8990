"""Frameworks that one command installs: whether what each needs of NVIDIA's packages can be had together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations

from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from gpudoctor.derive import planned
from gpudoctor.derive.view import as_texts
from gpudoctor.manifests.choices import Chosen


def settled(chosen: Sequence[Chosen]) -> tuple[Chosen, ...]:
    """Return choices; one that is not exact, and as the newest clashes with another, pip would take older."""
    unsure = {one.distribution for pair in combinations(chosen, 2) if clash(*pair) is not None
              for one in pair if not _is_exact(one)}
    why = "is taken as new as what else is installed with it allows"
    return tuple(replace(one, supposed=one.supposed or why) if one.distribution in unsure else one
                 for one in chosen)


def contradictions(chosen: Sequence[Chosen]) -> Iterator[tuple[Chosen, tuple[str, str]]]:
    """Yield each two exact releases that pip refuses to install together, the later one first, and why."""
    for one, other in combinations(chosen, 2):
        found = clash(one, other) if _is_exact(one) and _is_exact(other) else None
        if found is not None:
            yield other, (f"{one.asked.text.strip()} ({one.asked.place}) needs {found[0]}",
                          f"{other.asked.text.strip()} ({other.asked.place}) needs {found[1]}")


def clash(one: Chosen, other: Chosen) -> tuple[str, str] | None:
    """Return what two frameworks of one command need that excludes one another, None where nothing does."""
    if one.asked.command != other.asked.command or one.asked.place.file != other.asked.place.file:
        return None
    theirs = {canonicalize_name(need.name): need for need in planned.parse(_needs(other))}
    for need in planned.parse(_needs(one)):
        its = theirs.get(canonicalize_name(need.name))
        if its is not None and not _meet(need.specifier, its.specifier):
            return f"{need.name}{need.specifier}", f"{its.name}{its.specifier}"
    return None


def _needs(one: Chosen) -> Sequence[str]:
    is_known = not (one.is_other or one.by_conda or one.build == "cpu") and one.brings_libraries
    return as_texts(one.stack.row.get("requires_nvidia")) if one.stack and is_known else ()


def _is_exact(one: Chosen) -> bool:
    return any(bound.operator in ("==", "===") and not bound.version.endswith("*")
               for bound in one.requirement.specifier)


def _meet(one: SpecifierSet, other: SpecifierSet) -> bool:
    """Return whether a version may be in both: one of the versions that they name."""
    named = [bound.version.removesuffix(".*") for bound in (*one, *other)]
    return not named or any(one.contains(version) and other.contains(version) for version in named)
