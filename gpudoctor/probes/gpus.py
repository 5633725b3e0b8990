"""Join what PCI, NVML, libcuda and the checked kernel say of cards: by UUID or PCI bus id, never by index."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from gpudoctor.facts import CATALOGUE
from gpudoctor.model import Absent, Fact, Facts, Known, Scope, Unknown
from gpudoctor.probes.calls import Cards
from gpudoctor.probes.smoke import ANSWER, KERNEL, OUTCOMES

Source: TypeAlias = Literal["nvml", "cuda", "pci", "smoke"]
_NAMES: Mapping[Source, str] = {
    "nvml": "NVML", "cuda": "libcuda", "pci": "the PCI bus", "smoke": "the checked kernel"}
_ORDER: tuple[Source, ...] = ("nvml", "cuda", "pci", "smoke")  # whose word counts first
_ONE_EACH = ("nvml", "pci")  # libcuda may list several MIG instances of one card
_DEVICES: tuple[Source, ...] = ("cuda", "smoke")  # devices of libcuda, which it may fail to name
_WHO = ("gpu.uuid", "gpu.bus_id")
_OWNERS: Mapping[str, Source] = {"system": "pci", "nvml": "nvml", "cuda": "cuda", "smoke": "smoke"}
_PROMISED = tuple(spec for spec in CATALOGUE.values() if spec.scope is Scope.GPU and not spec.derived)


@dataclass(slots=True)
class _Card:
    """What each source said about one card."""

    said: dict[Source, list[Facts]] = field(default_factory=dict)

    def known(self, name: str) -> set[object]:
        return {fact.value for fact in self.facts(name) if isinstance(fact, Known)}

    def facts(self, name: str) -> Iterator[Fact]:
        for source in _ORDER:
            yield from (facts[name] for facts in self.said.get(source, ()) if name in facts)


def join(pci: Cards, nvml: Cards, cuda: Cards, smoke: Cards) -> tuple[Facts, ...] | Unknown:
    """Return every promised fact of every card that anybody lists; Unknown when nobody could look.

    An empty PCI list proves nothing when NVML failed to answer: some virtual machines show no PCI device.
    Without a PCI bus (some boards have none) neither NVML nor libcuda may have failed.
    """
    lists: dict[Source, Cards] = {"nvml": nvml, "cuda": cuda, "pci": pci, "smoke": smoke}
    cards = _without_unnamed(_grouped(lists))
    if cards:
        lists.update({source: _unnamed(lists[source]) or lists[source] for source in _DEVICES})
        return tuple({spec.name: _fact(card, spec.name, _OWNERS[spec.probe], lists) for spec in _PROMISED}
                     for card in cards)
    no_bus = isinstance(pci, Absent) and not isinstance(cuda, Unknown)
    if () in (nvml, cuda) or ((pci == () or no_bus) and not isinstance(nvml, Unknown)):
        return ()
    reasons = (f"{_NAMES[source]}: {_why(lists[source])}" for source in ("pci", "nvml", "cuda"))
    return Unknown(reason="no card was seen, but not everybody could look: " + "; ".join(reasons))


def _why(cards: Cards) -> str:
    if isinstance(cards, Unknown):
        return cards.reason
    return cards.source if isinstance(cards, Absent) else "no card"


def _grouped(lists: Mapping[Source, Cards]) -> list[_Card]:
    cards: list[_Card] = []
    for source in _ORDER:
        listed = lists[source]
        for facts in listed if isinstance(listed, tuple) else ():
            card = _same(cards, source, facts)
            if card is None:
                card = _Card()
                cards.append(card)
            card.said.setdefault(source, []).append(facts)
    return _without_nameless(cards)


def _same(cards: list[_Card], source: Source, facts: Facts) -> _Card | None:
    for name in _WHO:
        fact = facts.get(name)
        if not isinstance(fact, Known):
            continue
        for card in cards:
            if fact.value in card.known(name) and not (source in _ONE_EACH and source in card.said):
                return card
    return None


def _without_nameless(cards: list[_Card]) -> list[_Card]:
    """Join cards that NVML only counts (lost ones) with those that only others list, if there are as many."""
    nameless = [c for c in cards if "nvml" in c.said and not any(c.known(name) for name in _WHO)]
    left_over = [c for c in cards if "nvml" not in c.said and c.known("gpu.pci_driver") <= {"nvidia"}]
    if not nameless or len(nameless) != len(left_over):
        return cards
    for card, other in zip(nameless, left_over, strict=True):
        card.said |= other.said
        if len(nameless) > 1:
            index = Unknown(reason="NVML does not say which of several cards this is")
            card.said["nvml"] = [{**facts, "gpu.index": index} for facts in card.said["nvml"]]
    return [card for card in cards if not any(card is other for other in left_over)]


def _without_unnamed(cards: list[_Card]) -> list[_Card]:
    """Join a device that libcuda cannot name with the one card that it does not list, or leave it out.

    It is one of those that others list: a card of its own would be one too many.
    """
    for source in _DEVICES:
        unnamed = [c for c in cards if set(c.said) == {source} and not any(c.known(name) for name in _WHO)]
        cards_left = [c for c in cards if not any(c is other for other in unnamed)]
        unlisted = [c for c in cards_left if source not in c.said and {"nvml", "pci"} & set(c.said)]
        if len(unnamed) == len(unlisted) == 1:
            unlisted[0].said |= unnamed[0].said
        if {"nvml", "pci"} & {listing for card in cards_left for listing in card.said}:
            cards = cards_left
    return cards


def _unnamed(listed: Cards) -> Unknown | None:
    """Return why one of the devices cannot be named: then nobody knows which card is not among them."""
    for facts in listed if isinstance(listed, tuple) else ():
        who = [facts[name] for name in _WHO if name in facts]
        if who and all(isinstance(fact, Unknown) for fact in who):
            return next(fact for fact in who if isinstance(fact, Unknown))
    return None


def _fact(card: _Card, name: str, owner: Source, lists: Mapping[Source, Cards]) -> Fact:
    if name in (KERNEL, ANSWER):
        return _of_the_kernel(card, name, lists["smoke"])
    said = list(card.facts(name))
    for fact in said:
        if isinstance(fact, Known):
            return fact
    if owner in card.said:
        return said[0] if said else Unknown(reason=f"{_NAMES[owner]} says nothing about {name}")
    source = f"{_NAMES[owner]} does not list this card"
    is_listing = name in ("gpu.in_nvml", "gpu.in_cuda")
    looked = Known(value=False, source=source) if is_listing else Absent(source=source)
    return _not_listed(owner, lists[owner], looked)


def _not_listed(owner: Source, listed: Cards, looked: Fact) -> Fact:
    """Return `looked` when the source listed its cards; else why it could not."""
    if isinstance(listed, tuple):
        return looked
    if isinstance(listed, Absent):
        return Unknown(reason=f"{_NAMES[owner]} cannot be asked: {listed.source}")
    return listed


def _of_the_kernel(card: _Card, name: str, listed: Cards) -> Fact:
    """Return a fact of the worst that happened on any device of the card."""
    devices = [facts for facts in card.said.get("smoke", ()) if name in facts]
    if devices:
        return min(devices, key=_badness)[name]
    return _not_listed("smoke", listed, Absent(source="libcuda does not list this card"))


def _badness(device: Facts) -> int:
    """Return how far down in the order of outcomes a device stands; one without any is last."""
    fact = device.get(KERNEL)
    return OUTCOMES.index(str(fact.value)) if isinstance(fact, Known) else len(OUTCOMES)
