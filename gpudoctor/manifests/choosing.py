"""Which releases of its frameworks an environment gets, with what else is asked for and its C library."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from gpudoctor import versions
from gpudoctor.candidates.ground import Ground
from gpudoctor.derive import planned
from gpudoctor.derive.stacks import Stack
from gpudoctor.derive.view import as_texts
from gpudoctor.manifests import choices, images
from gpudoctor.manifests.choices import Chosen
from gpudoctor.manifests.images import Base
from gpudoctor.manifests.jax_parts import parts_of
from gpudoctor.manifests.releases import admits, applies, overridden, requirement_of
from gpudoctor.manifests.statements import Asked, Environment
from gpudoctor.manifests.together import can_meet
from gpudoctor.model import Fact, Known
from gpudoctor.versions import distribution_name

if TYPE_CHECKING:
    from packaging.specifiers import SpecifierSet

_MOST_BOUNDS = 50
_MOST_COMMANDS = 50  # that install one distribution
_HELD = {"nvcr.io/nvidia/pytorch": "torch", "nvcr.io/nvidia/tensorflow": "tensorflow",
         "nvcr.io/nvidia/jax": "jax"}


def frameworks(environment: Environment, base: Base | None, ground: Ground) -> tuple[Chosen, ...]:
    """Return the distributions of frameworks that are installed, each once: its last word counts.

    What an earlier command installed stays there where it meets that.
    """
    python, tables = environment.python, ground.database.tables
    beside, glibc = parts_of(environment.asked, python), _glibc(environment, base, ground)
    bounds = _bounds(environment)
    found: dict[str, Chosen] = {}
    for asked in _last_words(environment.asked, python):
        one = choices.chosen_of(asked, python, ground.platform, tables, beside,
                                _admission(asked, bounds.get(asked.command, {}), glibc))
        if one is not None and not _is_met(one, found.get(one.distribution)):
            found.pop(one.distribution, None)
            found[one.distribution] = one
    return tuple(one for one in found.values() if not _is_there(one, environment, base))


def _last_words(every: Sequence[Asked], python: str | None) -> Iterator[Asked]:
    """Yield what each command says last of a distribution here, of the last commands that do so."""
    last: dict[str, dict[tuple[int, bool], tuple[int, Asked]]] = {}  # a file may name one thousands of times
    for at in range(len(every) - 1, -1, -1):
        requirement = requirement_of(every[at])
        if requirement is not None and applies(requirement, python):
            own = last.setdefault(distribution_name(requirement.name), {})
            if len(own) < _MOST_COMMANDS:
                own.setdefault((every[at].command, every[at].tool == "conda"), (at, every[at]))
    kept = sorted((pair for own in last.values() for pair in own.values()), key=lambda pair: pair[0])
    yield from (asked for _, asked in kept)


def _is_met(one: Chosen, before: Chosen | None) -> bool:
    """Say whether an installer leaves a release that another command installed, as that will do.

    pip finds what conda has installed before, whichever of its builds that is.
    """
    if before is None or before.stack is None:
        return False
    is_condas = before.by_conda and not one.by_conda and (
        one.asked.into is not None or one.asked.command == before.asked.command)
    return ((is_condas or (not before.supposed and one.asked.into is not None
                           and one.asked.into == before.asked.into))
            and not one.asked.locked and one.requirement.extras <= before.requirement.extras
            and "+" not in str(one.requirement.specifier) and admits(one.requirement, before.stack.version))


def _is_there(one: Chosen, environment: Environment, base: Base | None) -> bool:
    """Say whether the image has a release for CUDA that meets what is asked for: an installer leaves it."""
    if base is None or environment.alters_python or not one.asked.is_kept or one.requirement.extras:
        return False
    asked = one.requirement.specifier
    if base.name in _HELD:  # which release it is these rules may not know
        return one.distribution == _HELD[base.name] and not asked
    framework, version = base.release or ("", "")
    return base.build == "cuda" and framework == one.distribution and (not asked or (
        bool(version) and "+" not in str(asked) and asked.contains(version)))


def _glibc(environment: Environment, base: Base | None, ground: Ground) -> str | None:
    """Return the GNU C library that wheels are chosen for, None where it is not known."""
    fact: Fact | None = ground.snapshot.host.get("system.glibc")
    if environment.in_container:
        fact = images.glibc(base, ground.database.tables) if base is not None else None
    return str(fact.value) if isinstance(fact, Known) else None


def _admission(asked: Asked, beside: Mapping[str, SpecifierSet], glibc: str | None
               ) -> Callable[[Stack], bool]:
    """Return whether pip can take a release: it goes back to one whose wheel and requirements do fit."""
    def is_admitted(stack: Stack) -> bool:
        needed = stack.row.get("glibc")
        if glibc is not None and needed is not None and versions.parse(str(needed)) > versions.parse(glibc):
            return False
        needs = planned.parse(overridden(as_texts(stack.row.get("requires")), asked))
        return all(can_meet(need.specifier, beside[name]) for need in needs
                   if (name := distribution_name(need.name)) in beside)

    return is_admitted


def _bounds(environment: Environment) -> dict[int, dict[str, SpecifierSet]]:
    """Return the bounds of what each command installs; of a package that is named often, the first ones."""
    found: dict[int, dict[str, SpecifierSet]] = {}
    for one in environment.asked:
        requirement = requirement_of(one) if one.tool != "conda" else None
        if requirement is not None and requirement.specifier and applies(requirement, environment.python):
            own, name = found.setdefault(one.command, {}), distribution_name(requirement.name)
            if len(own.get(name, ())) < _MOST_BOUNDS:
                own[name] = own[name] & requirement.specifier if name in own else requirement.specifier
    return found


def kept_for_cpu(chosen: Sequence[Chosen]) -> tuple[Chosen, ...]:
    """Return those that are meant to be for the CPU, beside another framework that is not."""
    others = {one.framework for one in chosen if not one.is_meant_for_cpu}
    names = [one.framework for one in chosen]
    return tuple(one for one in chosen if one.is_meant_for_cpu and others - {one.framework}
                 and names.count(one.framework) == 1)
