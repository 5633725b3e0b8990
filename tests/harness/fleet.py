"""Made-up machines for what reads many at once: sound ones laid over the base of all cases, and odd ones."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from gpudoctor import codec, ruledb
from gpudoctor.assume import assumed, lay
from gpudoctor.examine import Policy, examine
from gpudoctor.model import Fact, Known, Snapshot, Unknown, Value

USUAL, OTHER = "580.95.05", "450.80.02"  # drivers


@cache
def machine(driver: str = USUAL, card: str = "NVIDIA H100", release: str = "torch==2.10.0") -> Snapshot:
    """Return a machine with a card, a driver and a framework."""
    database = ruledb.load()
    kind = "cc" if card == "none" else "card"
    wanted: list[tuple[str, Value]] = [(kind, card), ("driver", driver), ("release", release)]
    return lay(database.base, assumed(wanted), database.tables, source="made up")


def with_host(snapshot: Snapshot, facts: Mapping[str, Value | None]) -> Snapshot:
    """Return the machine with facts set; None is not known."""
    laid: dict[str, Fact] = {
        name: Unknown(reason="made up") if value is None else Known(value=value, source="made up")
        for name, value in facts.items()}
    return lay(snapshot, laid, ruledb.load().tables, source="made up")


@cache
def report(driver: str = USUAL, card: str = "NVIDIA H100", release: str = "torch==2.10.0") -> str:
    """Return the report on such a machine, as JSON."""
    found = examine(machine(driver, card, release), ruledb.load(), Policy())
    return json.dumps(codec.encode_report(found))


def encoded(snapshot: Snapshot) -> dict[str, Any]:
    """Return the snapshot as a document."""
    return codec.encode_snapshot(snapshot)


def write_rack(folder: Path) -> Path:
    """Write a rack: twelve machines, one with an old driver, two with a variable; two without a card."""
    folder.mkdir(exist_ok=True)
    for number in range(12):
        name = folder / f"node{number:02}.json"
        if number == 7:
            name.write_text(report(OTHER))
            continue
        one = machine()
        if number in (3, 9):
            one = with_host(one, {"environment.LD_LIBRARY_PATH": "/usr/local/cuda-11.8/lib64"})
        found = examine(one, ruledb.load(), Policy())
        name.write_text(json.dumps(codec.encode_report(found)))
    (folder / "login1.json").write_text(report(card="none"))
    (folder / "login2.json").write_text(report(card="none"))
    return folder
