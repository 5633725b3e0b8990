"""Machines that work, drawn from the tables: a release, a Python, a driver, a card and the libraries of them.

What is put together here is what the tables say works: nothing of the engine decides it, but the comparison
of device code with a compute capability and the choice of the newest package that a requirement admits.
"""

from __future__ import annotations

import itertools
import posixpath
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from functools import cache

from hypothesis import strategies as st

from gpudoctor import ruledb, versions
from gpudoctor.derive import planned, published
from gpudoctor.derive.device_code import coverage
from gpudoctor.derive.view import as_records, as_texts, floor_row
from gpudoctor.frozen import frozen
from gpudoctor.model import Record, Row, RuleDatabase, Table, Value
from tools import sweep_states as sweep

PLATFORMS = ("linux_x86_64", "linux_aarch64")
SITE = "/home/user/venv/lib/python3/site-packages"
# Where Paddle's library lies that opens the others; the tables have no column for it.
_LOADERS = {"paddle": "paddle/base/libpaddle.so"}


@cache
def database() -> RuleDatabase:
    """Return the rules that ship."""
    return ruledb.load()


def table(name: str) -> Table:
    """Return a table of these rules."""
    return database().tables[name]


@frozen
class Build:
    """A wheel with CUDA whose device code was read, and the cards and drivers that run it."""

    framework: str
    release: str
    platform: str
    row: Row

    def __hash__(self) -> int:
        return hash((self.release, self.platform))


@frozen
class Machine:
    """What works together; `packaged` says whether the libraries are Python packages, or the system's."""

    build: Build
    python: str
    driver: str
    card: sweep.Card
    packaged: bool


def at_least(one: Value, other: Value) -> bool:
    """Return whether a version is not below another."""
    return versions.parse(str(one)) >= versions.parse(str(other))


def major(version: Value) -> int:
    """Return the first number of a version."""
    return versions.parse(str(version)).major


# -- builds ------------------------------------------------------------------------------------------


@cache
def builds(framework: str, platform: str) -> tuple[Build, ...]:
    """Return the releases whose CUDA and device code are known and which pip can install."""
    found = sweep.releases(framework, platform, database())
    return tuple(
        Build(framework=framework, release=one.assumption, platform=platform, row=one.row)
        for one in found if "cuda" in one.row and pythons(framework, one.row)
        and not versions.parse(str(one.row["version"])).is_prerelease)


def pythons(framework: str, row: Row) -> tuple[str, ...]:
    """Return the Pythons that have the wheel and for which its CUDA extra can be installed."""
    broken = {python for other in table("broken_extras").rows for python in as_texts(other["python"])
              if (other["framework"], other["version"]) == (framework, row["version"])}
    return tuple(python for python in as_texts(row.get("python")) if python not in broken)


def cuda_of(build: Build) -> str:
    """Return the CUDA of a build: of "12" alone the first, whose drivers run them all; of "10" the last."""
    stated = str(build.row["cuda"])
    if "." in stated:
        opened = [name.removeprefix("libcudart.so.") for name in as_texts(build.row.get("loads"))
                  if name.startswith("libcudart.so.10.")]
        return max([stated, *opened], key=versions.parse)
    minors = [str(row["cuda"]) for row in table("cuda_toolkits").rows if major(row["cuda"]) == int(stated)]
    floor = next((row["floor_cuda"] for row in table("minor_version_compatibility").rows
                  if row["cuda_major"] == stated and "floor_cuda" in row), None)
    return str(floor or max(minors, key=versions.parse))


def sonames(build: Build) -> tuple[str, ...]:
    """Return the libraries that it cannot do without, as its row or the table of JAX's plugins says."""
    loads = as_texts(build.row.get("loads"))
    if build.framework != "jax":
        return loads
    rows = [row for row in table("jax_libraries").rows if row["cuda_major"] == str(major(build.row["cuda"]))
            and at_least(build.row["version"], row["since"])]
    return as_texts(max(rows, key=lambda row: versions.parse(str(row["since"])), default={}).get("libraries"))


