"""nvidia-smi -q: `Key : value` lines, sections by their indentation."""

from __future__ import annotations

from gpudoctor.model import Facts
from gpudoctor.sources.found import Found
from gpudoctor.sources.importers.card_values import bus_id, facts_of, whole_number
from gpudoctor.sources.lines import Text
from gpudoctor.sources.values import dotted_version_in

_LISTING_LINES = 20_000
_KEYS = {
    "product name": "name", "gpu uuid": "uuid", "pci/bus id": "bus_id", "pci/device id": "device_id",
    "fb memory usage/total": "memory_total", "fb memory usage/used": "memory_used",
    "fb memory usage/reserved": "memory_reserved", "mig mode/current": "mig_current",
    "mig mode/pending": "mig_pending", "ecc mode/current": "ecc_current",
    "pci/gpu link info/pcie generation/current": "link_now",
    "pci/gpu link info/pcie generation/max": "link_most",
    "pci/gpu link info/link width/current": "width_now", "pci/gpu link info/link width/max": "width_most",
    "compute mode": "compute_mode", "persistence mode": "persistence",
}
_UNCORRECTED = ("ecc errors/volatile/sram uncorrectable", "ecc errors/volatile/dram uncorrectable",
                "ecc errors/volatile/double bit/total")
_DRIVER = {"driver version": ("nvml.driver_version", "driver.version"),
           "kmd version": ("nvml.driver_version", "driver.version"),
           "cuda version": ("nvml.cuda_version", "driver.cuda_ceiling"),
           "cuda umd version": ("nvml.cuda_version", "driver.cuda_ceiling")}
_COUNT = "attached gpus"


class _Card:
    """One card's section while it is read."""

    def __init__(self, line: int, number: int, bus: str) -> None:
        self.line = line
        self.words: dict[str, str] = {"index": str(number), "bus_id": bus}
        self.migs = 0
        self.uncorrected: int | None = None
        self.processes: int | None = None


def read(text: Text, found: Found) -> None:
    """Read every listing up to the next one or the first line that is none of it."""
    for index in text.having("NVSMI LOG"):
        _listing(text, found, index)


def _listing(text: Text, found: Found, start: int) -> None:
    cards: list[_Card] = []
    sections: list[tuple[int, str]] = []
    left = text.lines[start].find("=")
    for index in range(start + 1, min(start + _LISTING_LINES, len(text.lines))):
        line = text.lines[index]
        if "NVSMI LOG" in line or (line[:1] in ("$", "#") and left == 0):
            break
        key, colon, value = line.partition(" : ")
        name, depth = key.strip().lower(), len(key) - len(key.lstrip())
        if not name:
            continue
        while sections and sections[-1][0] >= depth:
            sections.pop()
        bus = bus_id(key) if name.startswith("gpu ") and not colon else None
        if bus is not None:
            cards.append(_Card(index, len(cards), bus))
            sections = []
        elif not colon:
            sections.append((depth, name.rstrip(" :")))
        elif cards:
            _of_card(cards[-1], "/".join([*(section for _, section in sections[-6:]), name]), value.strip())
        else:
            _of_driver(text, found, index, name, value)
    found.list_cards([_facts(found, text, card) for card in cards])


def _of_driver(text: Text, found: Found, index: int, name: str, value: str) -> None:
    if name == _COUNT:  # the listing may be cut off before its last card
        found.say("nvml.gpu_count", whole_number(value), text.source(index))
    for fact in _DRIVER.get(name, ()):
        if "eprecated" not in value:
            found.say("nvml.init_code", 0, text.source(index))
            found.say(fact, dotted_version_in(value), text.source(index))


def _of_card(card: _Card, path: str, value: str) -> None:
    if path in _KEYS:
        card.words.setdefault(_KEYS[path], value)
    elif path in _UNCORRECTED:
        count = whole_number(value)
        card.uncorrected = card.uncorrected if count is None else (card.uncorrected or 0) + count
    elif path == "processes" and value == "None":
        card.processes = 0
    elif path.startswith("processes/") and path.endswith("/type") and "C" in value:
        card.processes = (card.processes or 0) + 1
    elif path.startswith("mig device") and path.endswith("/index"):
        card.migs += 1


def _facts(found: Found, text: Text, card: _Card) -> Facts:
    facts = facts_of(card.words)
    facts["gpu.mig_instances"] = card.migs if facts.get("gpu.mig_mode") is not None else None
    facts["gpu.ecc_uncorrected"] = card.uncorrected
    facts["gpu.compute_processes"] = card.processes
    return found.card(facts, text.source(card.line))
