"""nvidia-smi's table in all its ages: the heading, a card's two or three rows, MIG devices, processes."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from gpudoctor.model import Facts, Value
from gpudoctor.sources.found import Found
from gpudoctor.sources.lines import Text
from gpudoctor.sources.stated import Rank
from gpudoctor.sources.values import bytes_in, dotted_version_in

_TABLE_LINES = 600
_CARD_LINES = 6
_BUS_ID = re.compile(r"([0-9A-Fa-f]{4,8}):([0-9A-Fa-f]{2}):([0-9A-Fa-f]{2})\.([0-9A-Fa-f])")
_MODES = frozenset({"On", "Off", "N/A", "TCC", "WDDM", "MCDM", "WDM"})
_COMPUTE_MODES = {"default": "default", "e. process": "exclusive-process", "e. thread": "exclusive-thread",
                  "prohibited": "prohibited", "exclusive": "exclusive-process"}


@dataclass(slots=True)
class _Row:
    """A card as its rows are read."""

    facts: dict[str, Value | None]
    line: int
    processes: int = 0
    rows: list[int] = field(default_factory=list)


def read(text: Text, found: Found) -> None:
    """Read every table; a later one, which may be after a repair, comes later in the list of cards."""
    for index in text.having("NVIDIA-SMI"):
        line = text.lines[index]
        if "Version:" not in line and "Version :" not in line:
            continue  # an error message of nvidia-smi: a symptom
        _heading(text, found, index)
        _body(text, found, index)
    for index in text.having("Driver Version:"):
        line = text.lines[index]
        if "CUDA Version:" in line and "NVIDIA-SMI" not in line:  # a part of the heading, copied out of it
            source = text.source(index)
            found.say("driver.version", _following(line, ("Driver Version:",)), source, Rank.STATED)
            found.say("driver.cuda_ceiling", _following(line, ("CUDA Version:",)), source, Rank.STATED)


def _heading(text: Text, found: Found, index: int) -> None:
    line, source = text.lines[index], text.source(index)
    driver = _following(line, ("Driver Version:", "KMD Version:", "Driver Version :"))
    ceiling = _following(line, ("CUDA UMD Version:", "CUDA Version:", "CUDA Version :"))
    own = _following(line, ("NVIDIA-SMI",))
    if None not in (own, driver) and own != driver:
        # elsewhere both are of one package; in WSL the table is Linux's and the driver is the one of Windows
        found.mention("text.places", "wsl2", source)
    found.say("nvml.init_code", 0, source)
    found.say("nvml.driver_version", driver, source)
    found.say("driver.version", driver, source)
    found.say("nvml.cuda_version", ceiling, source)
    found.say("driver.cuda_ceiling", ceiling, source)


def _following(line: str, marks: tuple[str, ...]) -> str | None:
    for mark in marks:
        position = line.find(mark)
        if position >= 0:
            words = line[position + len(mark):position + len(mark) + 40].split()
            return dotted_version_in(words[0]) if words else None
    return None


def _body(text: Text, found: Found, start: int) -> None:
    cards: list[_Row] = []
    section = "cards"
    for index in range(start + 1, min(start + _TABLE_LINES, len(text.lines))):
        line = text.lines[index]
        if "NVIDIA-SMI" in line or (not line.strip() and section == "processes" and _ends(text, index)):
            break
        if "MIG devices" in line:
            section = "mig"
        elif "rocesses:" in line and "|" in line:
            section = "processes"
            _no_processes(cards, None)
        elif "No running" in line:
            _no_processes(cards, 0)
        elif "|" in line:
            _row(section, line, index, cards)
    for card in cards:
        _count_processes(card)
    found.list_cards([_facts(found, text, card) for card in cards])
    if cards and _is_closed(text, cards[-1]):
        found.say("nvml.gpu_count", len(cards), text.source(cards[-1].line))


def _is_closed(text: Text, card: _Row) -> bool:
    """Say whether a card's rows come to their end; where the text is cut off within them, more may follow."""
    below = text.lines[card.line + 1:card.line + _CARD_LINES]
    return any(line.lstrip("| ").startswith("+-") or "rocesses" in line for line in below)


