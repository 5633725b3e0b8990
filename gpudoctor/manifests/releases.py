"""Which release of a framework pip would take for what is asked, as far as the tables know."""

from __future__ import annotations

import re
from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING

from gpudoctor import versions
from gpudoctor.derive import planned, published
from gpudoctor.derive.stacks import known_versions
from gpudoctor.derive.view import as_texts
from gpudoctor.frameworks import FRAMEWORKS
from gpudoctor.frozen import frozen
from gpudoctor.manifests.statements import Asked
from gpudoctor.model import Row, Tables, row_of, rows_of
from gpudoctor.versions import distribution_name

if TYPE_CHECKING:
    from packaging.requirements import Requirement

_OF_GPU = re.compile(
    r"(?:cupy-cuda\w+|tensorflow-gpu|onnxruntime-gpu|paddlepaddle-gpu|jax-cuda[0-9]+-\w+|faiss-gpu|pycuda|"
    r"flash-attn|tensorrt|nvidia-dali-cuda[0-9]+|[a-z0-9-]+-cu1[0-9])\Z")
_CUDA_INDEX = re.compile(r"/whl/(?:nightly/|test/)?cu([0-9]{1,9})(?:/|\Z)")
PYTORCHS_OWN = re.compile(r"https?://download\.pytorch\.org/whl/(cu[0-9]{1,9}|cpu)/?\Z")
_DEFAULT_INDEX = re.compile(r"https?://pypi[.](?:python[.])?org/simple/?\Z")
OPEN_MINORS = 2
NVIDIA = "nvidia-"  # what its packages are called by
ALONG = (NVIDIA, "numpy")  # what may come along, and is judged
_NEWER = "3.99"  # stands for a Python that is not known
LABEL = re.compile(r"\+cu([0-9]{1,9})")


def requirement_of(asked: Asked) -> Requirement | None:
    """Return what is asked for as it is installed, constraints and overrides included."""
    found = next(planned.parse(overridden((asked.text,), asked)), None)
    if found is None or not asked.bounds:
        return found
    from packaging.specifiers import SpecifierSet

    whole = copy(found)
    whole.specifier = found.specifier & SpecifierSet(",".join(bound.specifier for bound in asked.bounds))
    return whole


def extras_of(asked: Asked) -> tuple[str, ...]:
    """Return the extras that are asked for, as written."""
    requirement = requirement_of(asked)
    return () if requirement is None else tuple(sorted(requirement.extras))


def overridden(needs: Sequence[str], asked: Asked) -> tuple[str, ...]:
    """Return requirements with the overrides in place of those on the same packages; extras stay."""
    instead = {name: text for text in asked.overrides for name in planned.names((text,))}
    found = []
    for text in needs:
        own = next(planned.parse((text,)), None) if instead else None
        other = instead.get(distribution_name(own.name)) if own is not None else None
        changed = None
        if own is not None and other is not None:
            changed = copy(own)
            changed.specifier = next(planned.parse((other,))).specifier
        found.append(text if changed is None else str(changed))
    return tuple(found)


def wants_gpu(asked: Asked) -> str:
    """Return why a requirement shows that a GPU is meant to be used, "" where it does not."""
    requirement = requirement_of(asked)
    if requirement is None:
        return ""
    name = distribution_name(requirement.name)
    if any(extra.startswith(("cuda", "and-cuda", "gpu")) for extra in requirement.extras):
        return f"{asked.text} asks for CUDA"
    if _OF_GPU.match(name):
        return f"{requirement.name} is for GPUs"
    if LABEL.search(asked.text) or any(_CUDA_INDEX.search(index) for index in _indexes(asked)):
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
    return f"{match[1][:-1]}.{match[1][-1]}" if match and len(match[1]) > 1 else None


def placeholder_of(name: str, tables: Tables) -> str | None:
    """Return the release of a package that is there only to say that it has ended."""
    row = row_of(tables, "placeholder_distributions", distribution=name)
    return None if row is None else str(row["version"])


