"""What a framework asks of NVIDIA's Python packages: which are missing or damaged, what pip is to install."""

from __future__ import annotations

from collections.abc import Sequence

from gpudoctor import versions
from gpudoctor.derive import planned, published, stale
from gpudoctor.derive.device_code import cudnn_row
from gpudoctor.derive.lazy import Derivation
from gpudoctor.derive.libraries import trace_all
from gpudoctor.derive.releases import (
    capped, cuda_version, nvidia_packages, own_row, platform_of, release_rows,
)
from gpudoctor.derive.view import NotKnown, View, as_records, as_texts, text_in
from gpudoctor.model import Absent, Fact, Facts, Known, Unknown, Value

_INSTALLED = "installed distributions"
_NVIDIAS = "nvidia-"


def _present(view: View) -> tuple[str, ...]:
    """Return the names of NVIDIA's distributions that are installed, or would be after a fix."""
    installed = tuple(text_in(r, "name") for r in as_records(view.need("python.nvidia_distributions")))
    return (*installed, *planned.names(view.texts("python.planned_distributions")))


def requires_missing(view: View) -> Fact:
    """Return the requirements on NVIDIA's distributions that it always has and that are not met."""
    wanted = as_texts(view.need("framework.requires_nvidia"))
    return Known(value=planned.missing(wanted, _present(view)), source=_INSTALLED)


def _wanted(view: View) -> tuple[str, ...]:
    """Return all requirements on NVIDIA's distributions, those of the CUDA extra included."""
    stated = ("framework.extra_requires_nvidia", "framework.requires_nvidia")
    wanted = view.texts(stated[0]) or view.texts(stated[1])
    wanted = wanted or as_texts((own_row(view) or {}).get("requires_nvidia"))
    unseen = view.unknown_among(stated)
    if not wanted and unseen is not None:
        raise NotKnown(unseen)
    return wanted


def horovod_lacks(view: View) -> Fact:
    """Return what Horovod was compiled without, the most important first; absent where nothing is missing."""
    extensions = as_records(view.need("framework.horovod"))
    if not extensions:
        return Known(value="framework", source=f"no extension for it in {view.source('framework.horovod')}")
    for key, said in (("gpu", "GPU"), ("nccl", "NCCL")):
        if not any(extension.get(key) is True for extension in extensions):
            return Known(value=said, source=text_in(extensions[0], "path"))
    return Absent(source="the GPU and NCCL are compiled in")


def asks_packages(view: View) -> Fact:
    """Return whether NVIDIA's libraries come as Python packages that the build itself asks for."""
    if view.need("framework.has_gpu_build") is False:
        return Absent(source="this build uses no NVIDIA GPU")
    return Known(value=bool(_wanted(view)), source="requirements of the release")


def cuda_distributions(view: View, cards: Sequence[str]) -> Fact:
    """Return the requirements that would bring the CUDA libraries, cuDNN held back where a card needs it.

    They are those of the CUDA extra or of the framework itself, else of the wheels that hold what it opens.
    """
    if view.need("framework.has_gpu_build") is False:
        return Absent(source="this build uses no NVIDIA GPU")
    wanted = _wanted(view)
    if wanted and not _extra_installs(view):
        wanted = tuple(text for text in wanted if text.startswith(_NVIDIAS))  # what is not had is another's
    if wanted:
        return Known(value=capped(wanted, view, cards), source="requirements of the release")
    major = versions.parse(cuda_version(view)).major
    loads = as_texts((own_row(view) or {}).get("loads"))
    packages = nvidia_packages(view)
    found = [planned.bringing(name, major, packages) for name in loads]
    if not loads or None in found:
        return Absent(source="no packages with these CUDA libraries are known")
    floor = view.value("framework.cudnn_floor")
    brought = dict.fromkeys(_not_older(text, floor) for text in found if text)
    return Known(value=capped(tuple(brought), view, cards), source=f"rules/tables/{packages.name}.toml")


