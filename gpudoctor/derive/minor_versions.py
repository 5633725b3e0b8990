"""Compatibility of the minor versions of a CUDA: which drivers run the machine code of all of them."""

from __future__ import annotations

from gpudoctor import versions
from gpudoctor.derive import branches
from gpudoctor.derive.view import View
from gpudoctor.model import Fact, Known, Row, Unknown


def row_of(cuda: str, view: View) -> Row | None:
    """Return what the tables say of a CUDA's major release."""
    major = str(versions.parse(cuda).major)
    return next((row for row in view.table("minor_version_compatibility").rows if row["cuda_major"] == major),
                None)


def toolkit_of(cuda: str, view: View) -> Row | None:
    """Return what the tables say of the toolkit of one CUDA."""
    return next((row for row in view.table("cuda_toolkits").rows
                 if versions.parse(str(row["cuda"])) == versions.parse(cuda)), None)


def floor_of(cuda: str, view: View) -> Fact:
    """Return the oldest driver ceiling that runs the machine code of a CUDA."""
    row = row_of(cuda, view)
    if row is None:
        return _floor_of_unlisted(cuda, view)
    if "floor_cuda" not in row:
        return Known(value=cuda, source=f"{row['source']}: no minor-version compatibility before CUDA 11")
    return Known(value=row["floor_cuda"], source=str(row["source"]))


def _floor_of_unlisted(cuda: str, view: View) -> Fact:
    """Return the floor of a major release newer than the table: what holds since CUDA 11 holds of it, too."""
    rows = [row for row in view.table("minor_version_compatibility").rows if "floor_cuda" in row]
    newest = max(rows, key=lambda row: versions.parse(str(row["floor_cuda"])), default=None)
    if newest is None or versions.parse(cuda) < versions.parse(str(newest["floor_cuda"])):
        return Unknown(reason=f"the rule database says nothing about CUDA {cuda}")
    return Known(value=f"{versions.parse(cuda).major}.0", source=str(newest["source"]))


def is_kept(ceiling: str, view: View) -> bool:
    """Say whether a driver that runs this CUDA runs the machine code of every later one of its major release.

    At the floor itself the first releases of a branch are too old for that.
    """
    row = row_of(ceiling, view)
    if row is None:
        return isinstance(floor_of(ceiling, view), Known)
    if "floor_cuda" not in row:
        return False
    if versions.parse(ceiling) > versions.parse(str(row["floor_cuda"])):
        return True
    driver = view.value("driver.version")
    first = branches.oldest_driver(row, view)
    return driver is not None and versions.parse(str(driver)) >= versions.parse(str(first))
