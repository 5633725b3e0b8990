"""The table rows of framework releases: which one this build is, and which ones would fit this machine."""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Iterator, Sequence

from gpudoctor import versions
from gpudoctor.derive import branches, integrated, minor_versions, planned, published, stale
from gpudoctor.derive.device_code import cudnn_row
from gpudoctor.derive.loader_trace import expand
from gpudoctor.derive.stacks import Stack, stacks_of
from gpudoctor.derive.view import NotKnown, View, as_records, as_texts, text_in
from gpudoctor.model import Absent, Fact, Known, Record, Row, Table, Unknown, Value

_ONE_RUNTIME_FOR_ALL = 11  # from this CUDA on the name of its runtime is the same for every minor release


def platform_of(view: View) -> str:
    """Return the platform name that tables use, such as linux_x86_64."""
    return f"{view.need_text('system.os').lower()}_{view.need_text('system.architecture')}"


def nvidia_packages(view: View) -> Table:
    """Return what NVIDIA's packages for this platform hold, which is not the same on each."""
    platform = platform_of(view)
    return view.once("nvidia packages", lambda _: published.for_platform(
        view.table(published.nvidia_table(platform)), platform))


def release_rows(view: View, name: str) -> Iterator[Row]:
    """Yield the table rows of a framework for this platform, oldest first."""
    platform = platform_of(view)
    for row in published.rows(name, view.tables):
        if row.get("platform") == platform:
            yield row


def own_row(view: View) -> Row | None:
    """Return the row of this very build: by its library's sha256; by version where RECORD lists none."""
    return view.once("own row", _own_row)


def _own_row(view: View) -> Row | None:
    name = view.need_text("framework.name")
    if name != "jax" and not published.is_listed(name, view.tables):
        return None
    sha256, under = view.fact("framework.code_library_sha256"), view.value("framework.distribution")
    platform = platform_of(view)
    rows = published.jax_rows(platform, view.tables) if name == "jax" else (
        *release_rows(view, name), *published.rows_under(str(under), name, view.tables))
    if isinstance(sha256, Known):
        return next((row for row in rows if sha256.value in as_texts(row.get("library_sha256"))), None)
    version = view.value("framework.version")
    if version is None or view.value("framework.installer") == "conda" or "+" in str(version):
        return None
    if name == "jax":
        plugins = {text_in(r, "name"): text_in(r, "version") for r in view.records("framework.plugins")}
        return published.jax_row(plugins, platform, view.tables)
    return published.row_of(name, version, platform, view.tables, under)


def code_is_listed(view: View) -> Fact:
    """Return whether the tables have the device code of this very build."""
    row = own_row(view)
    listed = row is not None and "code" in row
    return Known(value=listed, source=str(row["source"]) if row is not None else "no row is about this build")


def code_of(view: View) -> tuple[Record, ...]:
    """Return the device code of this build, or end the derivation with why it is not known."""
    return as_records(code_value_of(view))


def code_value_of(view: View) -> Value:
    """Return the same as the value in which it stands: what was read in the build, unless its row is sure."""
    read = view.fact("framework.code")
    if isinstance(read, Known) and isinstance(view.fact("framework.code_library_sha256"), Unknown):
        return read.value
    row = own_row(view)
    if row is not None and "code" in row:
        return row["code"]
    end = stale.own_release_end(view) if isinstance(read, Unknown) and read.asked else None
    if end is not None:
        release = f"{view.need_text('framework.name')} {view.need_text('framework.version')}"
        raise NotKnown(stale.unknown(view, release, end))
    return view.need("framework.code")


def cuda_version(view: View) -> str:
    """Return the CUDA it is built for: its own word, its row's, or the major of the packages it wants."""
    row = own_row(view) or {}
    stated = view.value("framework.cuda") or row.get("cuda")
    if stated is not None:
        return with_minor(str(stated), row)
    for requirement in view.texts("framework.requires_nvidia") + view.texts(
        "framework.extra_requires_nvidia"
    ):
        match = re.search(r"-cu([0-9]+)\b", requirement)
        if match:
            return match[1]
    return view.need_text("framework.cuda")


