"""Lines in which programs name a card with its compute capability: TensorFlow, PyTorch, deviceQuery."""

from __future__ import annotations

import re

from gpudoctor.model import Facts
from gpudoctor.sources.found import Found
from gpudoctor.sources.lines import Text

_TENSORFLOW = re.compile(r"name: ([A-Za-z0-9][^,:]{1,100}), pci bus id: ([0-9A-Fa-f:.]{4,20})"
                         r"(?:, compute capability: ([0-9]{1,2}\.[0-9]))?")  # builds for ROCm say none
_TENSORFLOW_1 = re.compile(r"name: ([A-Za-z0-9][^,:]{1,100}?) (?:major: ([0-9]{1,2}) minor: ([0-9])|"
                           r"computeCapability: ([0-9]{1,2}\.[0-9]))")
_BUS = re.compile(r"pciBusID: ([0-9A-Fa-f]{4}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9])")
_TORCH = re.compile(
    r"([A-Za-z][A-Za-z0-9 ()./-]{2,80}?) with CUDA capability sm_([0-9]{2,3})[a-z]? is not compatible")
_QUERY_NAME = re.compile(r"Device ([0-9]{1,2}): \"([^\"]{1,80})\"")
_QUERY_CAPABILITY = re.compile(r"CUDA Capability Major/Minor version number:\s{1,10}([0-9]{1,2}\.[0-9])")
_QUERY_VERSIONS = re.compile(
    r"CUDA Driver Version / Runtime Version\s{1,20}([0-9]{1,2}\.[0-9]) / ([0-9]{1,2}\.[0-9])")
_QUERY_LINES = 6


def read(text: Text, found: Found) -> None:
    """Read each kind of line; cards of one kind are one list."""
    cards: dict[str, Facts] = {}
    for index in text.having("pci bus id:"):
        line = _TENSORFLOW.search(text.lines[index])
        if line:
            _note(text, found, cards, index, line[2], line[1], line[3])
    for mark in ("major: ", "computeCapability: "):
        for index in text.having(mark):
            old = _TENSORFLOW_1.search(text.lines[index]) or _split_in_two(text, index)
            if old:
                around = " ".join(text.lines[max(0, index - 1):index + 2])
                bus = _BUS.search(around)
                capability = old[4] or f"{old[2]}.{old[3]}"
                _note(text, found, cards, index, bus[1] if bus else old[1], old[1], capability)
    for index in text.having("with CUDA capability sm_"):
        warning = text.lines[index]
        position = warning.find(" with CUDA capability")
        torch = _TORCH.search(warning, max(0, position - 120), position + 80)
        if torch:
            name = torch[1].rpartition("Warning: ")[2].strip()
            _note(text, found, cards, index, name, name, f"{torch[2][:-1]}.{torch[2][-1]}")
    _device_query(text, found, cards)
    found.list_cards(list(cards.values()))


def _split_in_two(text: Text, index: int) -> re.Match[str] | None:
    """Return the match over this line and the next: TensorFlow 2.0 to 2.4 broke the line."""
    return _TENSORFLOW_1.search(" ".join(text.lines[max(0, index - 1):index + 1]))


def _note(text: Text, found: Found, cards: dict[str, Facts], index: int, key: str, name: str,
          capability: str | None) -> None:
    source = text.source(index)
    bus = key if re.fullmatch(r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f]", key) else None
    cards[key] = found.card(
        {"gpu.name": name.strip(), "gpu.compute_capability": capability, "gpu.bus_id": bus}, source)
    if capability is not None:
        found.mention("text.capabilities", capability, source)


def _device_query(text: Text, found: Found, cards: dict[str, Facts]) -> None:
    for index in text.having("Device "):
        name = _QUERY_NAME.search(text.lines[index])
        if name is None:
            continue
        for below in range(index + 1, min(index + _QUERY_LINES, len(text.lines))):
            versions = _QUERY_VERSIONS.search(text.lines[below])
            capability = _QUERY_CAPABILITY.search(text.lines[below])
            if versions:
                found.say("driver.cuda_ceiling", versions[1], text.source(below))
                found.say("text.cuda", versions[2], text.source(below))
            if capability:
                _note(text, found, cards, index, name[1], name[2], capability[1])