def _not_older(text: str, floor: Value | None) -> str:
    """Return a requirement on cuDNN that begins where the framework can use it; others as they are."""
    is_bounded = floor is not None and text.startswith("nvidia-cudnn-")
    return planned.bounded(text, f">={floor}") if is_bounded else text


def cuda_requirement(view: View) -> Fact:
    """Return what pip is to be told for them: the extra of this very release, or the packages one by one.

    They are told one by one, too, where the extra asks for more than can be had, and pip refuses it.
    """
    wanted = as_texts(view.need("framework.cuda_distributions"))
    extra = _cuda_extra(view)
    if extra is None or not _wanted(view) or not _extra_installs(view):
        return Known(value=wanted, source="framework.cuda_distributions")
    held_back = tuple(text for text in wanted if text not in _wanted(view))
    limits = tuple(
        one.name + ",".join(str(bound) for bound in one.specifier if bound.operator in ("<", "<=", "=="))
        for one in planned.parse(held_back)
    )
    distribution, version = view.need_text("framework.distribution"), view.need_text("framework.version")
    return Known(
        value=(f"{distribution}[{extra}]=={version}", *limits), source="requirements of the release"
    )


def _extra_installs(view: View) -> bool:
    python = view.value("python.version")
    return published.refused_extra(
        view.need_text("framework.name"), view.need_text("framework.version"),
        None if python is None else versions.minor_of(str(python)), view.tables) is None


def _cuda_extra(view: View) -> str | None:
    """Return the name of the extra that brings the CUDA libraries of a release, None where there is none."""
    match view.value("framework.name"):
        case "tensorflow":
            return "and-cuda"
        case "jax":
            return f"cuda{versions.parse(cuda_version(view)).major}"
        case _:
            return None


def cudnn_requirement(view: View) -> Fact:
    """Return the requirement that would bring a cuDNN for the framework and for the cards here."""
    texts = tuple(
        t for t in as_texts(view.need("framework.cuda_distributions")) if t.startswith("nvidia-cudnn-")
    )
    return (
        Known(value=texts, source="framework.cuda_distributions")
        if texts
        else Absent(source="no package with this cuDNN is known")
    )


def cudnn_floor(view: View) -> Fact:
    """Return the cuDNN (major.minor) it was compiled with, as its lowest requirement or its build says."""
    texts = (*view.texts("framework.requires_nvidia"), *view.texts("framework.extra_requires_nvidia"))
    for requirement in planned.parse(texts or as_texts((own_row(view) or {}).get("requires_nvidia"))):
        if requirement.name.startswith("nvidia-cudnn-"):
            lowest = [s.version for s in requirement.specifier if s.operator in ("==", ">=", "~=")]
            if lowest:
                return Known(value=versions.minor_of(lowest[0]), source=f"the requirement {requirement}")
    stated = view.value("framework.cudnn")
    if stated is not None and "." in str(stated):
        return Known(value=versions.minor_of(str(stated)), source="build information on disk")
    return _tested_cudnn(view, str(stated)) or Absent(
        source="the build does not say which minor version of cuDNN it was compiled with")


def _tested_cudnn(view: View, major: str) -> Fact | None:
    """Return what the framework's makers say that they built a published release with."""
    if own_row(view) is None:
        return None
    release = view.need_text("framework.name"), versions.minor_of(view.need_text("framework.version"))
    for row in view.table("tested_builds").rows:
        if (row["framework"], row["version"]) == release and str(row["cudnn"]).startswith(f"{major}."):
            return Known(value=row["cudnn"], source=str(row["source"]))
    return None


def cudnn_oldest_card(view: View) -> Fact:
    """Return the oldest card that the cuDNN which the trace finds has code for."""
    version = view.need_text("framework.cudnn_found")
    row = cudnn_row(view.tables, version, lambda: cuda_version(view))
    oldest = str(row["oldest_card"]) if row is not None else None
    end = stale.cudnn_end(view.tables)
    if oldest is not None and stale.is_newer(versions.minor_of(version), end):
        # no later cuDNN serves a card again that an earlier one dropped; of a later minor release a
        # convolution tells which others it drops, which nobody asked here
        is_other = versions.parse(version).major > versions.parse(end).major
        return stale.unknown(view, f"cuDNN {version}", f"cuDNN {end}", at_least=oldest, asked=is_other)
    if oldest is None:
        return Unknown(
            reason=f"the rule database does not say which cards this cuDNN {version} serves", asked=False
        )
    return Known(value=oldest, source=f"rules/tables/cudnn_architectures.toml for cuDNN {version}")


