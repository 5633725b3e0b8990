"""Facts of a framework computed from others: the driver it needs, the packages it asks for, its libraries."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from gpudoctor import versions
from gpudoctor.derive import (
    abi, branches, device_code, driver_packages, drivers_needed, integrated, jax, jetson,
)
from gpudoctor.derive import libraries as trace
from gpudoctor.derive import minor_versions, mixed, nccl, packages, releases, stages, stale
from gpudoctor.derive.device_code import coverage, span
from gpudoctor.derive.releases import code_of, cuda_version, own_row
from gpudoctor.derive.view import View, as_texts
from gpudoctor.model import Absent, Fact, Facts, Known, Unknown


def has_gpu_build(view: View) -> Fact:
    """Return whether the build on disk can use an NVIDIA GPU."""
    return Known(value=view.need_text("framework.build") == "cuda", source="build information on disk")


def cuda_floor(view: View) -> Fact:
    """Return the oldest driver ceiling that runs this build's machine code."""
    if view.need("framework.has_gpu_build") is False:
        return Absent(source="this build uses no NVIDIA GPU")
    return minor_versions.floor_of(cuda_version(view), view)


def ceiling_suffices(view: View) -> Fact:
    """Return whether the driver's ceiling alone, without its version, says that it runs this build.

    It does at the build's own CUDA, and above the floor of its major release. At the floor itself the first
    releases of a branch can be too old for minor-version compatibility.
    """
    floor = view.need_text("framework.cuda_floor")
    ceiling = view.bound("driver.cuda_ceiling") or view.need_text("driver.cuda_ceiling")
    cuda = cuda_version(view)
    here = versions.parse(ceiling)
    is_unlisted = minor_versions.row_of(cuda, view) is None
    above = here > versions.parse(floor) or (is_unlisted and ceiling == floor)
    suffices = here >= versions.parse(cuda) or above
    if not suffices:
        view.need("driver.cuda_ceiling")  # what is only a bound may still suffice
    said = f"the driver runs CUDA {ceiling}, the build is for {cuda}, which starts at {floor}"
    return Known(value=suffices, source=said)


def minimum_driver(view: View) -> Fact:
    """Return the oldest driver for that floor, numbered as the driver here."""
    floor = view.need_text("framework.cuda_floor")
    row = minor_versions.row_of(cuda_version(view), view)
    if row is None or "minimum_driver" not in row:
        row = minor_versions.toolkit_of(floor, view)
    if row is None:
        return releases.no_driver_for(floor, view)
    return Known(value=str(branches.oldest_driver(row, view)), source=str(row["source"]))


def last_driver(view: View) -> Fact:
    """Return the last driver branch that serves the cards here where it is older than this build needs."""
    last = branches.served(view).last_branch
    listed = view.number("cuda.device_count")  # which it does not, before it has started
    if (view.value("driver.works") is True or listed) and _runs_here(view):
        return Absent(source="the driver here serves the card and runs the build")
    if last is None:
        return Absent(source="the newest drivers serve the cards here")
    needed = view.need_text("framework.minimum_driver")
    if last >= branches.major(needed):
        return Absent(source=f"drivers from {needed} on serve the cards here")
    return Known(value=str(last), source="rules/tables/kernel_modules.toml")


def _runs_here(view: View) -> bool:
    """Return whether the driver here is known to run the build: by its ceiling, or by its release."""
    if view.value("framework.ceiling_suffices") is True:
        return True
    driver, first = view.value("driver.version"), view.value("framework.minimum_driver")
    known = driver is not None and first is not None
    return known and versions.parse(str(driver)) >= versions.parse(str(first))


def sufficient_driver(view: View, cards: Sequence[str]) -> Fact:
    """Return the oldest driver that runs the build and compiles what the cards here need compiled."""
    needed = [view.need_text("framework.minimum_driver")]
    row = own_row(view)
    code = view.records("framework.code") if row is None or "code" not in row else code_of(view)
    for isa in {coverage(code, card).ptx_isa for card in cards} - {None}:
        ceiling = releases.ceiling_for(str(isa), view)
        toolkit = minor_versions.toolkit_of(ceiling, view) if ceiling is not None else None
        needed += [] if toolkit is None else [str(branches.oldest_driver(toolkit, view))]
    return Known(value=max(needed, key=versions.parse), source="rules/tables/cuda_toolkits.toml")


