"""A machine as a text lets one suppose it, to fill in the words of fixes: never to judge by.

What is stated as `text.*` stands for the facts of a machine with one framework and cards of these kinds; of
a release that the tables have, also what was published of it. What belongs to no release (what lies where on
that machine) stays unknown, and a fix whose words need it is not printed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from gpudoctor import versions
from gpudoctor.assume.products import capabilities_of
from gpudoctor.assume.releases import facts_of_row
from gpudoctor.derive import published
from gpudoctor.derive.view import as_texts
from gpudoctor.explanation.card_fit import possible_capabilities
from gpudoctor.explanation.stated import Stated
from gpudoctor.model import Absent, Fact, Facts, Known, Snapshot, Tables, Unknown, rows_of, value_of

_PACKAGES = {"pytorch": "torch"}
_ELSEWHERE = {"windows", "macos", "jetson"}  # there a wheel for Linux on x86-64 is none
_IN_WSL = {"wsl1", "wsl2"}
CONTAINERS = {"docker", "podman", "lxc", "singularity", "kubernetes"}
_NOT_WINDOWS = {"linux", "macos", *_IN_WSL, *CONTAINERS}
_SYSTEMS = (("linux", "Linux"), ("windows", "Windows"), ("macos", "Darwin"))  # of several the first counts
_NOT_ON_WINDOWS = ("system.wsl", "system.jetson", "container.runtime")
_OTHER_PROCESSORS = ("arm", "aarch64", "ppc64le")
_SUPPOSED = "supposed: the text does not say otherwise"
_PLACE = "the text states the place"
_STATED = "the text states a card, or a generation"
_HOST = {"python.version": "text.python", "nvml.driver_version": "text.driver",
         "nvml.cuda_version": "text.driver_ceiling"}
_FRAMEWORK = {"framework.version": "text.framework_version", "framework.cuda": "text.build_cuda"}
_ORDINARY_PLATFORM = "linux_x86_64"


def supposed(snapshot: Snapshot, tables: Tables) -> Snapshot:
    """Return the told snapshot with what it states of a machine where a machine has it."""
    said = snapshot.host
    frameworks = _framework(said) if isinstance(snapshot.frameworks, Unknown) else snapshot.frameworks
    if not isinstance(frameworks, Unknown):
        frameworks = tuple({**_published(facts, tables), **facts} for facts in frameworks)
    host: dict[str, Fact] = {
        "python.executable": Known(value="python", source=_SUPPOSED), **_python(frameworks, tables)}
    host |= {name: said[text] for name, text in _HOST.items() if isinstance(said.get(text), Known)}
    places = as_texts(value_of(said, "text.places"))
    if _is_ordinary(said):
        host |= {"system.os": Known(value="Linux", source=_SUPPOSED),
                 "system.architecture": Known(value="x86_64", source=_SUPPOSED),
                 "system.distribution": Absent(source=_SUPPOSED), "system.jetson": Absent(source=_SUPPOSED)}
        host |= _place(places)
    elif _is_windows(said):
        host |= {"system.os": Known(value="Windows", source=_SUPPOSED),
                 "system.architecture": Known(value="x86_64", source=_SUPPOSED),
                 **{name: Absent(source=_SUPPOSED) for name in _NOT_ON_WINDOWS}}
    elif named := [system for place, system in _SYSTEMS if place in places]:
        host["system.os"] = Known(value=named[0], source=_PLACE)
    host |= {name: fact for name, fact in said.items() if name not in host or isinstance(fact, Known)}
    return replace(
        snapshot, host=host,
        gpus=_cards(snapshot.gpus, said, tables),
        frameworks=frameworks)


def _is_ordinary(said: Facts) -> bool:
    system = said.get("text.os")
    named = str(system.value).lower() if isinstance(system, Known) else ""
    return _ELSEWHERE.isdisjoint(as_texts(value_of(said, "text.places"))) and not any(
        processor in named for processor in _OTHER_PROCESSORS)


def _place(places: Sequence[str]) -> dict[str, Fact]:
    """Return whether it is WSL or a container: what no text says of is neither."""
    wsl = next((int(place[-1]) for place in places if place in _IN_WSL), None)
    container = next((place for place in places if place in CONTAINERS), None)
    return {name: Absent(source=_SUPPOSED) if value is None else Known(value=value, source=_PLACE)
            for name, value in (("system.wsl", wsl), ("container.runtime", container))}


def _is_windows(said: Facts) -> bool:
    """Say whether all of it happens on Windows for PCs: not in WSL, a container, or on an ARM processor."""
    places = as_texts(value_of(said, "text.places"))
    named = str(value_of(said, "text.os")).lower()
    return "windows" in places and _NOT_WINDOWS.isdisjoint(places) and not any(
        processor in named for processor in _OTHER_PROCESSORS)


def _cards(listed: tuple[Facts, ...] | Unknown, said: Facts, tables: Tables) -> tuple[Facts, ...] | Unknown:
    """Return the listed cards, or one of each stated compute capability, or of each of a generation.

    A listed card whose name stands for several products becomes one of each: a fix fits all.
    """
    if not isinstance(listed, Unknown):
        return tuple(one for card in listed for one in _each_product(card, tables))
    stated = Stated(facts=said, tables=tables, rows=())
    capabilities = stated.texts("text.capabilities") or possible_capabilities(stated)
    if not capabilities:
        return Unknown(reason="the text does not list them", asked=False)
    return tuple({"gpu.index": Known(value=index, source=_STATED),
                  "gpu.compute_capability": Known(value=capability, source=_STATED)}
                 for index, capability in enumerate(capabilities))


def _each_product(card: Facts, tables: Tables) -> Iterator[Facts]:
    name, is_known = card.get("gpu.name"), isinstance(card.get("gpu.compute_capability"), Known)
    possible = capabilities_of(str(name.value), tables) if isinstance(name, Known) and not is_known else ()
    for one in possible:
        yield {**card, "gpu.compute_capability": Known(value=one, source=_STATED)}
    if not possible:
        yield card


def _framework(said: Facts) -> tuple[Facts, ...] | Unknown:
    name = said.get("text.framework")
    if not isinstance(name, Known):
        return Unknown(reason="the text does not list them", asked=False)
    package = Known(value=_PACKAGES.get(str(name.value), name.value), source=name.source)
    stated = {fact: said[text] for fact, text in _FRAMEWORK.items() if isinstance(said.get(text), Known)}
    return ({"framework.name": package, "framework.distribution": package, **stated},)


def _published(facts: Facts, tables: Tables) -> Facts:
    """Return what was published of this release, or of the newest one of the series that is stated."""
    name, version = facts.get("framework.name"), facts.get("framework.version")
    if not isinstance(name, Known) or not isinstance(version, Known):
        return {}
    wanted = str(version.value).partition("+")[0]
    indexed = published.indexed_rows(str(name.value), _ORDINARY_PLATFORM, tables)
    rows = [row for row in indexed if row["version"] == version.value] or [
        row for row in rows_of(tables, str(name.value)) if row["platform"] == _ORDINARY_PLATFORM
        and f"{row['version']}.".startswith(f"{wanted}.")]
    newest = max(rows, key=lambda row: versions.parse(str(row["version"])), default=None)
    found = facts_of_row(str(name.value), newest, _SUPPOSED) if newest else {}
    return {fact: value for fact, value in found.items() if fact != "framework.installer"}


def _python(frameworks: tuple[Facts, ...] | Unknown, tables: Tables) -> dict[str, Fact]:
    """Return the oldest Python that the newest release of the framework takes: older ones take it too."""
    name = frameworks[0].get("framework.name") if isinstance(frameworks, tuple) and frameworks else None
    listed = rows_of(tables, str(name.value)) if isinstance(name, Known) else ()
    rows = [row for row in listed if as_texts(row.get("python"))]
    if not rows:
        return {}
    newest = max(rows, key=lambda row: versions.parse(str(row["version"])))
    oldest = min(as_texts(newest["python"]), key=versions.parse)
    return {"python.version": Known(value=f"{oldest}.0", source=_SUPPOSED)}
