"""nvidia-smi -q -x: its elements taken one after another, so that a broken or cut-off document still tells.

No XML parser is asked: nothing declares entities, nothing is fetched, and depth is bounded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpudoctor.model import Facts
from gpudoctor.sources.found import Found
from gpudoctor.sources.importers.card_values import facts_of, whole_number
from gpudoctor.sources.lines import Text
from gpudoctor.sources.values import dotted_version_in

_DEPTH = 24
_LONGEST = 4 << 20
_TAG = re.compile(r"<(/?)([A-Za-z_][A-Za-z0-9_.-]{0,60})([^<>]{0,200})>([^<]{0,300})")
_GPU = "nvidia_smi_log/gpu"
_KEYS = {
    "product_name": "name", "uuid": "uuid", "pci/pci_bus_id": "bus_id", "pci/pci_device_id": "device_id",
    "fb_memory_usage/total": "memory_total", "fb_memory_usage/used": "memory_used",
    "fb_memory_usage/reserved": "memory_reserved", "mig_mode/current_mig": "mig_current",
    "mig_mode/pending_mig": "mig_pending", "ecc_mode/current_ecc": "ecc_current",
    "pci/pci_gpu_link_info/pcie_gen/current_link_gen": "link_now",
    "pci/pci_gpu_link_info/pcie_gen/max_link_gen": "link_most",
    "pci/pci_gpu_link_info/link_widths/current_link_width": "width_now",
    "pci/pci_gpu_link_info/link_widths/max_link_width": "width_most",
    "compute_mode": "compute_mode", "persistence_mode": "persistence",
}
_UNCORRECTED = ("ecc_errors/volatile/sram_uncorrectable", "ecc_errors/volatile/dram_uncorrectable",
                "ecc_errors/volatile/double_bit/total")


class _Card:
    """One `gpu` element while it is read."""

    def __init__(self, line: int, number: int) -> None:
        self.line = line
        self.words: dict[str, str] = {"index": str(number)}
        self.migs = 0
        self.uncorrected: int | None = None
        self.processes = 0
        self.lists_processes = False


def read(text: Text, found: Found) -> None:
    """Read every document; what follows a missing end is left to the next one."""
    for position in text.places("<nvidia_smi_log"):
        end = text.whole.find("</nvidia_smi_log>", position)
        following = text.whole.find("<nvidia_smi_log", position + 1)
        ends = [place for place in (end, following, position + _LONGEST) if place > 0]
        _document(text, found, position, min(ends))


def _document(text: Text, found: Found, start: int, end: int) -> None:
    cards: list[_Card] = []
    for path, words, position in _elements(text.whole, start, end):
        if path == _GPU:
            cards.append(_Card(text.index_at(position), len(cards)))
        elif path.startswith(f"{_GPU}/") and cards:
            _of_card(cards[-1], path[len(_GPU) + 1:], words)
        elif words:
            _of_driver(found, path, words, text.source(text.index_at(position)))
    found.list_cards([_facts(found, text, card) for card in cards])


def _elements(whole: str, start: int, end: int) -> Iterator[tuple[str, str, int]]:
    """Yield each element that opens: its path, the words before the next tag, and where it stands."""
    path: list[str] = []
    for tag in _TAG.finditer(whole, start, end):
        closes, name, attributes, words = tag.groups()
        if closes:
            while path and path.pop() != name:
                pass
            continue
        if len(path) < _DEPTH:
            yield "/".join((*path, name)), words.strip(), tag.start()
            if not attributes.endswith("/"):
                path.append(name)


def _of_driver(found: Found, path: str, words: str, source: str) -> None:
    version = dotted_version_in(words)
    if path in ("nvidia_smi_log/driver_version", "nvidia_smi_log/kmd_version"):
        found.say("nvml.init_code", 0, source)
        found.say("nvml.driver_version", version, source)
        found.say("driver.version", version, source)
    elif path in ("nvidia_smi_log/cuda_version", "nvidia_smi_log/cuda_umd_version"):
        found.say("nvml.cuda_version", version, source)
        found.say("driver.cuda_ceiling", version, source)
    elif path == "nvidia_smi_log/attached_gpus":  # the document may be cut off before its last card
        found.say("nvml.gpu_count", whole_number(words), source)


def _of_card(card: _Card, path: str, words: str) -> None:
    if path in _KEYS:
        card.words.setdefault(_KEYS[path], words)
    elif path in _UNCORRECTED:
        count = whole_number(words)
        card.uncorrected = card.uncorrected if count is None else (card.uncorrected or 0) + count
    elif path == "mig_devices/mig_device":
        card.migs += 1
    elif path == "processes":
        card.lists_processes = True
    elif path == "processes/process_info/type" and "C" in words:
        card.processes += 1


def _facts(found: Found, text: Text, card: _Card) -> Facts:
    facts = facts_of(card.words)
    facts["gpu.mig_instances"] = card.migs if facts.get("gpu.mig_mode") is not None else None
    facts["gpu.ecc_uncorrected"] = card.uncorrected
    facts["gpu.compute_processes"] = card.processes if card.lists_processes else None
    return found.card(facts, text.source(card.line))
