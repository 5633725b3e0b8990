"""Facts of one card with one framework: is there machine code, and what must the driver compile?"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from gpudoctor import versions
from gpudoctor.derive import (
    branches, driver_packages, integrated, minor_versions, other_builds, ptx_failures, published, stale,
)
from gpudoctor.derive.device_code import Coverage
from gpudoctor.derive.releases import (
    ceiling_for, code_of, code_value_of, cuda_version, no_driver_for, platform_of, release_rows,
)
from gpudoctor.derive.remembered import of_same
from gpudoctor.derive.view import NotKnown, View, as_records, as_texts, floor_row, text_in
from gpudoctor.model import Absent, Fact, Known, Row, Unknown, Value


def pair_ready(view: View) -> Fact:
    """Return whether the card and the build can be judged together; not before the driver works."""
    if view.need("framework.has_gpu_build") is False:
        return Known(value=False, source="this build uses no NVIDIA GPU")
    if view.value("driver.ready") is True and view.need("gpu.hidden") is True:
        return Known(value=False, source="CUDA_VISIBLE_DEVICES hides this card from it")
    if view.value("driver.ready") is True and branches.is_left_out(view.facts):
        return Known(value=False, source="the driver does not serve this card: programs use the others")
    ready = view.fact("driver.ready")
    said = ready.source if isinstance(ready, Known) else "driver.ready"
    return Known(value=view.need("driver.ready"), source=f"{said}; a CUDA build")


def pair_code(view: View) -> Fact:
    """Return what machine code this build has for this card."""
    return Known(value=_coverage(view).kind, source=_in_words(code_value_of(view)))


@of_same
def _in_words(code: Value) -> str:
    """Return for which compute capabilities a build holds machine code, and for which PTX."""
    parts = []
    for said, kind in (("machine code", "sass"), ("PTX", "ptx")):
        held = {item.partition("@")[0] for record in as_records(code) for item in as_texts(record.get(kind))}
        if held:
            parts.append(f"{said} for {', '.join(sorted(sorted(held), key=_by_capability))}")
    return "; ".join(parts) or "no device code"


def _by_capability(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"[0-9]+", text))


def pair_ptx_isa(view: View) -> Fact:
    """Return the newest PTX ISA that the driver must compile for this card."""
    isa = _coverage(view).ptx_isa
    if isa is None:
        return Absent(source="nothing must be compiled for this card")
    return Known(value=isa, source="device code of the build")


def pair_ptx_ceiling(view: View) -> Fact:
    """Return the oldest driver ceiling that is known to compile the PTX this card needs.

    A driver of CUDA X compiles whatever the toolkit X wrote. So a build of that CUDA or an older one needs no
    table; only below it does the version of the PTX decide.
    """
    isa = view.need_text("pair.ptx_isa")
    ceiling = ceiling_for(isa, view)
    if ceiling is not None:
        return Known(value=ceiling, source=f"rules/tables/ptx_isa.toml for PTX ISA {isa}")
    cuda = cuda_version(view)
    here = view.bound("driver.cuda_ceiling") or view.need_text("driver.cuda_ceiling")
    with_minor = "." in cuda  # "13" alone may be any of its minor releases
    if with_minor and versions.parse(here) >= versions.parse(cuda):
        return Known(value=cuda, source=f"the build is for CUDA {cuda}, so its PTX {isa} is no newer")
    table = view.table("ptx_isa")
    newest = floor_row(table, "ptx_isa", isa)
    end = stale.end_of(view.tables, "ptx_isa", "ptx_isa")
    if newest is not None and stale.is_newer(isa, end):
        return stale.unknown(view, f"PTX ISA {isa}", end, at_least=newest["cuda"])
    return Unknown(reason=f"the rule database does not know PTX ISA {isa}; a driver that runs the CUDA "
                          f"of the build ({cuda}) compiles it")


def pair_ptx_driver(view: View) -> Fact:
    """Return the first driver that compiles the PTX this card needs and runs the framework."""
    ceiling = view.need_text("pair.ptx_ceiling")
    row = minor_versions.toolkit_of(ceiling, view)
    if row is None:
        return no_driver_for(ceiling, view)
    found, floor = str(branches.oldest_driver(row, view)), view.value("framework.minimum_driver")
    both = found if floor is None else max(found, str(floor), key=versions.parse)
    return Known(value=both, source=str(row["source"]))


def pair_ptx_fails(view: View) -> Fact:
    """Return whether such PTX of this framework is reported to fail on such cards all the same."""
    target = _coverage(view).ptx_target
    if target is None:
        return Absent(source="nothing must be compiled for this card")
    capability = view.need_text("gpu.compute_capability")
    listed = _reports(view, target)
    row = ptx_failures.on_card(listed, capability)
    end = stale.end_of(view.tables, "architectures", "compute_capability")
    if row is None and listed and stale.is_newer(capability, end):
        known = " and ".join(f"{row['card_major']}.x" for row in listed)
        return Unknown(reason=f"PTX for {target} is reported to fail on {known}, and "
                              f"compute capability {capability} is newer than what anybody reported of")
    said = "rules/tables/ptx_failures.toml" if row is None else row["source"]
    return Known(value=row is not None, source=f"PTX for {target}; {said}")


def _reports(view: View, target: str) -> list[Row]:
    """Return the reports of PTX for `target` of this framework, whatever the card."""
    name = view.need_text("framework.name")
    return ptx_failures.reports(view.table("ptx_failures"), name, target)


def serves(view: View, capability: str) -> bool:
    """Return whether the build has code that works on a card of this compute capability."""
    found = _of_build(view, capability)
    if found.kind != "ptx" or found.ptx_target is None:
        return found.kind != "none"
    return ptx_failures.on_card(_reports(view, found.ptx_target), capability) is None


def pair_architecture_note(view: View) -> Fact:
    """Return in words which CUDA toolkits compile for this card."""
    capability = view.need_text("gpu.compute_capability")
    row = floor_row(view.table("architectures"), "compute_capability", capability)
    end = stale.end_of(view.tables, "architectures", "compute_capability")
    if stale.is_newer(capability, end):
        rules = f"rules {view.database.version}, which end at {end}"
        said = f"Compute capability {capability} is newer than {rules}"
        return Known(value=said, source="rules/tables/architectures.toml")
    if row is None or row["compute_capability"] != capability:
        return Unknown(reason=f"the rule database does not know compute capability {capability}")
    named = row.get("architecture")
    family = f"{named} ({capability})" if named else f"compute capability {capability}"
    if "last_cuda" in row:
        last = str(row["last_cuda"])
        next_major = int(last.partition(".")[0]) + 1
        return Known(
            value=f"CUDA {last} is the last that compiles for {family}; CUDA {next_major} dropped it",
            source=str(row["source"]),
        )
    since = (
        f"CUDA {row['first_cuda']} was the first that compiles for"
        if "first_cuda" in row
        else "CUDA compiles for"
    )
    return Known(value=f"{since} {family}", source=str(row["source"]))


def pair_release_note(view: View) -> Fact:
    """Return in words that no known release has machine code for this card; absent where one has.

    What is on no package index, or was not read, may have some: what is known to be there is named.
    """
    name, capability = view.need_text("framework.name"), view.need_text("gpu.compute_capability")
    if not published.is_listed(name, view.tables):
        return Absent(source=f"the rule database has no table of {name} releases")
    for row in release_rows(view, name):
        if row.get("build") == "cuda" and "code" in row:
            cuda = text_in(row, "cuda")
            kind = integrated.coverage(as_records(row["code"]), capability, cuda, view.tables).kind
            if kind in ("native", "partial"):
                return Absent(source=f"{name} {row['version']} has machine code for it")
    said = (f"No {name} wheel that these rules ({view.database.version}) have read has machine code for such "
            "a card")
    ceiling = view.bound("driver.cuda_ceiling")
    others = () if ceiling is None else other_builds.in_words(
        name, platform_of(view), str(ceiling), capability, view.tables)
    return Known(value="; ".join((said, *others)), source=f"rules/tables/{name}.toml")


def _of_build(view: View, capability: str) -> Coverage:
    """Return what this build has for a card, where its CUDA is known if that decides."""
    cuda = None
    if integrated.depends_on_cuda(capability, view.tables):
        cuda = cuda_version(view)
        if "." not in cuda:
            raise NotKnown(Unknown(reason=f"of the build's CUDA only the major version is known ({cuda}), "
                                          f"and the minor one decides what runs on {capability}"))
    return integrated.coverage(code_of(view), capability, cuda, view.tables)


def _coverage(view: View) -> Coverage:
    if view.need("framework.has_gpu_build") is False:
        raise NotKnown(Absent(source="this build uses no NVIDIA GPU"))
    if view.value("gpu.lost") is True:
        raise NotKnown(Absent(source="the card is lost: no code is for it until it is back"))
    return _of_build(view, view.need_text("gpu.compute_capability"))


PAIR_DERIVATIONS: Mapping[str, Callable[[View], Fact]] = {
    "pair.ready": pair_ready,
    "pair.code": pair_code,
    "pair.ptx_isa": pair_ptx_isa,
    "pair.ptx_ceiling": pair_ptx_ceiling,
    "pair.ptx_driver": pair_ptx_driver,
    "pair.ptx_fails": pair_ptx_fails,
    "pair.maintained_driver": driver_packages.for_fact(driver_packages.maintained_driver, "pair.ptx_driver"),
    "pair.driver_command": driver_packages.for_fact(driver_packages.branch_command, "pair.ptx_driver"),
    "pair.release_note": pair_release_note,
    "pair.architecture_note": pair_architecture_note,
}
