"""Facts of a card from the words that nvidia-smi's listings use for them, whatever the listing's shape."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from gpudoctor.model import Value
from gpudoctor.sources.values import bytes_in, flag_in, says_nothing

_BUS_ID = re.compile(r"(?:0000)?([0-9A-Fa-f]{4}):([0-9A-Fa-f]{2}):([0-9A-Fa-f]{2})\.([0-9A-Fa-f])")
_COMPUTE_MODES = {"default": "default", "exclusive_process": "exclusive-process",
                  "exclusive process": "exclusive-process", "exclusive_thread": "exclusive-thread",
                  "exclusive thread": "exclusive-thread", "prohibited": "prohibited"}


def bus_id(words: str) -> str | None:
    """Return 0000:01:00.0 of 00000000:01:00.0."""
    found = _BUS_ID.search(words[:64])
    return f"{found[1]}:{found[2]}:{found[3]}.{found[4]}".lower() if found else None


def whole_number(words: str) -> int | None:
    """Return the number at the beginning, of at most nine digits."""
    found = re.match(r"[0-9]{1,9}", words.strip())
    return int(found[0]) if found else None


def capability(words: str) -> str | None:
    """Return 8.6."""
    found = re.fullmatch(r"([0-9]{1,2})\.([0-9])", words.strip())
    return found[0] if found else None


def device_id(words: str) -> str | None:
    """Return 2216 of 0x221610DE: the device, as PCI names it."""
    found = re.match(r"(?:0[xX])?([0-9A-Fa-f]{4})10[dD][eE]", words.strip())
    return found[1].lower() if found else None


def mebibytes(words: str) -> int | None:
    """Return bytes of "10240 MiB", or of a bare number of MiB."""
    number = whole_number(words)
    return bytes_in(words) or (number << 20 if number is not None and words.strip().isdecimal() else None)


READERS: Mapping[str, tuple[str, Callable[[str], Value | None]]] = {
    "index": ("gpu.index", whole_number),
    "name": ("gpu.name", str.strip),
    "uuid": ("gpu.uuid", str.strip),
    "bus_id": ("gpu.bus_id", bus_id),
    "device_id": ("gpu.pci_device_id", device_id),
    "capability": ("gpu.compute_capability", capability),
    "memory_total": ("gpu.memory_total_bytes", mebibytes),
    "memory_used": ("gpu.memory_used_bytes", mebibytes),
    "memory_reserved": ("gpu.memory_reserved_bytes", mebibytes),
    "mig_current": ("gpu.mig_mode", flag_in),
    "mig_pending": ("gpu.mig_pending", flag_in),
    "ecc_current": ("gpu.ecc_mode", flag_in),
    "ecc_uncorrected": ("gpu.ecc_uncorrected", whole_number),
    "link_now": ("gpu.pcie_generation", whole_number),
    "link_most": ("gpu.pcie_generation_max", whole_number),
    "width_now": ("gpu.pcie_width", whole_number),
    "width_most": ("gpu.pcie_width_max", whole_number),
    "compute_mode": ("gpu.compute_mode", lambda words: _COMPUTE_MODES.get(words.strip().lower())),
    "persistence": ("gpu.persistence", flag_in),
}


def facts_of(words: Mapping[str, str]) -> dict[str, Value | None]:
    """Return the facts of a card, given its listing's words by the keys of `READERS`."""
    facts: dict[str, Value | None] = {"gpu.in_nvml": True}
    for key, value in words.items():
        name, reader = READERS[key]
        if not says_nothing(value) or key in ("mig_current", "mig_pending", "ecc_current", "persistence"):
            facts[name] = reader(value[:200])
    return facts