@cache
def nvidia_packages(platform: str) -> Table:
    """Return what NVIDIA's packages for a platform hold."""
    return published.for_platform(table(published.nvidia_table(platform)), platform)


@cache
def packages(build: Build) -> Mapping[str, Record]:
    """Return the files, by path, that pip brings for what it asks for: the newest that its pins admit."""
    requires = as_texts(build.row.get("requires_nvidia"))
    found = dict(planned.files(requires, SITE, nvidia_packages(build.platform)))
    return {path: {**record, "machine": build.platform.partition("_")[2]} for path, record in found.items()}


def finds_its_packages(build: Build) -> bool:
    """Return whether each library that it needs is among its packages and where it looks by itself."""
    paths = packages(build)
    if not paths:
        return False
    origin = posixpath.dirname(f"{SITE}/{loader_of(build)}")
    entries = (*as_texts(build.row.get("rpath")), *as_texts(build.row.get("runpath")))
    folders = {posixpath.normpath(entry.replace("$ORIGIN", origin)) for entry in entries}
    return all(any(f"{folder}/{name}" in paths for folder in folders) for name in own_libraries(build))


def own_libraries(build: Build) -> tuple[str, ...]:
    """Return those of its libraries that NVIDIA's packages bring, not the driver and not the system."""
    drivers = {str(row["stem"]) for row in table("libraries").rows if row["role"] == "driver"}
    return tuple(name for name in sonames(build) if name.partition(".so")[0] not in drivers)


def loader_of(build: Build) -> str:
    """Return the path, below the package folder, of the library through which it opens CUDA's."""
    own = _LOADERS.get(build.framework, build.row.get("code_library", ""))
    return str(build.row.get("loader", own))


# -- drivers and cards -------------------------------------------------------------------------------


@cache
def cards(platform: str) -> tuple[sweep.Card, ...]:
    """Return the cards that are plugged into such a machine; an Arm server takes any."""
    del platform
    return tuple(sweep.cards(database(), "linux_x86_64"))


@cache
def products() -> Mapping[str, list[str]]:
    """Return the names of the cards of each compute capability."""
    return sweep.products(database())


@cache
def devices() -> Mapping[str, str]:
    """Return the PCI device of each product that the table of PCI ids names as the one of products does."""
    listed = (str(card).partition(" ") for row in table("pci_ids").rows for card in as_texts(row["cards"]))
    return {name.partition(" (")[0]: place.partition(":")[0] for place, _, name in listed}


@cache
def drivers() -> tuple[str, ...]:
    """Return the drivers that came with a CUDA, and those with which compatibility begins."""
    rows = (*table("cuda_toolkits").rows, *table("minor_version_compatibility").rows)
    return tuple(sorted({str(row["minimum_driver"]) for row in rows if "minimum_driver" in row},
                        key=versions.parse))


def runs(driver: str, build: Build) -> bool:
    """Return whether a driver runs the machine code of a build: by its own CUDA, or its major release's."""
    cuda = cuda_of(build)
    compatible = next((row for row in table("minor_version_compatibility").rows
                       if row["cuda_major"] == str(major(cuda)) and "minimum_driver" in row), None)
    own = (str(row["minimum_driver"]) for row in table("cuda_toolkits").rows if at_least(row["cuda"], cuda))
    return at_least(driver, compatible["minimum_driver"] if compatible else min(own, key=versions.parse))


def serves(driver: str, card: sweep.Card) -> bool:
    """Return whether a driver is of a branch that serves the card."""
    return driver.partition(".")[0] in {known.partition(".")[0] for known in card.drivers}


def cudnn_serves(build: Build, card: sweep.Card) -> bool:
    """Return whether the cuDNN among its packages has code for the card."""
    brought = [str(record["version"]) for path, record in packages(build).items()
               if posixpath.basename(path).startswith("libcudnn.so")]
    rows = [floor_row(table("cudnn_architectures"), "since", version) for version in brought]
    return all(row is None or at_least(card.capability, row["oldest_card"]) for row in rows)


