"""What a release was made for, and what is installed beside it: another NumPy, an older protobuf."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from packaging.specifiers import SpecifierSet

from gpudoctor import versions
from gpudoctor.derive import planned
from gpudoctor.derive.releases import own_row
from gpudoctor.derive.view import View, as_texts
from gpudoctor.model import Absent, Fact, Known, Row

if TYPE_CHECKING:
    from packaging.requirements import Requirement

Derivation = Callable[[View], Fact]
Judge = Callable[[SpecifierSet, str], bool]
_BEGIN = (">=", ">", "==", "~=")
_END = ("<=", "<", "==", "~=")


def unmet(distribution: str, is_unmet: Judge) -> Derivation:
    """Return a derivation of the release's requirement on a distribution if what is installed breaks it.

    A requirement that a fix would install counts as met.
    """

    def derivation(view: View) -> Fact:
        installed = str(view.need(f"python.{distribution}"))
        row = own_row(view)
        if row is None:
            return Absent(source="the rule database does not know this release")
        if distribution in planned.names(view.texts("python.planned_distributions")):
            return Absent(source=f"a {distribution} that fits is to be installed")
        for requirement in planned.parse(as_texts(row.get("requires"))):
            if requirement.name != distribution:
                continue
            if is_unmet(requirement.specifier, installed):
                return Known(value=str(requirement), source=str(row["source"]))
            later = _later_break(row, requirement, installed, view)
            if later is not None:
                return Known(value=str(later["pin"]), source=str(later["source"]))
        return Absent(source=f"the release takes {distribution} {installed}")

    return derivation


def numpy_unmet(view: View) -> Fact:
    """Return the NumPy that a release takes: by its compiled code where that tells, else by its metadata."""
    row = own_row(view)
    compiled_with = row.get("numpy") if row is not None else None
    if row is None or compiled_with is None or "numpy" in planned.names(
            view.texts("python.planned_distributions")):
        return _BY_METADATA(view)
    installed, major = str(view.need("python.numpy")), int(str(compiled_with))
    if versions.parse(installed).major <= major:
        return Absent(source=f"the release was compiled with NumPy {major}")
    return Known(value=f"numpy<{major + 1}", source=str(row["source"]))


def _later_break(row: Row, requirement: Requirement, installed: str, view: View) -> Row | None:
    """Return the later release that broke what was made before it, if what is installed is not older.

    Metadata of the time often admits it, for nobody could know of it; where it does not, that is as good.
    """
    upper = SpecifierSet(",".join(str(s) for s in requirement.specifier if s.operator in _END))
    for broken in view.table("dependency_breaks").rows:
        version = str(broken["version"])
        if (broken["distribution"] == requirement.name
                and versions.parse(version) <= versions.parse(installed)
                and (str(row.get("uploaded", "9999")) < str(broken["released"]) or version not in upper)):
            return broken
    return None


def ends_before(specifiers: SpecifierSet, installed: str) -> bool:
    """Say whether what is allowed begins in an earlier major version and ends before the one installed.

    NumPy keeps its binary interface to what was compiled before within a major version, and not beyond.
    """
    major = versions.parse(installed).major
    begins = [versions.parse(text).major for text in _begins(specifiers)]
    return bool(begins) and max(begins) < major and not specifiers.contains(f"{major}.0.0")


def begins_after(specifiers: SpecifierSet, installed: str) -> bool:
    """Say whether what is allowed begins after the version installed.

    Code that was generated for a protobuf runs under a newer one, and not under an older one.
    """
    return any(versions.parse(installed) < versions.parse(text) for text in _begins(specifiers))


def _begins(specifiers: SpecifierSet) -> Iterator[str]:
    yield from (s.version.removesuffix(".*") for s in specifiers if s.operator in _BEGIN)


_BY_METADATA = unmet("numpy", ends_before)
DERIVATIONS: Mapping[str, Derivation] = {
    "framework.numpy_unmet": numpy_unmet,
    "framework.protobuf_unmet": unmet("protobuf", begins_after),
}
