"""What an image asks of driver and cards, held against those of the machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from gpudoctor import image_needs, versions
from gpudoctor.derive import minor_versions
from gpudoctor.derive.view import View, as_texts
from gpudoctor.image_needs import NOT_TOLD, Card
from gpudoctor.model import Absent, Fact, Facts, Known, Snapshot, Unknown

_NEWEST = "999"  # a minor version above all that there are


def unmet(view: View, snapshot: Snapshot) -> Fact:
    """Return the requirements of an image that driver and cards do not meet, each by its first alternative.

    The container toolkit names them so as well; an image of nvidia/cuda has a hundred alternatives.
    """
    return _unmet(view, _cards(view, snapshot))


def failing(view: View, snapshot: Snapshot) -> Fact:
    """Return those of them that are not met by the compatibility of minor versions either."""
    return _unmet(view, [_reaching(card, view) for card in _cards(view, snapshot)])


def _unmet(view: View, cards: Sequence[Card]) -> Fact:
    found: list[str] = []
    for requirement in as_texts(view.need("image.requirements")):
        met = [image_needs.is_met(requirement, card) for card in cards]
        if all(met):
            continue
        if None in met or isinstance(view.fact("driver.cuda_ceiling"), Unknown):
            return Unknown(reason=f"whether driver and cards meet {_first(requirement)} is not known")
        found.append(_first(requirement))
    source = view.source("image.requirements")
    return Known(value=tuple(found), source=f"{source}, against driver and cards") if found else Absent(
        source="driver and cards meet them")


def _first(requirement: str) -> str:
    return requirement.split(maxsplit=1)[0]


def _cards(view: View, snapshot: Snapshot) -> list[Card]:
    """Return the cards with their driver; without any, one that tells nothing."""
    ceiling = view.bound("driver.cuda_ceiling")
    if isinstance(view.fact("driver.cuda_ceiling"), Absent):
        view.need("driver.cuda_ceiling")
    driver = Card(cuda=ceiling, driver=view.bound("driver.version"))
    if isinstance(snapshot.gpus, Unknown):
        return [driver]
    return [replace(driver, arch=_told(card, "gpu.compute_capability"), brand=_told(card, "gpu.brand"))
            for card in snapshot.gpus] or [replace(driver, arch=NOT_TOLD, brand=NOT_TOLD)]


def _told(card: Facts, name: str) -> str | None:
    fact = card.get(name)
    return str(fact.value) if isinstance(fact, Known) else NOT_TOLD if isinstance(fact, Absent) else None


def _reaching(card: Card, view: View) -> Card:
    """Return a card as one whose driver runs each CUDA of which it runs the machine code."""
    if card.cuda is None or not minor_versions.is_kept(card.cuda, view):
        return card
    return replace(card, cuda=f"{versions.parse(card.cuda).major}.{_NEWEST}")


def derivations(snapshot: Snapshot) -> Mapping[str, Callable[[View], Fact]]:
    """Return the derivations of what an image asks of a machine with these cards."""
    return {"image.requirements_unmet": lambda view: unmet(view, snapshot),
            "image.requirements_failing": lambda view: failing(view, snapshot)}