def with_minor(stated: str, row: Row) -> str:
    """Return the CUDA of a build, where it states the major alone ("10") as the runtime that it opens has it.

    Before 11 that has the minor version in its name.
    """
    for soname in () if "." in stated else as_texts(row.get("loads")):
        found = re.fullmatch(r"libcudart\.so\.([0-9]+\.[0-9]+)", soname)
        if found and versions.parse(found[1]).major < _ONE_RUNTIME_FOR_ALL:
            return found[1]
    return stated


def ceiling_for(ptx_isa: str, view: View) -> str | None:
    """Return the first CUDA whose driver compiles a PTX ISA version, None when the table lacks it."""
    rows = view.table("ptx_isa").rows
    return next((str(row["cuda"]) for row in rows if row["ptx_isa"] == ptx_isa), None)


def no_driver_for(cuda: str, view: View) -> Unknown:
    """Return why no driver can be named for a CUDA: it is newer than the rules, or is not in them."""
    end = stale.cuda_end(view)
    if stale.is_newer(cuda, end):
        return stale.unknown(view, f"CUDA {cuda}", f"CUDA {end}")
    return Unknown(reason=f"the rule database has no driver for CUDA {cuda}")


# -- releases that would fit ---------------------------------------------------------------------------------


def fitting_release(view: View, cards: Sequence[str]) -> Fact:
    """Return the newest final release for this Python, glibc and driver that serves every card here.

    `cards` are compute capabilities: there must be code for each, no PTX newer than the driver knows, and
    CUDA libraries that the release finds and that serve the card. It is chosen among the same builds, in the
    same order, as what is recommended; what stands on another index has that index's label.
    """
    name = view.need_text("framework.name")
    if not published.is_listed(name, view.tables):
        return Absent(source=f"the rule database has no table of {name} releases")
    found = next((stack for stack in _stacks(view) if _fits(stack, view, cards)), None)
    if found is None:
        return Absent(source=f"no {name} release in the rule database fits")
    return Known(value=found.release, source=str(found.row["source"]))


def gpu_release(view: View, cards: Sequence[str]) -> Fact:
    """Return the CUDA build of the release that is installed if it fits, else the fitting release."""
    name, version = view.need_text("framework.name"), view.value("framework.version")
    if version is not None and published.is_listed(name, view.tables):
        public = str(version).partition("+")[0]
        for stack in _stacks(view):
            if stack.version == public and _fits(stack, view, cards):
                return Known(value=stack.release, source=str(stack.row["source"]))
    return fitting_release(view, cards)


def requirement_for(release_fact: str, view: View) -> Fact:
    """Return what pip is to install for a release, with its CUDA extra where it has one."""
    return Known(value=stack_of(release_fact, view).labelled, source="rule database")


def arguments_for(release_fact: str, view: View) -> Fact:
    """Return the words that pip is told for a release: the requirement, and the index if it is another.

    The label stands in the requirement: else pip would keep the same version of the default index.
    """
    stack = stack_of(release_fact, view)
    index = () if stack.index is None else ("--index-url", stack.index)
    return Known(value=shlex.join((stack.labelled, *index)), source="rule database")


def brings_cuda(release_fact: str, view: View) -> Fact:
    """Return whether pip installs the CUDA libraries with a release."""
    stack = stack_of(release_fact, view)
    return Known(value=stack.brings_cuda, source=str(stack.row["source"]))


def stack_of(release_fact: str, view: View) -> Stack:
    """Return the build that a fact with a release names."""
    release = view.need_text(release_fact)
    return next(stack for stack in _stacks(view) if stack.release == release)


def _stacks(view: View) -> Sequence[Stack]:
    """Return the builds of the framework for this platform, the newest first, as they are recommended."""
    return view.once("stacks", lambda _: stacks_of(view.need_text("framework.name"), platform_of(view),
                                                   view.tables))


