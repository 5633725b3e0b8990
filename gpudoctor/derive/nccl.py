"""NCCL, which only several cards need: for which of them does the one that is installed have code?"""

from __future__ import annotations

from collections.abc import Sequence

from packaging.version import Version

from gpudoctor import versions
from gpudoctor.derive import planned
from gpudoctor.derive.releases import nvidia_packages
from gpudoctor.derive.view import View, as_texts, text_in
from gpudoctor.model import Absent, Fact, Known, Row, Unknown

_PREFIX = "nvidia-nccl-cu"
_TABLE = "rules/tables/nvidia_code.toml"


def oldest_card(view: View) -> Fact:
    """Return the oldest card that the NCCL of its packages has code for."""
    found = _installed(view)
    if found is None:
        return Absent(source="no package with NCCL is installed")
    name, version = found
    below = [row for row in _rows(name, view) if _version(row) <= versions.parse(version)]
    if not below:
        return Unknown(reason=f"the rule database does not say which cards {name} {version} serves")
    row = max(below, key=_version)
    return Known(value=_oldest(row), source=f"{_TABLE} for {name} {row['version']}")


def requirement(view: View, cards: Sequence[str]) -> Fact:
    """Return what pip is to install for the newest NCCL that has code for every card here."""
    found = _installed(view)
    if found is None or not cards:
        return Absent(source="no package with NCCL is installed, or there is no card")
    oldest = min(cards, key=versions.parse)
    rows = [row for row in _rows(found[0], view) if versions.parse(_oldest(row)) <= versions.parse(oldest)]
    if not rows:
        return Absent(source=f"no {found[0]} that was looked at has code for {oldest}")
    newest = max(rows, key=_version)
    return Known(value=(f"{found[0]}=={newest['version']}",), source=_TABLE)


def _installed(view: View) -> tuple[str, str] | None:
    """Return the distribution of NCCL and its version: what is to be installed comes before what is."""
    packages = nvidia_packages(view)
    for wanted in planned.parse(planned.together(view.texts("python.planned_distributions"), packages)):
        if wanted.name.startswith(_PREFIX):
            chosen = planned.newest(wanted, packages)
            if chosen is not None:
                return wanted.name, chosen[1]
    for record in view.records("python.nvidia_distributions"):
        if text_in(record, "name").startswith(_PREFIX):
            return text_in(record, "name"), text_in(record, "version")
    return None


def _rows(name: str, view: View) -> list[Row]:
    return [row for row in view.table("nvidia_code").rows if row["distribution"] == name]


def _version(row: Row) -> Version:
    return versions.parse(str(row["version"]))


def _oldest(row: Row) -> str:
    return min((text.rstrip("af") for text in as_texts(row["sass"])), key=versions.parse)
