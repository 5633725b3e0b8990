"""torch.utils.collect_env: what stands over several lines in it; `key: value` lines are read elsewhere.

Its descendants (of other projects) print the same keys.
"""

from __future__ import annotations

import re

from gpudoctor.model import Facts
from gpudoctor.sources import fields
from gpudoctor.sources.cards import capability_named
from gpudoctor.sources.found import Found
from gpudoctor.sources.lines import Text
from gpudoctor.sources.stated import Rank

_CARD = re.compile(r"\s{0,20}GPU ([0-9]{1,3})\s?[:\uff1a] ?(.{1,120})")
_MOST_CARDS = 64
_LIBRARY_LINES = 20


def read(text: Text, found: Found) -> None:
    """Read the list of cards and cuDNN's files."""
    for index in text.having("CUDA used to build PyTorch"):
        found.say("text.framework", "pytorch", text.source(index), Rank.STATED)
        if "Could not collect" in text.lines[index]:
            _cpu_build(text, found, index)
    for index in text.having("GPU models and configuration"):
        _cards(text, found, index)
    for index in text.having("cuDNN version: Probably"):
        for below in range(index + 1, min(index + _LIBRARY_LINES, len(text.lines))):
            if "libcudnn.so." in text.lines[below]:
                fields.cudnn(found, text.lines[below], text.source(below), Rank.REPORTED)
                break


def _cpu_build(text: Text, found: Found, index: int) -> None:
    """Note a build without CUDA, unless the next line says that it is one for ROCm."""
    following = text.lines[index + 1] if index + 1 < len(text.lines) else ""
    rocm = following.partition("ROCM used to build PyTorch")[2]
    built_for_rocm = any(character.isdecimal() for character in rocm)
    found.framework("torch", "framework.build", "rocm" if built_for_rocm else "cpu", text.source(index))


def _cards(text: Text, found: Found, start: int) -> None:
    cards: list[Facts] = []
    inline = text.lines[start].partition("configuration")[2].lstrip(" :*\uff1a")
    lines = [(start, inline)] if inline else []
    end = min(start + _MOST_CARDS, len(text.lines))
    lines += [(index, text.lines[index]) for index in range(start + 1, end)]
    for index, line in lines:
        card = _CARD.match(line)
        if card is None:
            if cards or (line.strip() and index > start):
                break
            continue
        name = card[2].partition(" (UUID")[0].strip()
        capability = capability_named(name, found.known)
        cards.append(found.card({"gpu.index": int(card[1]), "gpu.name": name,
                                 "gpu.compute_capability": capability}, text.source(index)))
    found.list_cards(cards)