def distributions_incomplete(view: View) -> Fact:
    """Return the installed distributions it asks for of which files are gone."""
    asked = planned.names(_wanted(view))
    gone = as_texts(view.need("python.incomplete_distributions"))
    return Known(
        value=tuple(name for name in gone if name in asked), source="RECORD files and the files they list"
    )


def reinstall_requirements(view: View) -> Fact:
    """Return the distributions of which files are gone or broken, with the installed versions."""
    broken = {str(step.path) for step in trace_all(view)[0] if step.error}
    owners = {
        text_in(r, "distribution") for r in view.records("loader.files") if text_in(r, "path") in broken
    }
    damaged = dict.fromkeys((*view.texts("framework.distributions_incomplete"), *sorted(owners)))
    installed = {
        text_in(r, "name"): text_in(r, "version") for r in view.records("python.nvidia_distributions")
    }
    if not damaged or any(name not in installed for name in damaged):
        return Absent(source="nothing is damaged, or no distribution owns what is")
    return Known(value=tuple(f"{name}=={installed[name]}" for name in damaged), source=_INSTALLED)


def toolkits(*, fitting: bool) -> Derivation:
    """Return a derivation of the CUDA toolkits on disk of the build's major version, or of the others."""

    def derivation(view: View) -> Fact:
        major = versions.parse(cuda_version(view)).major
        installs = as_records(view.look("toolkit.installs"))
        found = [text_in(r, "version") for r in installs if text_in(r, "version")]
        chosen = dict.fromkeys(v for v in found if (versions.parse(v).major == major) is fitting)
        return Known(value=tuple(chosen), source="CUDA toolkits on disk")

    return derivation


def published_for_cuda(view: View) -> Fact:
    """Return whether any release of the framework was published with CUDA for this platform."""
    name = view.need_text("framework.name")
    if name not in view.tables:
        return Known(
            value=True, source=f"the rule database has no table of {name} releases that would deny it"
        )
    found = any(row.get("build") == "cuda" for row in release_rows(view, name))
    return Known(value=found, source=f"rules/tables/{name}.toml for {platform_of(view)}")


# -- of the whole patient ------------------------------------------------------------------------------------


def asked_for(frameworks: Sequence[Facts]) -> frozenset[str]:
    """Return the names of NVIDIA's distributions that a framework asks for, with an extra or without."""
    texts = [
        text
        for facts in frameworks
        for name in ("framework.requires_nvidia", "framework.extra_requires_nvidia")
        if isinstance(fact := facts.get(name), Known)
        for text in as_texts(fact.value)
    ]
    return frozenset(planned.names(texts))


def colliding_unneeded(view: View, asked: frozenset[str]) -> Fact:
    """Return the distributions that share files with others and that no framework asks for."""
    shared = as_texts(view.need("python.colliding_distributions"))
    return Known(
        value=tuple(name for name in shared if name.startswith("nvidia-") and name not in asked),
        source="requirements of the installed frameworks",
    )


def colliding_reinstall(view: View, asked: frozenset[str]) -> Fact:
    """Return the others of them, with the versions that are installed, for pip to lay down again."""
    installed = {
        text_in(r, "name"): text_in(r, "version") for r in view.records("python.nvidia_distributions")
    }
    wanted = [name for name in as_texts(view.need("python.colliding_distributions")) if name in asked]
    if not wanted or any(name not in installed for name in wanted):
        return Absent(source="no framework asks for a distribution that shares files with another")
    return Known(value=tuple(f"{name}=={installed[name]}" for name in wanted), source=_INSTALLED)
