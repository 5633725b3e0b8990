"""Which releases of its frameworks an environment gets, with what else is asked for and its C library."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from packaging.utils import canonicalize_name

from gpudoctor import versions
from gpudoctor.candidates.ground import Ground
from gpudoctor.derive import planned
from gpudoctor.derive.stacks import Stack
from gpudoctor.derive.view import as_texts
from gpudoctor.manifests import choices, images
from gpudoctor.manifests.choices import Chosen
from gpudoctor.manifests.images import Base
from gpudoctor.manifests.jax_parts import parts_of
from gpudoctor.manifests.releases import applies, overridden, requirement_of
from gpudoctor.manifests.statements import Asked, Environment
from gpudoctor.manifests.together import can_meet
from gpudoctor.model import Fact, Known

if TYPE_CHECKING:
    from packaging.specifiers import SpecifierSet


def frameworks(environment: Environment, base: Base | None, ground: Ground) -> tuple[Chosen, ...]:
    """Return the distributions of frameworks that are installed, each once: its last word counts."""
    python, tables = environment.python, ground.database.tables
    beside, glibc = parts_of(environment.asked, python), _glibc(environment, base, ground)
    found: dict[str, Chosen] = {}
    for asked in environment.asked:
        one = choices.chosen_of(asked, python, ground.platform, tables, beside,
                                _admission(asked, environment, glibc))
        if one is not None:
            found[one.distribution] = one
    return tuple(found.values())


def _glibc(environment: Environment, base: Base | None, ground: Ground) -> str | None:
    """Return the GNU C library that wheels are chosen for, None where it is not known."""
    fact: Fact | None = ground.snapshot.host.get("system.glibc")
    if environment.in_container:
        fact = images.glibc(base, ground.database.tables) if base is not None else None
    return str(fact.value) if isinstance(fact, Known) else None


def _admission(asked: Asked, environment: Environment, glibc: str | None) -> Callable[[Stack], bool]:
    """Return whether pip can take a release: it goes back to one whose wheel and requirements do fit."""
    beside = _beside(asked, environment)

    def is_admitted(stack: Stack) -> bool:
        needed = stack.row.get("glibc")
        if glibc is not None and needed is not None and versions.parse(str(needed)) > versions.parse(glibc):
            return False
        needs = planned.parse(overridden(as_texts(stack.row.get("requires")), asked))
        return all(can_meet(need.specifier, beside[name]) for need in needs
                   if (name := canonicalize_name(need.name)) in beside)

    return is_admitted


def _beside(asked: Asked, environment: Environment) -> Mapping[str, SpecifierSet]:
    """Return the bounds of what the same command installs."""
    found: dict[str, SpecifierSet] = {}
    for one in environment.asked:
        requirement = requirement_of(one) if one.command == asked.command and one.tool != "conda" else None
        if requirement is not None and requirement.specifier and applies(requirement, environment.python):
            name = str(canonicalize_name(requirement.name))
            found[name] = found[name] & requirement.specifier if name in found else requirement.specifier
    return found


def kept_for_cpu(chosen: Sequence[Chosen]) -> tuple[Chosen, ...]:
    """Return those that are meant to be for the CPU, beside another framework that is not."""
    others = {one.framework for one in chosen if not one.is_meant_for_cpu}
    names = [one.framework for one in chosen]
    return tuple(one for one in chosen if one.is_meant_for_cpu and others - {one.framework}
                 and names.count(one.framework) == 1)
