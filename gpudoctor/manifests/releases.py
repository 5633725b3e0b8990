"""Which release of a framework pip would take for what is asked, as far as the tables know."""

from __future__ import annotations

import re
from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING

from gpudoctor import versions
from gpudoctor.candidates.stacks import FRAMEWORKS, Stack, known_versions, stacks_of
from gpudoctor.derive import planned
from gpudoctor.frozen import frozen
from gpudoctor.manifests.statements import Asked
from gpudoctor.model import Tables

if TYPE_CHECKING:
    from packaging.requirements import Requirement

_FRAMEWORK_OF = {
    "tensorflow": "tensorflow", "tensorflow-cpu": "tensorflow", "tensorflow-gpu": "tensorflow",
    "torch": "torch", "jax": "jax", "paddlepaddle": "paddle", "paddlepaddle-gpu": "paddle"}
_CPU_PACKAGES = frozenset({"tensorflow-cpu", "paddlepaddle"})
_OF_GPU = re.compile(
    r"(?:cupy-cuda\w+|tensorflow-gpu|onnxruntime-gpu|paddlepaddle-gpu|jax-cuda\d+-\w+|faiss-gpu|pycuda|"
    r"flash-attn|tensorrt|nvidia-dali-cuda\d+|[a-z0-9-]+-cu1\d)\Z")
_CUDA_INDEX = re.compile(r"/whl/(?:nightly/|test/)?cu(\d{2,3})(?:/|\Z)")
_CPU_INDEX = re.compile(r"/whl/(?:nightly/|test/)?cpu(?:/|\Z)")
_PYTORCHS = re.compile(r"https?://download\.pytorch\.org/")  # has nothing but its own
_OPEN_MINORS = 2
_LABEL = re.compile(r"\+cu(\d{2,3})")


