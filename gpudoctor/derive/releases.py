"""The table rows of framework releases: which one this build is, and which ones would fit this machine."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from gpudoctor import versions
from gpudoctor.derive import device_code
from gpudoctor.derive.view import View, as_records, as_texts
from gpudoctor.model import Absent, Fact, Facts, Known, Record, Value

Row = Mapping[str, Value]

def platform_of(view: View) -> str:
    """Return the platform name that tables use, such as linux_x86_64."""
    return f"{view.need_text('system.os').lower()}_{view.need_text('system.architecture')}"


def release_rows(view: View, name: str) -> Iterator[Row]:
    """Yield the table rows of a framework for this platform, oldest first."""
    platform = platform_of(view)
    for row in view.table(name).rows:
        if row.get("platform") == platform:
            yield row


def own_row(view: View) -> Row | None:
    """Return the row of this very build: by the library's sha256; by version only where RECORD does not list it."""
    name = view.need_text("framework.name")
    if name not in view.tables:
        return None
    sha256 = view.fact("framework.code_library_sha256")
    rows = list(release_rows(view, name))
    if isinstance(sha256, Known):
        return next((row for row in rows if sha256.value in as_texts(row.get("library_sha256"))), None)
    version = view.value("framework.version")
    if version is None or view.value("framework.installer") == "conda" or "+" in str(version):
        return None
    if view.value("framework.distribution") not in (None, name):
        return None
    return next((row for row in rows if row["version"] == version), None)


def code_of(view: View) -> tuple[Record, ...]:
    """Return the device code of this build, or end the derivation with why it is not known."""
    row = own_row(view)
    if row is not None and "code" in row:
        return as_records(row["code"])
    return as_records(view.need("framework.code"))


def cuda_version(view: View) -> str:
    """Return the CUDA the build is for: its own word, else its row's, else the major of the packages it asks for."""
    stated = view.value("framework.cuda") or (own_row(view) or {}).get("cuda")
    if stated is not None:
        return str(stated)
    for requirement in view.texts("framework.requires_nvidia") + view.texts("framework.extra_requires_nvidia"):
        match = re.search(r"-cu(\d+)\b", requirement)
        if match:
            return match[1]
    return view.need_text("framework.cuda")


def ceiling_for(ptx_isa: str, view: View) -> str | None:
    """Return the first CUDA whose driver compiles a PTX ISA version, or None when the table does not reach it."""
    rows = view.table("ptx_isa").rows
    return next((str(row["cuda"]) for row in rows if row["ptx_isa"] == ptx_isa), None)


def fitting_release(view: View, cards: tuple[Facts, ...]) -> Fact:
    """Return the newest final release with a wheel for this Python and glibc, a CUDA that this driver runs, and code
    for every card here that needs no PTX newer than the driver knows."""
    name = view.need_text("framework.name")
    if name not in view.tables:
        return Absent(source=f"the rule database has no table of {name} releases")
    capabilities = [str(c.value) for card in cards
                    if isinstance(c := card.get("gpu.compute_capability"), Known)]
    fitting = [row for row in release_rows(view, name) if _fits(row, view, capabilities)]
    best = max(fitting, key=lambda row: versions.parse(str(row["version"])), default=None)
    if best is None:
        return Absent(source=f"no {name} release in the rule database fits")
    return Known(value=f"{name}=={best['version']}", source=str(best["source"]))


def _fits(row: Row, view: View, capabilities: list[str]) -> bool:
    if versions.parse(str(row["version"])).is_prerelease or row.get("build") != "cuda" or "code" not in row:
        return False
    python = ".".join(view.need_text("python.version").split(".")[:2])
    if python not in as_texts(row.get("python")):
        return False
    glibc = view.value("system.glibc")
    if glibc is not None and "glibc" in row and versions.parse(str(glibc)) < versions.parse(str(row["glibc"])):
        return False
    return _driver_runs(row, view) and all(_card_runs(row, view, capability) for capability in capabilities)


def _driver_runs(row: Row, view: View) -> bool:
    ceiling = view.value("driver.cuda_ceiling")
    if ceiling is None or "cuda" not in row:
        return ceiling is None
    cuda = versions.parse(str(row["cuda"]))
    floor = next((str(r.get("floor_cuda", cuda)) for r in view.table("minor_version_compatibility").rows
                  if r["cuda_major"] == str(cuda.major)), str(cuda))
    return versions.parse(str(ceiling)) >= versions.parse(floor)


def _card_runs(row: Row, view: View, capability: str) -> bool:
    found = device_code.coverage(as_records(row["code"]), capability)
    if found.kind in ("none", "ptx"):
        return False
    ceiling = view.value("driver.cuda_ceiling")
    if found.ptx_isa is None or ceiling is None:
        return True
    needed = ceiling_for(found.ptx_isa, view)
    return needed is not None and versions.parse(needed) <= versions.parse(str(ceiling))


def fitting_requirement(view: View) -> Fact:
    """Return what pip is to install for the fitting release, with its CUDA extra where it has one."""
    name, _, version = view.need_text("framework.fitting_release").partition("==")
    row: Row = next((r for r in release_rows(view, name) if r["version"] == version), {})
    extra = "[and-cuda]" if name == "tensorflow" and row.get("requires_nvidia") else ""
    return Known(value=f"{name}{extra}=={version}", source="rule database")