def is_placeholder(asked: Asked, tables: Tables) -> bool:
    """Return whether what is asked for is met by such a release: it holds no file, and its building fails."""
    requirement = requirement_of(asked)
    version = placeholder_of(distribution_name(requirement.name), tables) if requirement else None
    return version is not None and requirement is not None and admits(requirement, version)


def admits(requirement: Requirement, version: str) -> bool:
    """Return whether pip would take a version: pre-releases only where one is named."""
    bounds = [str(bound).partition("+")[0] for bound in requirement.specifier]
    named = any("rc" in bound or "dev" in bound or "a" in bound or "b" in bound for bound in bounds)
    try:
        is_early = versions.parse(version).is_prerelease
        return (named or not is_early) and all(versions.within(version, bound) for bound in bounds)
    except versions.Incomparable:
        return False


def is_for_any_python(requirement: Requirement) -> bool:
    """Return whether a requirement counts on Linux whatever the Python is."""
    return "python" not in str(requirement.marker or "") and applies(requirement, None)


def applies(requirement: Requirement, python: str | None, extra: str = "") -> bool:
    """Return whether a requirement counts on Linux with that Python; not where that cannot be said.

    Where the Python is not known, what counts with every newer one does: the newest release is judged, too.
    `extra` is the one of the package that asks which is wanted.
    """
    if requirement.marker is None:
        return True
    from packaging.markers import UndefinedComparison, UndefinedEnvironmentName

    python = python or _NEWER
    environment = {"sys_platform": "linux", "platform_system": "Linux", "os_name": "posix", "extra": extra,
                   "platform_machine": "x86_64"}
    environment.update(python_version=python, python_full_version=f"{python}.0")
    try:
        return requirement.marker.evaluate(environment)
    except (UndefinedComparison, UndefinedEnvironmentName):
        return False


# -- what no release meets ---------------------------------------------------------------------------------


def of_frameworks(asked: Sequence[Asked], python: str | None) -> list[Asked]:
    """Return the requirements on frameworks, wherever they are to come from."""
    named = ((one, requirement_of(one)) for one in asked)
    return [one for one, requirement in named
            if requirement and requirement.name.lower() in FRAMEWORKS and applies(requirement, python)]


def frameworks_asked(asked: Sequence[Asked], python: str | None) -> dict[str, list[Asked]]:
    """Return the requirements on each framework with releases that the tables list, in their order."""
    found: dict[str, list[Asked]] = {}
    for one in asked:
        requirement = requirement_of(one)
        name = requirement.name.lower() if requirement else ""
        if name in FRAMEWORKS and requirement and applies(requirement, python) and _is_listed_at(one.index):
            found.setdefault(name, []).append(one)
    return found


def is_listed_everywhere(asked: Asked) -> bool:
    """Return whether the tables know what every index has that a requirement may come from.

    What conda's channels build, and for which Pythons, is in none of them.
    """
    return asked.tool != "conda" and all(map(_is_listed_at, (asked.index, *asked.extra_indexes)))


def _is_listed_at(index: str | None) -> bool:
    """Return whether an index has no release of a framework that the default one lacks."""
    return index is None or PYTORCHS_OWN.match(index) is not None


def from_default(asked: Asked) -> Asked:
    """Return a requirement without the default index, where that is written out.

    To pip the others are beside it then; uv takes what the first one has, and that in its place is the last.
    """
    extra = [one for one in asked.extra_indexes if not _DEFAULT_INDEX.match(one)]
    if asked.index is not None and _DEFAULT_INDEX.match(asked.index):
        return replace(asked, index=None, extra_indexes=tuple(extra))
    if asked.index is None or len(extra) == len(asked.extra_indexes):
        return asked if len(extra) == len(asked.extra_indexes) else replace(asked, extra_indexes=tuple(extra))
    return replace(asked, index=None, extra_indexes=tuple(
        extra if asked.tool == "uv" else (asked.index, *extra)))


