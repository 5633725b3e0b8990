"""lspci, with -nn and -k or without: the cards on the bus and the kernel driver that each is bound to."""

from __future__ import annotations

import re

from gpudoctor.model import Facts, Record, Value
from gpudoctor.sources.cards import capability_named
from gpudoctor.sources.found import Found
from gpudoctor.sources.lines import Text

_CONTROLLERS = ("VGA compatible controller", "3D controller", "Display controller")
_ROW = re.compile(r"\s{0,20}(?:([0-9a-f]{4}):)?([0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f]) "
                  r"(VGA compatible controller|3D controller|Display controller)"
                  r"(?: \[(03[0-9a-f]{2})\])?: (.{1,200})")
_IDS = re.compile(r"\[([0-9a-f]{4}):([0-9a-f]{4})\]")
_PRODUCT = re.compile(r"\[([A-Za-z][^\]:]{2,80})\]")
_CLASSES = {"VGA compatible controller": "0x030000", "3D controller": "0x030200",
            "Display controller": "0x038000"}
_DETAIL_LINES = 30
_OTHERS = {"Advanced Micro Devices": "amd", "Intel Corporation": "intel", "[AMD": "amd"}


def read(text: Text, found: Found) -> None:
    """Read the graphics and 3D controllers; a list that shows none of NVIDIA's may have been filtered."""
    cards: list[Facts] = []
    records: list[Record] = []
    others: set[str] = set()
    seen: set[str] = set()
    first = -1
    for mark in _CONTROLLERS:
        for index in text.having(mark):
            row = _ROW.match(text.lines[index])
            if row is None:
                continue
            address = f"{row[1] or '0000'}:{row[2]}"
            if "NVIDIA" not in row[5]:
                others |= {name for vendor, name in _OTHERS.items() if vendor in row[5]}
            elif address not in seen:
                seen.add(address)
                first = index if first < 0 else first
                record, facts = _card(text, found, index, address, row)
                records.append(record)
                cards.append(found.card(facts, text.source(index)))
    if records:
        found.say("system.pci_nvidia", tuple(records), text.source(first))
        found.list_cards(cards)
    for name in sorted(others):
        found.mention("system.other_accelerators", name, "lspci")


def _card(text: Text, found: Found, index: int, address: str,
          row: re.Match[str]) -> tuple[Record, dict[str, Value | None]]:
    product, ids = _PRODUCT.search(row[5]), _IDS.search(row[5])
    name = product[1] if product else None
    driver = _driver(text, index)
    record = {"address": address, "class": _CLASSES[row[3]]}
    if ids and ids[1] == "10de":
        record["device"] = ids[2]
    if driver:
        record["driver"] = driver
    return record, {
        "gpu.name": name, "gpu.bus_id": address, "gpu.pci_device_id": record.get("device"),
        "gpu.pci_driver": driver,
        "gpu.compute_capability": capability_named(name, found.known) if name else None}


def _driver(text: Text, index: int) -> str | None:
    for line in text.lines[index + 1:index + _DETAIL_LINES]:
        if not line[:1].isspace() or not line.strip():
            return None
        name = line.partition("Kernel driver in use:")[2].strip()
        if name:
            return name[:40]
    return None