def least_driver(view: View) -> Fact:
    """Return the oldest driver that would do, where the one to name is of a newer branch."""
    needed, named = view.need("framework.sufficient_driver"), view.need("framework.maintained_driver")
    if needed == named:
        return Absent(source="the driver to name is the oldest that will do")
    return view.fact("framework.sufficient_driver")


def code_span(end: int) -> Callable[[View], Fact]:
    """Return a derivation of the oldest (0) or newest (1) card that the build has code for."""

    def derivation(view: View) -> Fact:
        if view.need("framework.has_gpu_build") is False:
            return Absent(source="this build uses no NVIDIA GPU")
        code = code_of(view)
        known = [str(row["compute_capability"]) for row in view.table("architectures").rows]
        cuda = view.value("framework.cuda") or (own_row(view) or {}).get("cuda")
        alone = integrated.alone(None if cuda is None else str(cuda), view.tables)
        found = span(code, {*known, *device_code.targets(code)}, alone)
        if found is None:
            return Absent(source="the build has code for no known card")
        return Known(value=found[end], source="device code of the build")

    return derivation


def python_versions(view: View) -> Fact:
    """Return the Python versions that this release has wheels for on this platform."""
    row = own_row(view)
    if row is None or "python" not in row:
        return _unlisted(view) or Unknown(reason="the rule database does not know this release")
    return Known(value=row["python"], source=str(row["source"]))


def _unlisted(view: View) -> Unknown | None:
    end = stale.own_release_end(view)
    if end is None:
        return None
    name, version = view.need_text("framework.name"), view.need_text("framework.version")
    return stale.unknown(view, f"{name} {version}", f"{name} {end}")


def glibc_floor(view: View) -> Fact:
    """Return the oldest glibc that the wheels of this release run on; the wheel's own tags say it, too."""
    row = own_row(view)
    if row is None or "glibc" not in row:
        tags = _MANYLINUX.findall(" ".join(as_texts(view.look("framework.tags"))))
        if tags:
            oldest = min((".".join(tag) for tag in tags), key=versions.parse)
            return Known(value=oldest, source="the wheel's tags")
        return Absent(source="the rule database does not know this build")
    return Known(value=row["glibc"], source=str(row["source"]))


Derivation = Callable[[View], Fact]
_MANYLINUX = re.compile(r"manylinux_([0-9]+)_([0-9]+)_")  # the newer spelling, which says the glibc

_BEFORE_CARDS: Mapping[str, Derivation] = {
    "framework.has_gpu_build": has_gpu_build,
    "framework.code_is_listed": releases.code_is_listed,
    "framework.cuda_floor": cuda_floor,
    "framework.ceiling_suffices": ceiling_suffices,
    "framework.minimum_driver": minimum_driver,
    "framework.last_driver": last_driver,
    "framework.nccl_oldest_card": nccl.oldest_card,
    "framework.python_versions": python_versions,
    "framework.glibc_floor": glibc_floor,
    "framework.published_for_cuda": packages.published_for_cuda,
    "framework.jaxlib": jax.jaxlib_version,
    "framework.plugins_mismatched": jax.plugins_mismatched,
    "framework.plugin_requirements": jax.plugin_requirements,
    "framework.plugins_matched": jax.plugins_matched,
    "framework.installed_plugins": jax.installed_plugins,
    "framework.other_plugin_requirement": jax.other_requirement,
    "framework.other_plugin_cuda": jax.other_cuda,
    "framework.other_plugins": jax.other_plugins,
    "framework.oldest_card": code_span(0),
    "framework.newest_card": code_span(1),
    "framework.cudnn_floor": packages.cudnn_floor,
    "framework.asks_packages": packages.asks_packages,
    "framework.horovod_lacks": packages.horovod_lacks,
    "framework.requires_missing": packages.requires_missing,
    "framework.distributions_incomplete": packages.distributions_incomplete,
    "framework.toolkits_fitting": packages.toolkits(fitting=True),
    "framework.toolkits_other": packages.toolkits(fitting=False),
}

