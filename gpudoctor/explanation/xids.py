"""What the Xids of a kernel log mean, by the table: most are no lost card, and need no cold start."""

from __future__ import annotations

from gpudoctor.explanation.stated import Stated
from gpudoctor.model import Fact, Known

_LOST = "79"  # of this one, and of what says the same, the page itself speaks
_SAID_LOST = frozenset({"nvrm-fell-off-bus", "smi-device-lost", "nvml-gpu-lost", "container-cli-gpu-lost"})


def meanings(stated: Stated) -> Fact | None:
    """Return the name of each: "Xid 94, Contained memory error"."""
    return _told(stated, "meaning")


def advice(stated: Stated) -> Fact | None:
    """Return what to do about each: "Xid 94, restart the application"."""
    return _told(stated, "action")


def _told(stated: Stated, column: str) -> Fact | None:
    found = dict.fromkeys(stated.texts("text.xids"))
    listed = {str(row["xid"]): row for row in stated.rows_of("xids")} if found else {}
    rows = [listed[xid] for xid in found if xid in listed]
    is_lost = _LOST in found or not _SAID_LOST.isdisjoint(stated.texts("text.symptoms"))
    if is_lost or not rows or len(rows) < len(found):
        return None
    told = [f"Xid {row['xid']}, {row[column]}" for row in rows if column in row]
    return Known(value="; ".join(told), source="computed from text.xids") if told else None
