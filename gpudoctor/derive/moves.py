"""Which framework is to move to an environment of its own, where two ask for packages with the same files."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from gpudoctor.derive import packages
from gpudoctor.derive.view import NotKnown, View, as_texts, text_in, text_of
from gpudoctor.model import Absent, Fact, Facts, Known

_FLAVOUR = re.compile(r"-cu([0-9]+)\Z")


def _moving(view: View, frameworks: Sequence[Facts]) -> tuple[tuple[str, ...], Facts]:
    """Return the colliding distributions of the oldest CUDA, and the one framework that asks for them."""
    shared = [name for name in as_texts(view.need("python.colliding_distributions")) if _FLAVOUR.search(name)]
    majors = sorted({int(match[1]) for name in shared if (match := _FLAVOUR.search(name))})
    if len(majors) < 2 or as_texts(view.need("python.colliding_unneeded")):
        raise NotKnown(Absent(source="no two frameworks ask for packages that own the same files"))
    going = tuple(name for name in shared if name.endswith(f"-cu{majors[0]}"))
    owners = [facts for facts in frameworks if packages.asked_for((facts,)) & set(going)]
    if len(owners) != 1 or "+" in text_of(owners[0], "framework.version"):
        raise NotKnown(Absent(source="it is not one published framework that asks for them"))
    return going, owners[0]


def moved_requirement(view: View, frameworks: Sequence[Facts]) -> Fact:
    """Return what pip is to install in the new environment."""
    _, facts = _moving(view, frameworks)
    extra = "[and-cuda]" if text_of(facts, "framework.name") == "tensorflow" else ""
    distribution, version = text_of(facts, "framework.distribution"), text_of(facts, "framework.version")
    return Known(value=f"{distribution}{extra}=={version}", source="requirements of the installed frameworks")


def moved_distributions(view: View, frameworks: Sequence[Facts]) -> Fact:
    """Return what leaves the old environment: the framework, and its packages that collide."""
    going, facts = _moving(view, frameworks)
    return Known(value=(text_of(facts, "framework.distribution"), *going), source="installed distributions")


def kept_requirements(view: View, frameworks: Sequence[Facts]) -> Fact:
    """Return the packages that stay and whose files pip must lay down again, with their versions."""
    going, _ = _moving(view, frameworks)
    installed = {text_in(r, "name"): text_in(r, "version")
                 for r in view.records("python.nvidia_distributions")}
    kept = [name for name in as_texts(view.need("python.colliding_distributions")) if name not in going]
    if any(name not in installed for name in kept):
        return Absent(source="the version of a package that stays is not known")
    return Known(value=tuple(f"{name}=={installed[name]}" for name in kept), source="installed distributions")


def derivations(frameworks: Sequence[Facts]) -> Mapping[str, Callable[[View], Fact]]:
    """Return the derivations of an environment with these frameworks."""
    return {
        "python.moved_requirement": lambda view: moved_requirement(view, frameworks),
        "python.moved_distributions": lambda view: moved_distributions(view, frameworks),
        "python.kept_requirements": lambda view: kept_requirements(view, frameworks),
    }
