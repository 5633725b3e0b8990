"""nvidia-smi -L and --query-gpu ... --format=csv: a line for each card."""

from __future__ import annotations

import re

from gpudoctor.model import Facts, Known, Value
from gpudoctor.sources.found import Found
from gpudoctor.sources.importers.card_values import READERS, facts_of
from gpudoctor.sources.lines import Text
from gpudoctor.sources.values import dotted_version_in, says_nothing

_CARD = re.compile(r"\s{0,20}GPU ([0-9]{1,3}): (.{1,120}?) \(UUID: (GPU-[0-9A-Za-z-]{4,60})\)")
_TABLES = 50
_MIG = re.compile(r"\s{0,20}MIG .{1,60}\(UUID: MIG-")
_UNIT = re.compile(r" \[[A-Za-z%]{1,6}\]$")
_FIELDS = {
    "index": "index", "name": "name", "gpu_name": "name", "uuid": "uuid", "gpu_uuid": "uuid",
    "pci.bus_id": "bus_id", "gpu_bus_id": "bus_id", "pci.device_id": "device_id", "compute_cap": "capability",
    "memory.total": "memory_total", "memory.used": "memory_used", "memory.reserved": "memory_reserved",
    "mig.mode.current": "mig_current", "mig.mode.pending": "mig_pending", "ecc.mode.current": "ecc_current",
    "compute_mode": "compute_mode", "persistence_mode": "persistence",
    "pcie.link.gen.current": "link_now", "pcie.link.gen.max": "link_most",
    "pcie.link.width.current": "width_now", "pcie.link.width.max": "width_most",
    "ecc.errors.uncorrected.volatile.total": "ecc_uncorrected",
}
_OTHER_FIELDS = frozenset("""
driver_version count timestamp memory.free utilization.gpu utilization.memory temperature.gpu power.draw
power.limit pstate fan.speed serial vbios_version display_active display_mode clocks.sm clocks.mem
clocks.gr clocks.max.sm
""".split())


def read(text: Text, found: Found) -> None:
    """Read the lists of -L, the tables of --query-gpu, and rows without heading that follow their command."""
    _listed(text, found)
    last, tables = -1, 0
    for index, line in enumerate(text.lines):
        if index <= last or tables >= _TABLES:
            continue
        fields = _heading(line) if "," in line or line.strip() in ("driver_version", "compute_cap") else ()
        if fields:
            tables += 1
            last = _rows(text, found, index, fields)
    for index in text.having("--query-gpu="):
        words = text.lines[index].partition("--query-gpu=")[2].split()[:1]
        asked = words[0].strip("'\"").split(",") if words else []
        if asked and all(_is_field(field) for field in asked) and index > last - 50:
            _rows(text, found, index, tuple(asked), bare=True)


def _listed(text: Text, found: Found) -> None:
    cards: list[Facts] = []
    migs = 0
    last = -2
    for index in text.having("(UUID: "):
        card = _CARD.match(text.lines[index])
        if card is not None:
            if last >= 0 and (int(card[1]) == 0 or index > last + 16):
                _close(found, cards, migs)
                cards = []
            else:
                _count(cards, migs)
            migs = 0
            facts: dict[str, Value | None] = {
                "gpu.index": int(card[1]), "gpu.name": card[2], "gpu.uuid": card[3], "gpu.in_nvml": True}
            cards.append(found.card(facts, text.source(index)))
            last = index
        elif _MIG.match(text.lines[index]) and cards:
            migs += 1
    _close(found, cards, migs)


def _close(found: Found, cards: list[Facts], migs: int) -> None:
    _count(cards, migs)
    if cards:
        found.list_cards(cards)


def _count(cards: list[Facts], migs: int) -> None:
    """Note the MIG devices under the last card; a list without them does not say that there are none."""
    if cards and migs:
        name = cards[-1]["gpu.name"]
        source = name.source if isinstance(name, Known) else ""
        cards[-1] = {**cards[-1], "gpu.mig_instances": Known(value=migs, source=source),
                     "gpu.mig_mode": Known(value=True, source=source)}


def _heading(line: str) -> tuple[str, ...]:
    """Return the fields of a table's heading, none where the line is no heading."""
    fields = tuple(_UNIT.sub("", field.strip()) for field in line.strip().split(",")[:60])
    is_heading = all(_is_field(field) for field in fields) and set(fields) - {"name", "index", "count"}
    return fields if is_heading else ()


def _is_field(field: str) -> bool:
    return field in _FIELDS or field in _OTHER_FIELDS


def _rows(text: Text, found: Found, heading: int, fields: tuple[str, ...], *, bare: bool = False) -> int:
    """Read the rows below a heading; return the last line that was one."""
    cards: list[Facts] = []
    index = heading
    for index in range(heading + 1, min(heading + 257, len(text.lines))):
        values = [value.strip() for value in text.lines[index].split(",")]
        if len(values) != len(fields) or not values[0] or _heading(text.lines[index]):
            break
        words = dict(zip(fields, values, strict=True))
        if bare and not _plausible(words):
            break
        cards.append(_card(text, found, index, words, len(cards)))
    if cards:
        named = [card for card in cards if "gpu.name" in card or "gpu.compute_capability" in card]
        found.list_cards(named)
    return index - 1


def _plausible(words: dict[str, str]) -> bool:
    """Say whether a row without a heading has versions where the command asked for versions."""
    checks = {"driver_version": r"[0-9]{3}\.[0-9.]{1,12}", "compute_cap": r"[0-9]{1,2}\.[0-9]"}
    found = [re.fullmatch(pattern, words[field]) for field, pattern in checks.items() if field in words]
    return bool(found) and all(found)


def _card(text: Text, found: Found, index: int, words: dict[str, str], number: int) -> Facts:
    source = text.source(index)
    driver = words.get("driver_version", "")
    if not says_nothing(driver):
        version = dotted_version_in(driver)
        found.say("nvml.init_code", 0, source)
        found.say("nvml.driver_version", version, source)
        found.say("driver.version", version, source)
    own = {_FIELDS[field]: value for field, value in words.items() if field in _FIELDS}
    own.setdefault("index", str(number))
    return found.card(facts_of({key: value for key, value in own.items() if key in READERS}), source)
