"""Which release of a framework pip would take for what is asked, as far as the tables know."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gpudoctor import versions
from gpudoctor.derive import planned
from gpudoctor.derive.stacks import FRAMEWORKS, Stack, known_versions, stacks_of
from gpudoctor.frozen import frozen
from gpudoctor.manifests.statements import Asked
from gpudoctor.model import Tables

if TYPE_CHECKING:
    from packaging.requirements import Requirement

_FRAMEWORK_OF = {
    "tensorflow": "tensorflow", "tensorflow-cpu": "tensorflow", "torch": "torch", "jax": "jax",
    "paddlepaddle-gpu": "paddle"}
_CPU_PACKAGES = frozenset({"tensorflow-cpu", "paddlepaddle"})
_OF_GPU = re.compile(
    r"(?:cupy-cuda\w+|tensorflow-gpu|onnxruntime-gpu|paddlepaddle-gpu|jax-cuda\d+-\w+|faiss-gpu|pycuda|"
    r"flash-attn|tensorrt|nvidia-dali-cuda\d+|[a-z0-9-]+-cu1\d)\Z")
_CUDA_INDEX = re.compile(r"/whl/(?:nightly/|test/)?cu(\d{2,3})(?:/|\Z)")
_CPU_INDEX = re.compile(r"/whl/(?:nightly/|test/)?cpu(?:/|\Z)")
_OPEN_MINORS = 2
_LABEL = re.compile(r"\+cu(\d{2,3})")


@frozen
class Chosen:
    """A framework that is asked for, and what pip would take; None where nobody can say.

    `cuda` is the CUDA that an index or a label names. `build` is "cpu" where one for the CPU is asked for.
    """

    framework: str
    distribution: str
    asked: Asked
    requirement: Requirement
    stack: Stack | None
    build: str
    cuda: str | None = None

    @property
    def brings_libraries(self) -> bool:
        """Return whether pip installs the CUDA libraries that the release asks for."""
        return self.framework == "torch" or bool(self.stack and self.stack.extra in self.requirement.extras)


def requirement_of(asked: Asked) -> Requirement | None:
    """Return what is asked for as pip reads it."""
    return next(planned.parse((asked.text,)), None)


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
    return (*own, *asked.extra_indexes) if _is_torchs(asked) else ()


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
    index = asked.index if framework == "torch" else None
    cuda = f"{label[1][:-1]}.{label[1][-1]}" if label else cuda_of_index(index or "")
    is_cpu = name in _CPU_PACKAGES or "+cpu" in str(requirement.specifier) or bool(
        index and _CPU_INDEX.search(index))
    unsure = bool(asked.extra_indexes) or bool(asked.index and not (cuda or is_cpu))
    if framework == "jax":
        is_cpu = not any(extra.startswith("cuda") for extra in requirement.extras)
    stack = None if unsure and not label else _stack(framework, requirement, cuda, python, platform, tables)
    return Chosen(framework=framework, distribution=name, asked=asked, requirement=requirement, stack=stack,
                  build="cpu" if is_cpu else "cuda", cuda=cuda)


def _stack(framework: str, requirement: Requirement, cuda: str | None, python: str | None, platform: str,
           tables: Tables) -> Stack | None:
    """Return the newest release that is asked for and has a wheel."""
    for stack in stacks_of(framework, platform, tables):
        mine = stack.cuda == cuda if cuda else stack.index is None
        extra = next((extra for extra in requirement.extras if extra.startswith("cuda")), None)
        if framework == "jax" and extra is not None and stack.extra != extra.partition("-")[0]:
            continue
        if mine and admits(requirement, stack.version) and (python is None or python in stack.pythons):
            return stack
    return None


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