def _fits(stack: Stack, view: View, cards: Sequence[str]) -> bool:
    if stack.is_prerelease or not stack.is_measured:
        return False
    row, python = stack.row, versions.minor_of(view.need_text("python.version"))
    if python not in stack.pythons or published.refused_extra(
            stack.framework, str(row["version"]), python, view.tables):
        return False
    glibc = view.value("system.glibc")
    if (
        glibc is not None
        and "glibc" in row
        and versions.parse(str(glibc)) < versions.parse(str(row["glibc"]))
    ):
        return False
    return (
        _driver_runs(row, view)
        and all(_card_runs(row, view, card) for card in cards)
        and _finds_libraries(row, view)
        and _cudnn_serves(row, view, cards)
    )


def _driver_runs(row: Row, view: View) -> bool:
    ceiling = view.bound("driver.cuda_ceiling")
    if ceiling is None or "cuda" not in row:
        return ceiling is None
    cuda = versions.parse(str(row["cuda"]))
    compatible: Row = minor_versions.row_of(str(cuda), view) or {}
    driver, first = view.value("driver.version"), branches.oldest_driver(compatible, view)
    if versions.parse(str(ceiling)) < cuda and driver is not None and first is not None:
        return versions.parse(str(driver)) >= versions.parse(str(first))
    floor = str(compatible.get("floor_cuda", cuda))
    return versions.parse(str(ceiling)) >= versions.parse(floor)


def _card_runs(row: Row, view: View, capability: str) -> bool:
    found = integrated.coverage(as_records(row["code"]), capability, text_in(row, "cuda"), view.tables)
    if found.kind in ("none", "ptx"):
        return False
    ceiling = view.bound("driver.cuda_ceiling")
    if found.ptx_isa is None or ceiling is None:
        return True
    needed = ceiling_for(found.ptx_isa, view)
    return needed is not None and versions.parse(needed) <= versions.parse(str(ceiling))


def _finds_libraries(row: Row, view: View) -> bool:
    """Return whether the release looks where its own CUDA packages lie; with RPATH they all do."""
    if "runpath" not in row or not row.get("requires_nvidia"):
        return True  # without packages of its own it takes what the system has
    origin = posixpath.dirname(f"/{row.get('loader', '')}")
    folders = expand(as_texts(row["runpath"]), origin)
    brought = {
        path
        for path, _ in planned.files(as_texts(row["requires_nvidia"]), "", nvidia_packages(view))
    }
    drivers = {str(known["stem"]) for known in view.table("libraries").rows if known["role"] == "driver"}
    return all(
        any(f"{folder}/{soname}" in brought for folder in folders)
        for soname in as_texts(row.get("loads"))
        if soname.partition(".so")[0] not in drivers
    )


# -- cuDNN and the cards -------------------------------------------------------------------------------------


def _cudnn_serves(row: Row, view: View, cards: Sequence[str]) -> bool:
    for requirement in planned.parse(as_texts(row.get("requires_nvidia"))):
        if requirement.name.startswith("nvidia-cudnn-"):
            chosen = planned.newest(requirement, nvidia_packages(view))
            served = chosen and cudnn_row(view.tables, chosen[1], lambda: text_in(row, "cuda"))
            oldest = versions.parse(str(served["oldest_card"])) if served else None
            if oldest is not None and any(versions.parse(card) < oldest for card in cards):
                return False
    return True


def capped(requirements: Sequence[str], view: View, cards: Sequence[str]) -> tuple[str, ...]:
    """Return the requirements, cuDNN held back to the last one with code for the oldest card here."""
    oldest_here = min(cards, key=versions.parse, default=None)
    if oldest_here is None:
        return tuple(requirements)
    rows = [
        row
        for row in view.table("cudnn_architectures").rows
        if "last" in row and versions.parse(str(row["oldest_card"])) <= versions.parse(oldest_here)
    ]
    serving = [
        row
        for row in view.table("cudnn_architectures").rows
        if "last" not in row and versions.parse(str(row["oldest_card"])) <= versions.parse(oldest_here)
    ]
    if serving or not rows:
        return tuple(requirements)
    limit = max((str(row["last"]) for row in rows), key=versions.parse)
    return tuple(_held_back(text, limit) for text in requirements)


def _held_back(text: str, limit: str) -> str:
    is_open = text.startswith("nvidia-cudnn-") and "==" not in text
    return planned.bounded(text, f"<={limit}") if is_open else text