@frozen
class Chosen:
    """A framework that is asked for, and what pip would take; None where nobody can say.

    `cuda` is the CUDA that an index or a label names. `build` is "cpu" where one for the CPU is asked for.
    `supposed` says why `stack` is only what comes nearest, "" where it is what is asked for. `is_other`: it
    is this release for another CUDA than the tables have it for, so its device code is not known.
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

    @property
    def by_conda(self) -> bool:
        """Return whether conda installs it, with libraries of its own."""
        return self.asked.tool == "conda"

    @property
    def needs_system(self) -> bool:
        """Return whether pip has no way to bring its CUDA libraries."""
        return self.build != "cpu" and not self.brings_libraries and not (self.stack and self.stack.extra)

    @property
    def brings_libraries(self) -> bool:
        """Return whether the CUDA libraries that the release asks for are installed with it."""
        return self.framework == "torch" or self.by_conda or bool(
            self.stack and self.stack.extra in {_extra(extra) for extra in self.requirement.extras})


def _extra(written: str) -> str:
    """Return an extra by the name that it has today: cuda12_pip is cuda12."""
    return re.sub(r"[-_]pip\Z", "", written)


def requirement_of(asked: Asked) -> Requirement | None:
    """Return what is asked for as pip reads it, constraints included."""
    found = next(planned.parse((asked.text,)), None)
    if found is None or not asked.bounds:
        return found
    from packaging.specifiers import SpecifierSet

    whole = copy(found)
    whole.specifier = found.specifier & SpecifierSet(",".join(asked.bounds))
    return whole


def wants_gpu(asked: Asked) -> str:
    """Return why a requirement shows that a GPU is meant to be used, "" where it does not."""
    requirement = requirement_of(asked)
    if requirement is None:
        return ""
    name = requirement.name.lower().replace("_", "-")
    if any(extra.startswith(("cuda", "and-cuda", "gpu")) for extra in requirement.extras):
        return f"{asked.text} asks for CUDA"
    if _OF_GPU.match(name):
        return f"{requirement.name} is for GPUs"
    if _LABEL.search(asked.text) or any(_CUDA_INDEX.search(index) for index in _indexes(asked)):
        return f"{asked.text} comes from an index for CUDA"
    return ""


def _indexes(asked: Asked) -> tuple[str, ...]:
    own = (asked.index,) if asked.index else ()
    return (*own, *asked.extra_indexes, *asked.links) if _is_torchs(asked) else ()


def _is_torchs(asked: Asked) -> bool:
    requirement = requirement_of(asked)
    return requirement is not None and requirement.name.lower() in ("torch", "torchvision", "torchaudio")


def cuda_of_index(address: str) -> str | None:
    """Return the CUDA that an index of PyTorch is for: 12.4 of .../whl/cu124."""
    match = _CUDA_INDEX.search(address)
    return f"{match[1][:-1]}.{match[1][-1]}" if match else None


def chosen_of(asked: Asked, python: str | None, platform: str, tables: Tables) -> Chosen | None:
    """Return the framework that a requirement asks for, None where it asks for something else."""
    requirement = requirement_of(asked)
    if requirement is None or asked.no_dependencies:
        return None
    name = requirement.name.lower().replace("_", "-")
    framework = _FRAMEWORK_OF.get(name)
    if framework is None or not applies(requirement, python):
        return None
    label = _LABEL.search(str(requirement.specifier))
    extras = [_extra(extra) for extra in requirement.extras if extra.startswith("cuda")]
    is_cpu = name in _CPU_PACKAGES or "+cpu" in str(requirement.specifier) or asked.build == "cpu" or bool(
        framework == "torch" and asked.index and _CPU_INDEX.search(asked.index))
    if framework == "jax":
        is_cpu = not extras if asked.tool != "conda" else is_cpu
    mine = [stack for stack in stacks_of(framework, platform, tables)
            if not (extras and framework == "jax") or stack.extra == extras[0].partition("-")[0]]
    blank = Chosen(framework=framework, distribution=name, asked=asked, requirement=requirement, stack=None,
                   build="cpu" if is_cpu else "cuda")
    if asked.tool == "conda":
        return _of_conda(blank, mine)
    ended = placeholder_of(name, tables)
    if ended is not None:  # the releases before that one were real
        if admits(requirement, ended):
            return None
        mine = [stack for stack in mine if versions.parse(stack.version) < versions.parse(ended)]
    usable = [stack for stack in mine if python is None or not stack.pythons or python in stack.pythons]
    found = _labelled(blank, _dotted(label[1]), usable) if label is not None else _from_indexes(blank, usable)
    if found.supposed and any(admits(requirement, stack.version) for stack in mine) and not any(
            admits(requirement, stack.version) for stack in usable):
        return replace(found, stack=None, supposed="")  # it is there, but not for this Python
    return found


def placeholder_of(name: str, tables: Tables) -> str | None:
    """Return the release of a package that is there only to say that it has ended."""
    table = tables.get("placeholder_distributions")
    return next((str(row["version"]) for row in (table.rows if table else ())
                 if row["distribution"] == name), None)


def _labelled(one: Chosen, cuda: str, stacks: Sequence[Stack]) -> Chosen:
    """Return the build for one CUDA; where the tables have only another one of the release, that one."""
    found = _taken(replace(one, cuda=cuda), [stack for stack in stacks if stack.cuda == cuda])
    exact = any(bound.operator in ("==", "===") for bound in one.requirement.specifier)
    if found.stack is not None or not exact:
        return found
    return replace(_taken(found, [stack for stack in stacks if stack.index is None]), is_other=True)


def _dotted(digits: str) -> str:
    return f"{digits[:-1]}.{digits[-1]}"


def _taken(one: Chosen, stacks: Sequence[Stack], supposed: str = "") -> Chosen:
    """Return a choice with the newest stack that it admits, or the newest where it asks for a newer one."""
    found = next((stack for stack in stacks if admits(one.requirement, stack.version)), None)
    newest = next((each for each in stacks if not each.is_prerelease), None)
    if found is None and newest is not None and not supposed and _is_beyond(one.requirement, newest.version):
        return replace(one, stack=newest, supposed="is newer than these rules")
    return replace(one, stack=found, supposed=supposed if found else "")


def _is_beyond(requirement: Requirement, version: str) -> bool:
    """Return whether a requirement asks for something newer than a version, and nothing else."""
    lower = [bound.version.removesuffix(".*") for bound in requirement.specifier
             if bound.operator in (">=", "==", "~=", ">", "===")]
    try:
        return any(versions.parse(bound.partition("+")[0]) >= versions.parse(version) for bound in lower)
    except versions.Incomparable:
        return False


def _from_indexes(one: Chosen, stacks: Sequence[Stack]) -> Chosen:
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
    if not beside:
        return _taken(one, default, supposed)
    found = _taken(one, default, supposed)
    if one.framework != "torch" or one.build == "cpu":
        return replace(found, supposed=found.supposed or _beside(beside)) if found.stack else found
    if any(_CPU_INDEX.search(address) for address in beside):
        return replace(found, build="cpu", supposed=(
            "may come from the index for the CPU that is named beside the default one"))
    cuda = [number for address in beside if (number := cuda_of_index(address)) is not None]
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
    is_recent = versions.parse(labelled.stack.version).release[:2] in minors[:_OPEN_MINORS + 1]
    return replace(found, supposed=f"may come from the index for CUDA {cuda[0]}, if that has it by now"
                   if is_recent else "")


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


def admits(requirement: Requirement, version: str) -> bool:
    """Return whether pip would take a version: pre-releases only where one is named."""
    bounds = [str(bound).partition("+")[0] for bound in requirement.specifier]
    named = any("rc" in bound or "dev" in bound or "a" in bound or "b" in bound for bound in bounds)
    try:
        is_early = versions.parse(version).is_prerelease
        return (named or not is_early) and all(versions.within(version, bound) for bound in bounds)
    except versions.Incomparable:
        return False


def applies(requirement: Requirement, python: str | None) -> bool:
    """Return whether a requirement counts on Linux with that Python; not where that cannot be said."""
    if requirement.marker is None:
        return True
    from packaging.markers import UndefinedComparison, UndefinedEnvironmentName

    if python is None and "python" in str(requirement.marker):
        return False
    environment = {"sys_platform": "linux", "platform_system": "Linux", "os_name": "posix", "extra": "",
                   "platform_machine": "x86_64"}
    if python is not None:
        environment.update(python_version=python, python_full_version=f"{python}.0")
    try:
        return requirement.marker.evaluate(environment)
    except (UndefinedComparison, UndefinedEnvironmentName):
        return False


# -- what no release meets ---------------------------------------------------------------------------------


def frameworks_asked(asked: Sequence[Asked], python: str | None) -> dict[str, list[Asked]]:
    """Return the requirements on each framework with releases that the tables list, in their order."""
    found: dict[str, list[Asked]] = {}
    for one in asked:
        requirement = requirement_of(one)
        name = requirement.name.lower() if requirement else ""
        if name in FRAMEWORKS and requirement and applies(requirement, python) and not one.index:
            found.setdefault(name, []).append(one)
    return found


def missing(framework: str, one: Asked, tables: Tables) -> tuple[str, ...] | None:
    """Return the releases nearest to one that was never published; None where it was, or may yet be.

    A version beyond the newest known is left alone: the rules may be older than it.
    """
    requirement = requirement_of(one)
    exact = [one for one in requirement.specifier if one.operator in ("==", "===")] if requirement else []
    if not requirement or len(exact) != 1 or exact[0].version.endswith("*"):
        return None
    known = known_versions(framework, tables)
    try:
        wanted = versions.parse(exact[0].version.partition("+")[0])
    except versions.Incomparable:
        return None
    final = [version for version in known if not versions.parse(version).is_prerelease]
    if not final or wanted.is_prerelease or wanted.is_postrelease:
        return None
    minors = sorted({versions.parse(version).release[:2] for version in final}, reverse=True)
    open_ = minors[:_OPEN_MINORS]  # of these a patch may have been released since
    if not versions.parse(final[-1]) < wanted < versions.parse(final[0]) or wanted.release[:2] in open_:
        return None
    if any(versions.parse(version) == wanted for version in known):
        return None
    below = [version for version in final if versions.parse(version) < wanted][:2]
    above = [version for version in final if versions.parse(version) > wanted][-1:]
    return (*above, *below)

