"""Lists of cards in the reports of other projects, each of which numbers or indents them in its own way.

mmcv and detectron2 (`GPU 0,1: name`), Ultralytics (`CUDA:0 (name, 8192MiB)`), Lightning (names below `GPU:`),
PyTorch, of a card that its build leaves out (`Found GPU0 name which is of cuda capability 3.5.`).
"""

from __future__ import annotations

import re

from gpudoctor.model import Facts
from gpudoctor.sources.cards import capability_named, maker_is_nvidia
from gpudoctor.sources.found import Found
from gpudoctor.sources.lines import Text

_SEVERAL = re.compile(r"\s{0,8}GPU ([0-9]{1,2}(?:,[0-9]{1,2}){0,15})(?:: {0,4}| {2,40})"
                      r"([A-Za-z][^(:|]{2,80}?)(?: \(arch=([0-9]{1,2}\.[0-9])\))?\s{0,4}")
_CUDA = re.compile(r"CUDA:([0-9]{1,2}) \(([A-Za-z][^,()]{2,80}), ([0-9]{3,6})MiB\)")
_FOUND = re.compile(r"Found GPU([0-9]{1,2}) ([^:|]{2,80}?) which is of (?:cuda|compute) capability "
                    r"(?:\(CC\) )?([0-9]{1,2}\.[0-9])\b")
_NEXT_CARDS = 16
_HEADING = re.compile(r"\s{0,8}(?:[-*] )?GPU:\s{0,20}")
_NAME = re.compile(r"\s{1,16}(?:[-*] )?([A-Za-z][^:|]{2,80}?)\s{0,4}")


def read(text: Text, found: Found) -> None:
    """Read each kind of list."""
    _several(text, found)
    _ultralytics(text, found)
    _left_out(text, found)
    for index in text.having("GPU:"):
        if _HEADING.fullmatch(text.lines[index]):
            _indented(text, found, index)


def _card(found: Found, number: int, name: str, source: str, capability: str | None = None) -> Facts:
    return found.card({"gpu.index": number, "gpu.name": name.strip(), "gpu.compute_capability":
                       capability or capability_named(name, found.known)}, source)


def _several(text: Text, found: Found) -> None:
    """Read lines of numbers and a name; a line for card 0 alone may be anything."""
    cards: dict[int, Facts] = {}
    is_such_a_list = False
    for index in text.having("GPU "):
        row = _SEVERAL.fullmatch(text.lines[index])
        if row is None or not maker_is_nvidia(row[2], found.known):
            continue
        is_such_a_list = is_such_a_list or "," in row[1] or row[3] is not None
        for number in map(int, row[1].split(",")):
            cards[number] = _card(found, number, row[2], text.source(index), row[3])
    numbers = sorted(cards)
    if is_such_a_list or (len(numbers) > 1 and numbers == list(range(len(numbers)))):
        found.list_cards([cards[number] for number in numbers])


def _ultralytics(text: Text, found: Found) -> None:
    """Read the list that begins behind the versions and goes on in the lines below."""
    for index in text.having("CUDA:0 ("):
        cards: list[Facts] = []
        for below in range(index, min(index + _NEXT_CARDS, len(text.lines))):
            row = _CUDA.search(text.lines[below][:600])
            if row is None or int(row[1]) != len(cards):
                break
            cards.append(_card(found, len(cards), row[2], text.source(below)))
        found.list_cards(cards)


def _left_out(text: Text, found: Found) -> None:
    """Read the cards that PyTorch warns of; the warning comes again with each process."""
    cards: dict[int, Facts] = {}
    for index in text.having("Found GPU"):
        row = _FOUND.search(text.lines[index][:600])
        if row is not None:
            cards[int(row[1])] = _card(found, int(row[1]), row[2], text.source(index), row[3])
    found.list_cards(list(cards.values()))


def _indented(text: Text, found: Found, heading: int) -> None:
    """Read the names below a heading, deeper than it, up to the first line that is none."""
    depth = _depth(text.lines[heading])
    cards: list[Facts] = []
    for index in range(heading + 1, min(heading + 1 + _NEXT_CARDS, len(text.lines))):
        row = _NAME.fullmatch(text.lines[index])
        if row is None or _depth(text.lines[index]) <= depth or not maker_is_nvidia(row[1], found.known):
            break
        cards.append(_card(found, len(cards), row[1], text.source(index)))
    found.list_cards(cards)


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip())
