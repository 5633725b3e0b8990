"""kubectl describe node and scontrol show node: the labels and the resources of a node with cards."""

from __future__ import annotations

import re

from gpudoctor.model import Value
from gpudoctor.sources import fields
from gpudoctor.sources.cards import capability_named
from gpudoctor.sources.found import Found
from gpudoctor.sources.lines import Text
from gpudoctor.sources.stated import Rank

_LABEL = re.compile(r"nvidia\.com/([a-z.-]{3,40})[=:] ?\"?([A-Za-z0-9._-]{1,60})")
_MOST_CARDS, _NODE_LINES = 16, 12
_GRES = re.compile(r"\bGres=gpu:([A-Za-z][A-Za-z0-9_-]{1,30}):([0-9]{1,2})\b")


def read(text: Text, found: Found) -> None:
    """Read the labels that NVIDIA's feature discovery gives a node, and Slurm's generic resources."""
    labels: dict[str, tuple[str, int]] = {}
    for index in text.having("nvidia.com/"):
        for label in _LABEL.finditer(text.lines[index][:4000]):
            known = labels.setdefault(label[1], (label[2], index))
            if known[0] != label[2] and label[1].startswith("gpu.product"):
                return  # several nodes: nobody knows which of them it is about
    if "gpu.product" in labels or "cuda.driver.major" in labels:
        _labels(text, found, labels)
    for index in text.having("Gres=gpu:"):
        resource = _GRES.search(text.lines[index])
        if resource:
            found.mention("text.places", "slurm", text.source(index))
            _list(text, found, resource[1].replace("_", " ").upper(), int(resource[2]), index)
            _kernel(text, found, index)


def _kernel(text: Text, found: Found, index: int) -> None:
    """Read the kernel of the node, a few lines below its resources."""
    for below in range(index, min(index + _NODE_LINES, len(text.lines))):
        kernel = text.lines[below].partition("OS=Linux ")[2]
        if kernel:
            found.say("system.os", "Linux", text.source(below))
            fields.kernel(found, kernel, text.source(below), Rank.REPORTED)
            return


def _labels(text: Text, found: Found, labels: dict[str, tuple[str, int]]) -> None:
    found.mention("text.places", "kubernetes", text.source(next(iter(labels.values()))[1]))
    for fact, names in (("driver.version", ("cuda.driver.major", "cuda.driver.minor", "cuda.driver.rev")),
                        ("driver.cuda_ceiling", ("cuda.runtime.major", "cuda.runtime.minor"))):
        parts = [labels[name] for name in names if name in labels]
        if len(parts) == len(names) or len(parts) == 2:
            found.say(fact, ".".join(value for value, _ in parts), text.source(parts[0][1]))
    if "gpu.product" in labels:
        name, index = labels["gpu.product"]
        name = re.sub(r"-(?:MIG-\S+|SHARED)\Z", "", name).replace("-", " ")
        major, minor, count = (labels.get(f"gpu.{one}", ("", 0))[0]
                               for one in ("compute.major", "compute.minor", "count"))
        capability = f"{major}.{minor}" if major and minor else None
        _list(text, found, name, int(count) if count.isdecimal() else 1, index, capability)


def _list(text: Text, found: Found, name: str, count: int, index: int,
          capability: str | None = None) -> None:
    """Note cards that are all alike; Slurm's word for one is what an administrator wrote."""
    card: dict[str, Value | None] = {
        "gpu.name": name, "gpu.compute_capability": capability or capability_named(name, found.known)}
    cards = [found.card(card, text.source(index)) for _ in range(min(count, _MOST_CARDS))]
    found.list_cards(cards, Rank.STATED)