def missing(framework: str, one: Asked, tables: Tables) -> tuple[str, ...] | None:
    """Return the releases nearest to the one that is asked for, where that was never published."""
    requirement = requirement_of(one)
    exact = [one for one in requirement.specifier if one.operator in ("==", "===")] if requirement else []
    if not requirement or len(exact) != 1 or exact[0].version.endswith("*"):
        return None
    return nearest(framework, exact[0].version.partition("+")[0], tables)


def nearest(framework: str, version: str, tables: Tables) -> tuple[str, ...] | None:
    """Return the releases nearest to one that was never published; None where it was, or may yet be.

    A version beyond the newest known is left alone: the rules may be older than it.
    """
    known = known_versions(framework, tables)
    try:
        wanted = versions.parse(version)
    except versions.Incomparable:
        return None
    final = [version for version in known if not versions.parse(version).is_prerelease]
    if not final or wanted.is_prerelease or wanted.is_postrelease:
        return None
    minors = sorted({versions.parse(version).release[:2] for version in final}, reverse=True)
    open_ = minors[:OPEN_MINORS]  # of these a patch may have been released since
    if not versions.parse(final[-1]) < wanted < versions.parse(final[0]) or wanted.release[:2] in open_:
        return None
    if any(versions.parse(version) == wanted for version in known):
        return None
    below = [version for version in final if versions.parse(version) < wanted][:2]
    above = [version for version in final if versions.parse(version) > wanted][-1:]
    return (*above, *below)


def newest_before(framework: str, asked: Asked, tables: Tables) -> str | None:
    """Return the newest release that is known, where only newer ones are asked for; None where not."""
    requirement = requirement_of(asked)
    known = known_versions(framework, tables)
    final = next((one for one in known if not versions.parse(one).is_prerelease), None)
    if requirement is None or final is None or any(admits(requirement, one) for one in known):
        return None
    return final if is_beyond(requirement, final) else None


def is_beyond(requirement: Requirement, version: str) -> bool:
    """Return whether a requirement asks for something newer than a version, and nothing else."""
    lower = [bound.version.removesuffix(".*") for bound in requirement.specifier
             if bound.operator in (">=", "==", "~=", ">", "===")]
    try:
        return any(versions.parse(bound.partition("+")[0]) >= versions.parse(version) for bound in lower)
    except versions.Incomparable:
        return False


@frozen
class Refused:
    """Why an extra cannot be installed, and the next release that does not have this fault."""

    why: str
    instead: str | None


def refused(framework: str, requirement: Requirement, python: str | None, tables: Tables) -> Refused | None:
    """Return why pip can install none of the releases that are asked for with their extra; else None.

    Where nobody knows the Python, a release counts only if its extra fails with all that it has wheels for.
    """
    broken = {str(row["version"]): row for row in published.broken_extras(framework, tables)
              if str(row["extra"]) in requirement.extras and _fails_with(row, framework, python, tables)}
    known = known_versions(framework, tables)  # the newest first
    asked = [version for version in known if admits(requirement, version)]
    if not asked or not all(version in broken for version in asked):
        return None
    above = [version for version in known[:known.index(asked[0])] if version not in broken
             and not versions.parse(version).is_prerelease]
    return Refused(why=str(broken[asked[0]]["reason"]), instead=above[-1] if above else None)


def _fails_with(row: Row, framework: str, python: str | None, tables: Tables) -> bool:
    """Return whether an extra that is broken with some Pythons is so with this one."""
    if python is not None:
        return python in as_texts(row["python"])
    wheels = {one for listed in rows_of(tables, framework)
              if listed["version"] == row["version"] for one in as_texts(listed["python"])}
    return wheels <= set(as_texts(row["python"]))
