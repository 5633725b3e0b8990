"""What a release needs that a fix names, where nobody knows what is there: which driver, which cards."""

from __future__ import annotations

from collections.abc import Callable

from gpudoctor import versions
from gpudoctor.derive import branches, minor_versions, releases
from gpudoctor.derive.view import View, as_records, as_texts
from gpudoctor.model import Absent, Fact, Known, Unknown

Derivation = Callable[[View], Fact]


def driver_for(release_fact: str) -> Derivation:
    """Return a derivation of the oldest driver for the release in a fact, absent where a driver is known."""
    def derivation(view: View) -> Fact:
        if view.bound("driver.cuda_ceiling") is not None or view.value("driver.version") is not None:
            return Absent(source="the release is one that the driver here runs")
        return _oldest_for(str(releases.stack_of(release_fact, view).row["cuda"]), view)
    return derivation


def _oldest_for(cuda: str, view: View) -> Fact:
    """Return the oldest driver that runs code for a CUDA and serves the cards here."""
    row = minor_versions.row_of(cuda, view)
    if row is None or "minimum_driver" not in row:
        row = minor_versions.toolkit_of(cuda, view)
    if row is None:
        return releases.no_driver_for(cuda, view)
    first = branches.served(view).first_branch
    needed = str(branches.oldest_driver(row, view))
    return Known(value=str(first) if first > branches.major(needed) else needed, source=str(row["source"]))


def gpu_card(view: View, unseen: Unknown | None) -> Fact:
    """Return the oldest card that the CUDA build serves, where nobody could list the cards to hold it to."""
    if unseen is None:
        return Absent(source="the release is one that serves the cards here")
    code = as_records(releases.stack_of("framework.gpu_release", view).row["code"])
    built = [card.rstrip("af") for record in code for card in as_texts(record["sass"])]
    oldest = min(built, key=versions.parse, default=None)
    if oldest is None:
        return Absent(source="the build has PTX alone")
    return Known(value=oldest, source="device code of the build")
