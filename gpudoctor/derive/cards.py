"""What is asked of the cards: bounds on their number and their memory, held against what programs get.

Programs in a container get what its engine hands out, whatever the machine has: where the engine refused,
no card; where nothing in the container could look, that is not known.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping

from gpudoctor.derive import visible
from gpudoctor.derive.view import NotKnown, View
from gpudoctor.model import Absent, Fact, Facts, Known, Snapshot, Unknown, Value

_BOUND = re.compile(r"(>=|<=|==|>|<)\s*([0-9]{1,15}(?:\.[0-9]{1,15})?)\s*(GiB|GB|MiB|MB)?\Z")
_UNITS = {"GiB": 1 << 30, "GB": 10**9, "MiB": 1 << 20, "MB": 10**6, None: 1}
_COMPARE: Mapping[str, Callable[[float, float], bool]] = {
    ">=": operator.ge, "<=": operator.le, "==": operator.eq, ">": operator.gt, "<": operator.lt}
_UNSEEN = ("nothing in the container could look at the cards that it gets; those that are told of are the "
           "machine's own")


def unit(bound: str) -> str | None:
    """Return the unit of a bound on a number, "" where it has none, and None for what is no bound."""
    return (match[3] or "") if (match := _BOUND.match(bound)) else None


def size(bound: str) -> float | None:
    """Return the number of a bound, of memory in bytes; None for what is no bound."""
    return float(match[2]) * _UNITS[match[3]] if (match := _BOUND.match(bound)) else None


def count(view: View) -> Fact:
    """Return how many cards CUDA programs see; without a working libcuda they see none."""
    withheld = _withheld(view)
    if withheld is not None:
        return withheld
    if view.value("driver.works") is False:
        return Known(value=0, source="driver.works")
    seen = view.fact("cuda.visible_count")
    return seen if isinstance(seen, Known) else view.fact("system.nvidia_gpus")


def _withheld(view: View) -> Fact | None:
    """Return what is known of the cards of a container that was not handed any, or could not be asked."""
    if isinstance(view.fact("image.gpu_refusals"), Known):
        return Known(value=0, source="image.gpu_refusals")
    return Unknown(reason=_UNSEEN) if view.value("image.shows_host") is True else None


def mode_back(view: View) -> Fact:
    """Return the command that sets a card's compute mode to what it is now."""
    index, mode = view.need("gpu.index"), view.need_text("gpu.compute_mode")
    return Known(value=_set_mode(index, mode), source="the card's index and compute mode")


def modes_back(snapshot: Snapshot) -> Fact:
    """Return the commands that set the compute modes to what they are now, of those that are not default."""
    if isinstance(snapshot.gpus, Unknown):
        return snapshot.gpus
    found: list[str] = []
    for card in snapshot.gpus:
        mode, index = card.get("gpu.compute_mode"), card.get("gpu.index")
        if not isinstance(mode, Known) or not isinstance(index, Known):
            return Unknown(reason="the compute mode of a card is not known")
        if mode.value != "default":
            found.append(_set_mode(index.value, str(mode.value)))
    source = "the cards' compute modes"
    return Known(value="; ".join(found), source=source) if found else Absent(source=source)


def _set_mode(index: Value, mode: str) -> str:
    return f"sudo nvidia-smi -i {index} -c {mode.upper().replace('-', '_')}"


def within(bound: str, fact: Fact) -> bool | Unknown:
    """Return whether a number is within a bound that can be read."""
    match, limit = _BOUND.match(bound), size(bound)
    assert match is not None
    assert limit is not None
    if isinstance(fact, Absent):
        return False
    if isinstance(fact, Unknown):
        return fact
    value = fact.value if isinstance(fact.value, int | float) else 0
    return _COMPARE[match[1]](value, limit)


def every_card(bound: str, view: View, snapshot: Snapshot) -> bool | Unknown:
    """Return whether the memory of every card that programs see is within the bound."""
    withheld = _withheld(view)
    if withheld is not None:
        return withheld if isinstance(withheld, Unknown) else False
    if isinstance(snapshot.gpus, Unknown):
        return snapshot.gpus
    try:
        hidden = [visible.card_hidden(view, card, snapshot) for card in snapshot.gpus]
    except NotKnown as error:
        return error.fact if isinstance(error.fact, Unknown) else Unknown(reason=error.fact.source)
    seen = [card for card, fact in zip(snapshot.gpus, hidden, strict=True)
            if not isinstance(fact, Known) or fact.value is False]
    verdicts = [card_within(bound, card) for card in seen]
    if any(verdict is False for verdict in verdicts) or not verdicts:
        return False
    return next((verdict for verdict in verdicts if isinstance(verdict, Unknown)), True)


def card_within(bound: str, card: Facts) -> bool | Unknown:
    """Return whether a card's memory is within the bound; a MIG instance has less of it than the card."""
    silent = Unknown(reason="no probe answered for the card's memory")
    verdict = within(bound, card.get("gpu.memory_total_bytes", silent))
    split = card.get("gpu.mig_mode")
    if isinstance(split, Known) and split.value is True and not (verdict is False and bound.startswith(">")):
        return Unknown(reason="the card is cut into MIG instances, whose memory no probe reads; "
                              "nvidia-smi -L lists their sizes")
    return verdict