@cache
def fitting(build: Build) -> tuple[tuple[str, sweep.Card], ...]:
    """Return the drivers and cards that run a build without anything to be compiled."""
    code = as_records(build.row["code"])
    own = [card for card in cards(build.platform) if coverage(code, card.capability).kind == "native"]
    return tuple((driver, card) for driver in drivers() if runs(driver, build)
                 for card in own if serves(driver, card))


@cache
def kinds() -> tuple[tuple[str, str], ...]:
    """Return the frameworks and platforms that the tables have builds of which any card runs."""
    return tuple((framework, platform) for framework in sweep.FRAMEWORKS for platform in PLATFORMS
                 if any(fitting(build) for build in builds(framework, platform)))


def _machines(build: Build) -> Iterator[Machine]:
    ways = []
    if finds_its_packages(build):
        ways.append(True)
    if build.framework != "torch" or not build.row.get("requires_nvidia"):
        ways.append(False)  # torch asks for its packages whatever the system has
    for packaged, (driver, card) in itertools.product(ways, fitting(build)):
        if not packaged or cudnn_serves(build, card):
            for python in pythons(build.framework, build.row):
                yield Machine(build=build, python=python, driver=driver, card=card, packaged=packaged)


@cache
def alike(framework: str, platform: str) -> tuple[tuple[Machine, ...], ...]:
    """Return every machine that the tables say works: in one group those that differ in driver and Python."""
    found: dict[object, list[Machine]] = {}
    for build in builds(framework, platform):
        for machine in _machines(build):
            found.setdefault((build.release, machine.packaged, machine.card.capability), []).append(machine)
    return tuple(tuple(group) for group in found.values())


def drawn(can: Callable[[Machine], bool] = lambda _: True,
          frameworks: Collection[str] = sweep.FRAMEWORKS) -> st.SearchStrategy[Machine]:
    """Draw a machine that `can`; each framework and platform as often as the others."""
    groups = [fit for framework, platform in kinds() if framework in frameworks
              if (fit := [group for group in alike(framework, platform) if can(group[0])])]
    return st.sampled_from(groups).flatmap(st.sampled_from).flatmap(st.sampled_from)


# -- what has to be compiled -------------------------------------------------------------------------


@cache
def compiling(*, known: bool) -> tuple[Machine, ...]:
    """Return machines with a card for which the build holds PTX, and a driver that knows that PTX, or not."""
    return tuple(
        replace(group[0], card=card, driver=driver)
        for kind in kinds() for group in alike(*kind) for card in cards(kind[1])
        if (first := _first_cuda(group[0].build, card)) is not None and not (known and _fails(group[0], card))
        for driver, ceiling in _ceilings().items() if at_least(ceiling, first) is known
        and runs(driver, group[0].build) and serves(driver, card))


@cache
def _ceilings() -> Mapping[str, Value]:
    """Return the newest CUDA of the drivers that came with one."""
    rows = [row for row in table("cuda_toolkits").rows if "minimum_driver" in row]
    newest = {str(row["minimum_driver"]): row["cuda"] for row in rows}
    return {driver: newest[driver] for driver in drivers() if driver in newest}


def _first_cuda(build: Build, card: sweep.Card) -> str | None:
    """Return the CUDA whose drivers compile what the card needs compiled, None where it needs nothing."""
    found = coverage(as_records(build.row["code"]), card.capability)
    if found.kind not in ("ptx", "partial") or found.ptx_isa is None:
        return None
    return next((str(row["cuda"]) for row in table("ptx_isa").rows if row["ptx_isa"] == found.ptx_isa), None)


def _fails(machine: Machine, card: sweep.Card) -> bool:
    """Return whether the tables say that the framework's PTX, or its cuDNN, does not run on such a card."""
    failing = {(row["framework"], row["card_major"]) for row in table("ptx_failures").rows}
    return (machine.build.framework, major(card.capability)) in failing or (
        machine.packaged and not cudnn_serves(machine.build, card))
