"""Which product a card is: whether the tables have it, by its name or by its PCI device."""

from __future__ import annotations

import re
from functools import lru_cache

from gpudoctor.derive.view import View, as_texts
from gpudoctor.model import Absent, Fact, Known

NAMELESS = "assumed GPU"  # what a card is called of which only the compute capability was assumed
_WORD = re.compile(r"[a-z]+[a-z0-9]*|[0-9]+[a-z0-9]*")


def listed(view: View) -> Fact:
    """Return whether a table has this product; of a card that nobody named there is nothing to say.

    A driver's name has more words than a table's: "NVIDIA A100-SXM4-80GB" is an A100. A board is no product
    of its own, and its GPU is called as its chip is.
    """
    name = view.need_text("gpu.name")
    if name == NAMELESS:
        return Absent(source="nobody said which product it is")
    if isinstance(view.fact("system.jetson"), Known):
        return Absent(source="the GPU of a board is no product of its own")
    words, joined = _words(name), _joined(name)
    if any(_words(form) <= words or _joined(form) == joined for row in view.table("gpu_products").rows
           for form in as_texts(row["forms"])):
        return Known(value=True, source="rules/tables/gpu_products.toml")
    if _of_device(view, str(view.look("gpu.pci_device_id") or "")):
        return Known(value=True, source="rules/tables/pci_ids.toml")
    return Known(value=False, source="neither gpu_products.toml nor pci_ids.toml has it")


def product(view: View) -> Fact:
    """Return what the card is called: by the driver, else, with no driver at all, by its PCI device.

    A device may be several products, which only a maker's number tells apart; all of them are named.
    """
    name = view.fact("gpu.name")
    if isinstance(name, Known):
        return name
    device = view.need_text("gpu.pci_device_id")
    if names := _of_device(view, device):
        return Known(value=" or ".join(names), source=f"rules/tables/pci_ids.toml for the device {device}")
    return Absent(source=f"pci_ids.toml does not have the device {device}")


def _of_device(view: View, device: str) -> tuple[str, ...]:
    """Return the products of a PCI device, each once; a chip in brackets is no part of a name."""
    cards = (card.partition(" ") for row in view.table("pci_ids").rows if row["prefix"] == device[:2].upper()
             for card in as_texts(row["cards"]))
    return tuple(dict.fromkeys(name.partition(" (")[0] for place, _, name in cards
                               if place.partition(":")[0] == device.upper()))


@lru_cache(maxsize=2048)
def _joined(name: str) -> str:
    """Return a name as those write it who leave out spaces: "rtx5090"."""
    return "".join(name.lower().split())


@lru_cache(maxsize=2048)
def _words(name: str) -> frozenset[str]:
    return frozenset(_WORD.findall(name.lower()))
