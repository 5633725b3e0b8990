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
    device = str(view.value("gpu.pci_device_id") or "").upper()
    if device and any(card.startswith(device) for row in view.table("pci_ids").rows
                      if row["prefix"] == device[:2] for card in as_texts(row["cards"])):
        return Known(value=True, source="rules/tables/pci_ids.toml")
    return Known(value=False, source="neither gpu_products.toml nor pci_ids.toml has it")


@lru_cache(maxsize=2048)
def _joined(name: str) -> str:
    """Return a name as those write it who leave out spaces: "rtx5090"."""
    return "".join(name.lower().split())


@lru_cache(maxsize=2048)
def _words(name: str) -> frozenset[str]:
    return frozenset(_WORD.findall(name.lower()))
