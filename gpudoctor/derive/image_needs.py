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
    name = "image.requirements"
    return _unmet(name, as_texts(view.need(name)), _cards(view, snapshot), view)


def failing(view: View, snapshot: Snapshot) -> Fact:
    """Return those of them that are not met by the compatibility of minor versions either.

    Where no variable asks for anything, a label may; nobody compares that any more.
    """
    asked, name = as_texts(view.value("image.requirements")), "image.requirements"
    if isinstance(view.fact(name), Absent):
        name = "image.labelled_cuda"
        asked = (f"cuda>={view.need_text(name)}",)
    view.need(name)
    return _unmet(name, asked, [_reaching(card, view) for card in _cards(view, snapshot)], view)


def _unmet(name: str, requirements: Sequence[str], cards: Sequence[Card], view: View) -> Fact:
    found: list[str] = []
    for requirement in requirements:
        met = [image_needs.is_met(requirement, card) for card in cards]
        if all(met):
            continue
        if None in met or isinstance(view.fact("driver.cuda_ceiling"), Unknown):
            return Unknown(reason=f"whether driver and cards meet {_first(requirement)} is not known")
        found.append(_first(requirement))
    if not found:
        return Absent(source="driver and cards meet them")
    return Known(value=tuple(found), source=f"{view.source(name)}, against driver and cards")


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
