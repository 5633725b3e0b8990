"""What the Xids of a kernel log mean, by the table: most are no lost card, and need no cold start."""

from __future__ import annotations

from gpudoctor.explanation.stated import Stated
from gpudoctor.model import Fact, Known

_LOST = "79"  # of this one, and of what says the same, the page itself speaks
_SAID_LOST = frozenset({"nvrm-fell-off-bus", "smi-device-lost", "nvml-gpu-lost", "container-cli-gpu-lost"})


def meanings(stated: Stated) -> Fact | None:
    """Return the name of each: "Xid 94, Contained memory error"."""
    return _told(stated, "meaning", "which the table of these rules does not have")


def advice(stated: Stated) -> Fact | None:
    """Return what to do about each: "Xid 94, restart the application"."""
    return _told(stated, "action", "look it up in NVIDIA's catalogue of Xids")


def _told(stated: Stated, column: str, otherwise: str) -> Fact | None:
    found = dict.fromkeys(stated.texts("text.xids"))
    if not found or _LOST in found or not _SAID_LOST.isdisjoint(stated.texts("text.symptoms")):
        return None
    listed = {str(row["xid"]): row for row in stated.rows_of("xids")}
    told = (f"Xid {xid}, {listed.get(xid, {}).get(column, otherwise)}" for xid in found)
    return Known(value="; ".join(told), source="computed from text.xids")