def _ends(text: Text, index: int) -> bool:
    return not any("|" in line for line in text.lines[index + 1:index + 3])


def _row(section: str, line: str, index: int, cards: list[_Row]) -> None:
    cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
    if section == "cards":
        card = _first_row(cells, index)
        if card is not None:
            cards.append(card)
        elif cards and len(cells) >= 3:
            _further_row(cells, index, cards[-1])
    elif section == "mig":
        words = cells[0].split()
        if len(words) >= 4 and all(word.isdecimal() and len(word) < 6 for word in words[:4]):
            _add(cards, int(words[0]), "gpu.mig_instances")
    else:
        _process(cells, cards)


def _first_row(cells: list[str], index: int) -> _Row | None:
    """Return the card that a first row opens: number and name, bus id, ECC."""
    if len(cells) < 2:
        return None
    bus, words = _BUS_ID.search(cells[1]), cells[0].split()
    if len(words) < 2 or not words[0].isdecimal() or len(words[0]) > 3:
        return None
    if bus is None and not (words[-1] in _MODES and set(cells[1].split()) == {"N/A"}):
        return None  # only the card of a Jetson is on no bus
    name = " ".join(words[1:-1] if words[-1] in _MODES and len(words) > 2 else words[1:])
    persistence = {"On": True, "Off": False}.get(words[-1])
    ecc = cells[2].split()[-1] if len(cells) > 2 and cells[2].split() else ""
    facts: dict[str, Value | None] = {
        "gpu.index": int(words[0]), "gpu.name": name, "gpu.in_nvml": True, "gpu.persistence": persistence,
        "gpu.bus_id": f"{bus[1][-4:]}:{bus[2]}:{bus[3]}.{bus[4]}".lower() if bus else None,
        "gpu.ecc_mode": False if ecc == "Off" else True if ecc.isdecimal() else None,
        "gpu.ecc_uncorrected": int(ecc) if ecc.isdecimal() and len(ecc) < 12 else None,
    }
    return _Row(facts=facts, line=index)


def _further_row(cells: list[str], index: int, card: _Row) -> None:
    """Read memory and compute mode of the second row, the MIG mode of the third."""
    used, slash, total = cells[1].partition("/")
    mode = cells[2].lower()
    if slash and bytes_in(total) is not None:
        card.facts.setdefault("gpu.memory_used_bytes", bytes_in(used))
        card.facts.setdefault("gpu.memory_total_bytes", bytes_in(total))
        for ending, name in _COMPUTE_MODES.items():
            if mode.endswith(ending):
                card.facts.setdefault("gpu.compute_mode", name)
        card.rows.append(index)
    elif mode.rstrip("*") in ("enabled", "disabled") and card.rows:
        now = mode.startswith("enabled")
        card.facts.setdefault("gpu.mig_mode", now)
        card.facts.setdefault("gpu.mig_pending", now != mode.endswith("*"))
        card.facts.setdefault("gpu.mig_instances", 0)


def _process(cells: list[str], cards: list[_Row]) -> None:
    """Count a process of type C or C+G; the column stands elsewhere in older tables."""
    words = cells[0].split()
    if words and words[0].isdecimal() and any(word in ("C", "C+G", "M+C") for word in words[1:6]):
        for card in cards:
            if card.facts["gpu.index"] == int(words[0][:6]):
                card.processes += 1


def _no_processes(cards: list[_Row], count: int | None) -> None:
    for card in cards:
        card.facts["gpu.compute_processes"] = count


def _count_processes(card: _Row) -> None:
    if card.processes:
        card.facts["gpu.compute_processes"] = card.processes


def _add(cards: list[_Row], number: int, fact: str) -> None:
    for card in cards:
        if card.facts["gpu.index"] == number:
            before = card.facts.get(fact)
            card.facts[fact] = (before if isinstance(before, int) else 0) + 1


def _facts(found: Found, text: Text, card: _Row) -> Facts:
    return found.card(card.facts, text.source(card.line))