_AFTER_CARDS: Mapping[str, Derivation] = {
    "framework.fitting_requirement": lambda view: releases.requirement_for("framework.fitting_release", view),
    "framework.fitting_brings_cuda": lambda view: releases.brings_cuda("framework.fitting_release", view),
    "framework.gpu_requirement": lambda view: releases.requirement_for("framework.gpu_release", view),
    "framework.fitting_arguments": lambda view: releases.arguments_for("framework.fitting_release", view),
    "framework.gpu_arguments": lambda view: releases.arguments_for("framework.gpu_release", view),
    "framework.fitting_driver": drivers_needed.driver_for("framework.fitting_release"),
    "framework.gpu_driver": drivers_needed.driver_for("framework.gpu_release"),
    "framework.cudnn_requirement": packages.cudnn_requirement,
    "framework.libraries": trace.libraries,
    "framework.reinstall_requirements": packages.reinstall_requirements,
    "framework.driver_libraries": trace.driver_libraries,
    "framework.libraries_missing": trace.libraries_missing,
    "framework.libraries_off_path": trace.libraries_off_path,
    "framework.libraries_off_path_folders": trace.libraries_off_path_folders,
    "framework.off_path_origin": trace.off_path_origin,
    "framework.cuda_libraries_absent": trace.cuda_libraries_absent,
    "framework.cudnn_absent": trace.cudnn_absent,
    "framework.cudnn_others": trace.cudnn_others,
    "framework.cudart_others": trace.cudart_others,
    "framework.libraries_broken": trace.libraries_broken,
    "framework.libraries_shadowed": trace.libraries_shadowed,
    "framework.library_path_needed": trace.library_path_needed,
    "framework.library_path_clean": trace.library_path_clean,
    "framework.shadowing_folders": trace.shadowing_folders,
    "framework.cudnn_found": trace.cudnn_found,
    "framework.cudnn_without_library_path": trace.cudnn_without_library_path,
    "framework.cudnn_oldest_card": packages.cudnn_oldest_card,
    "framework.library_folders_unsearched": trace.library_folders_unsearched,
    "framework.library_path_planned": trace.library_path_planned,
}


def _usable(view: View, cards: Sequence[Facts]) -> list[str]:
    """Return the compute capabilities of the cards that programs use."""
    return [str(fact.value) for card in _left(view, cards)
            if isinstance(fact := card.get("gpu.compute_capability"), Known)]


def _left(view: View, cards: Sequence[Facts]) -> Sequence[Facts]:
    """Return the cards that programs use: the driver may leave out some."""
    if any(branches.is_unlisted(card) for card in cards) and view.value("driver.ready") is True:
        return [card for card in cards if not branches.is_left_out(card)]
    return cards


def _fitting_release(view: View, cards: Sequence[Facts]) -> Fact:
    """Return the release for every card here: of a card without a compute capability nobody can say it."""
    used = _left(view, cards)
    if not all(isinstance(card.get("gpu.compute_capability"), Known) for card in used):
        return Unknown(reason="which compute capability a card has is not known")
    return releases.fitting_release(view, _usable(view, cards))


def derivations(cards: Sequence[Facts], unseen: Unknown | None = None) -> Mapping[str, Derivation]:
    """Return every derivation of a framework on a machine with these cards, in order.

    `unseen` is why nobody could list them: then no release can be said to fit them. For who has a build
    without CUDA any with it is nearer, and `framework.gpu_card` says which cards it is for.
    """
    return {
        **_BEFORE_CARDS,
        "framework.sufficient_driver": lambda view: sufficient_driver(view, _usable(view, cards)),
        "framework.maintained_driver": driver_packages.for_fact(
            driver_packages.maintained_driver, "framework.sufficient_driver"),
        "framework.least_driver": least_driver,
        "framework.driver_command": driver_packages.for_fact(
            driver_packages.branch_command, "framework.sufficient_driver"),
        "framework.fitting_release": lambda view: unseen or _fitting_release(view, cards),
        "framework.gpu_release": lambda view: releases.gpu_release(view, _usable(view, cards)),
        "framework.gpu_card": lambda view: drivers_needed.gpu_card(view, unseen),
        "framework.cuda_distributions": lambda view: packages.cuda_distributions(
            view, _usable(view, cards)),
        "framework.cuda_requirement": packages.cuda_requirement,
        "framework.nccl_requirement": lambda view: nccl.requirement(view, _usable(view, cards)),
        **_AFTER_CARDS,
        **abi.DERIVATIONS,
        **jetson.FRAMEWORK_DERIVATIONS,
        **mixed.DERIVATIONS,
        **stages.DERIVATIONS,
    }
