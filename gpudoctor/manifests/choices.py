"""Which build of a framework an installer would take of the indexes and channels that it is given."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING

from gpudoctor import versions
from gpudoctor.derive.stacks import HOLDING_CUDA, Stack, stacks_of
from gpudoctor.frozen import frozen
from gpudoctor.manifests import jax_extras, torch_indexes
from gpudoctor.manifests.jax_parts import LOCAL, JaxParts
from gpudoctor.manifests.releases import (
    LABEL, OPEN_MINORS, admits, applies, cuda_of_index, newest_before, placeholder_of, requirement_of,
)
from gpudoctor.manifests.statements import Asked
from gpudoctor.model import Tables
from gpudoctor.versions import distribution_name

if TYPE_CHECKING:
    from packaging.requirements import Requirement

FRAMEWORK_OF = {
    "tensorflow": "tensorflow", "tensorflow-cpu": "tensorflow", "tensorflow-gpu": "tensorflow",
    "torch": "torch", "jax": "jax", "paddlepaddle": "paddle", "paddlepaddle-gpu": "paddle"}
_CPU_PACKAGES = frozenset({"tensorflow-cpu", "paddlepaddle"})
_NOTHING_BESIDE = JaxParts()
_CPU_INDEX = re.compile(r"/whl/(?:nightly/|test/)?cpu(?:/|\Z)")
_PYTORCHS = re.compile(r"https?://download\.pytorch\.org/")  # has nothing but its own


@frozen
class Chosen:
    """A framework that is asked for, and what pip would take; None where nobody can say.

    `cuda` is the CUDA that an index or a label names. `build` is "cpu" where one for the CPU is asked for.
    `supposed` says why `stack` is only what comes nearest, "" where it is what is asked for. `is_other`: it
    is this release for another CUDA than the tables have it for, so its device code is not known.
    `is_newer`: what is asked for is newer than all that the tables have, for whatever Python and platform.
    """

    framework: str
    distribution: str
    asked: Asked
    requirement: Requirement
    stack: Stack | None
    build: str
    cuda: str | None = None
    supposed: str = ""
    is_other: bool = False
    is_newer: bool = False

    @property
    def by_conda(self) -> bool:
        """Return whether conda installs it, with libraries of its own."""
        return self.asked.tool == "conda"

    @property
    def is_meant_for_cpu(self) -> bool:
        """Return whether it is for the CPU by its name, label or index, or is asked for by no file."""
        return self.build == "cpu" and bool(
            self.asked.is_brought or self.distribution.endswith("-cpu") or "cpu" in self.requirement.extras
            or "+cpu" in str(self.requirement.specifier) or _CPU_INDEX.search(self.asked.index or ""))

    @property
    def is_measured(self) -> bool:
        """Return whether the device code of this very build is known."""
        return self.stack is not None and self.stack.is_measured and not self.is_other

    @property
    def needs_system(self) -> bool:
        """Return whether pip has no way to bring its CUDA libraries, or is told not to."""
        is_local = any(extra.endswith(LOCAL) for extra in self.requirement.extras)
        return self.build != "cpu" and not self.brings_libraries and (
            is_local or not (self.stack and self.stack.extra))

    @property
    def brings_libraries(self) -> bool:
        """Return whether the CUDA libraries that the release asks for are installed with it."""
        return self.framework in HOLDING_CUDA or self.by_conda or bool(
            self.stack and self.stack.extra in {_extra(extra) for extra in self.requirement.extras})


def _extra(written: str) -> str:
    """Return an extra by the name that it has today: cuda12_pip is cuda12."""
    return re.sub(r"[-_]pip\Z", "", written)


def chosen_of(asked: Asked, python: str | None, platform: str, tables: Tables,
              beside: JaxParts = _NOTHING_BESIDE, is_admitted: Callable[[Stack], bool] = lambda _: True
              ) -> Chosen | None:
    """Return the framework that a requirement asks for, None where it asks for something else.

    `beside` is what the same environment has of JAX's parts. Of a bound the newest release counts that
    `is_admitted`, if there is one.
    """
    requirement = requirement_of(asked)
    if requirement is None or asked.no_dependencies:
        return None
    name = distribution_name(requirement.name)
    framework = FRAMEWORK_OF.get(name)
    if framework is None or not applies(requirement, python):
        return None
    label = LABEL.search(str(requirement.specifier))
    is_cpu = name in _CPU_PACKAGES or "+cpu" in str(requirement.specifier) or asked.build == "cpu" or bool(
        framework == "torch" and asked.index and _CPU_INDEX.search(asked.index))
    extras: list[str] = []
    if framework == "jax" and asked.tool != "conda":
        extras = jax_extras.brought(requirement, python, platform, tables, admits) or (
            [beside.extra] if beside.extra else [])
        requirement, is_cpu = copy(requirement), not extras
        requirement.extras = {*extras, *(one for one in requirement.extras if not one.startswith("cuda"))}
    mine = [stack for stack in stacks_of(framework, platform, tables)
            if not extras or stack.extra == extras[0].partition("-")[0]]
    blank = Chosen(framework=framework, distribution=name, asked=asked, requirement=requirement, stack=None,
                   build="cpu" if is_cpu else "cuda",
                   is_newer=newest_before(framework, asked, tables) is not None)
    if asked.tool == "conda":
        return _of_conda(blank, mine)
    if framework == "jax" and beside.by_label:
        return replace(_taken(blank, [stack for stack in mine if stack.index is None]), is_other=True)
    ended = placeholder_of(name, tables)
    if ended is not None:  # the releases before that one were real
        if admits(requirement, ended):
            return None
        mine = [stack for stack in mine if versions.parse(stack.version) < versions.parse(ended)]
    usable = [stack for stack in mine if python is None or not stack.pythons or python in stack.pythons]
    usable = _preferred(usable, requirement, is_admitted)
    if framework == "torch" and not is_cpu and torch_indexes.is_of_no_cuda(asked, tables):
        return blank
    found = _labelled(blank, _dotted(label[1]), usable) if label is not None else _from_indexes(
        blank, usable, tables)
    if found.supposed and any(admits(requirement, stack.version) for stack in mine) and not any(
            admits(requirement, stack.version) for stack in usable):
        return replace(found, stack=None, supposed="")  # it is there, but not for this Python
    return found


def _preferred(stacks: Sequence[Stack], requirement: Requirement, is_admitted: Callable[[Stack], bool]
               ) -> list[Stack]:
    """Return the stacks without those before which pip turns back, where others meet the requirement."""
    passed: list[Stack] = []
    for stack in stacks:
        if admits(requirement, stack.version):
            if is_admitted(stack):
                return [one for one in stacks if one not in passed] if passed else list(stacks)
            passed.append(stack)
    return list(stacks)


def _labelled(one: Chosen, cuda: str, stacks: Sequence[Stack]) -> Chosen:
    """Return the build for one CUDA; where the tables have only another one of the release, that one."""
    found = _taken(replace(one, cuda=cuda), [stack for stack in stacks if stack.cuda == cuda])
    exact = any(bound.operator in ("==", "===") for bound in one.requirement.specifier)
    is_there = any(admits(one.requirement, stack.version) for stack in stacks)  # for another CUDA, at least
    if (found.stack is not None and not (found.supposed and is_there)) or not exact:
        return found
    return replace(_taken(replace(found, supposed=""), [one for one in stacks if one.index is None]),
                   is_other=True)


def _dotted(digits: str) -> str:
    return f"{digits[:-1]}.{digits[-1]}"


def _taken(one: Chosen, stacks: Sequence[Stack], supposed: str = "") -> Chosen:
    """Return a choice with the newest stack that it admits, or the newest where it asks for a newer one."""
    found = next((stack for stack in stacks if admits(one.requirement, stack.version)), None)
    newest = next((each for each in stacks if not each.is_prerelease), None)
    if found is None and newest is not None and not supposed and one.is_newer:
        return replace(one, stack=newest, supposed="is newer than these rules")
    return replace(one, stack=found, supposed=supposed if found else "")


def _from_indexes(one: Chosen, stacks: Sequence[Stack], tables: Tables) -> Chosen:
    """Return what pip or uv takes of the default index, another in its place, and those beside it.

    What an index has of which nothing is known is supposed to be what the default one has.
    """
    asked = one.asked
    default = [stack for stack in stacks if stack.index is None]
    own = cuda_of_index(asked.index or "") if one.framework == "torch" else None
    beside = [address for address in (*asked.extra_indexes, *asked.links)
              if one.framework == "torch" or not _PYTORCHS.match(address)]
    if own is not None:
        return _labelled(one, own, stacks)
    is_foreign = bool(asked.index) and one.build != "cpu"
    supposed = f"comes from {asked.index}, of which nothing is known" if is_foreign else ""
    if not beside or "+cpu" in str(one.requirement.specifier):
        return _taken(one, default, supposed)
    found = _taken(one, default, supposed)
    if one.framework != "torch" or one.build == "cpu":
        return replace(found, supposed=found.supposed or _beside(beside)) if found.stack else found
    if any(_CPU_INDEX.search(address) for address in beside):
        # uv takes what is beside the default index, pip 2.5.1+cpu before 2.5.1
        is_sure = found.stack is not None and (asked.tool == "uv" or _is_exact(one.requirement))
        return replace(found, build="cpu", supposed="" if is_sure else (
            "may come from the index for the CPU that is named beside the default one"))
    cuda = [number for address in beside if (number := cuda_of_index(address)) is not None
            and torch_indexes.names_cuda(f"cu{number.replace('.', '')}", tables)]
    if not cuda:
        return replace(found, supposed=found.supposed or _beside(beside)) if found.stack else found
    labelled = _labelled(one, cuda[0], stacks)
    if labelled.stack is None:
        return replace(found, supposed=found.supposed or (
            f"may come from the index for CUDA {cuda[0]}, of which these rules know no such release"))
    if found.stack is None or found.supposed or asked.tool == "uv" or (
            not _is_newer(found.stack, labelled.stack)):
        return labelled
    minors = sorted({versions.parse(stack.version).release[:2] for stack in default}, reverse=True)
    is_recent = versions.parse(labelled.stack.version).release[:2] in minors[:OPEN_MINORS + 1]
    return replace(found, supposed=f"may come from the index for CUDA {cuda[0]}, if that has it by now"
                   if is_recent else "")


def _is_exact(requirement: Requirement) -> bool:
    return any(bound.operator == "==" and not bound.version.endswith("*") for bound in requirement.specifier)


def _is_newer(one: Stack, other: Stack) -> bool:
    return versions.parse(one.version) > versions.parse(other.version)


def _beside(addresses: Sequence[str]) -> str:
    return f"may come from {addresses[0]} as well, of which nothing is known"


def _of_conda(one: Chosen, stacks: Sequence[Stack]) -> Chosen:
    """Return conda's build of a release: its neighbours say its CUDA, its device code nobody knows."""
    own = [stack for stack in stacks if stack.index is None]
    known = replace(_taken(replace(one, cuda=one.asked.cuda), own), is_other=True)
    if one.asked.build:
        return known
    return replace(known, build="cpu", supposed=(
        "may become the CPU variant, which conda takes where it sees no driver, as in docker build"))
