"""Whether the container toolkit starts an image on a host: by the driver, else as one of its exceptions."""

from __future__ import annotations

from gpudoctor import image_needs, versions
from gpudoctor.assume.products import names_of
from gpudoctor.candidates.ground import Ground, version_of
from gpudoctor.image_needs import NOT_TOLD, Card
from gpudoctor.manifests.images import CUDA_IMAGE, UNREAD_BRANCH, Base
from gpudoctor.model import Facts, Known, Unknown

_NO_CUDA = "0"  # what a driver runs that can only be excused
# NVIDIA's words for the cards that no exception names, and that forward compatibility does not serve
CONSUMER = ("GeForce", "TITAN")


def is_excused(base: Base, ground: Ground) -> bool | None:
    """Say whether an older driver is one that the image takes all the same; None: it hangs on the card."""
    cards = () if isinstance(ground.snapshot.gpus, Unknown) else ground.snapshot.gpus
    met = [image_needs.is_met(base.requirement, Card(cuda=_NO_CUDA, driver=ground.driver, brand=brand))
           for brand in ((_brand(card, ground) for card in cards) if cards else (None,))]
    if False in met:
        return False
    return None if None in met else True


def left_open(base: Base, ground: Ground) -> str:
    """Say why it is not known whether the image starts, where the driver is older than its CUDA."""
    ceiling = version_of(ground.fact("driver.cuda_ceiling"))
    asked = base.least_cuda or (base.cuda if base.name == CUDA_IMAGE else None)
    least = versions.minor_of(asked) if asked else None
    if (least is None or ceiling is None or versions.parse(ceiling) >= versions.parse(least)
            or (base.least_cuda is not None and is_excused(base, ground) is not None)):
        return ""
    if base.least_cuda is None or UNREAD_BRANCH in base.requirement:
        return (f"which drivers older than that for CUDA {least} it takes is in no table; "
                f"NVIDIA_REQUIRE_CUDA in it says so (docker image inspect {base.reference})")
    return (f"it asks for one that runs CUDA {least}, and takes this older one on cards of certain brands "
            "alone, no GeForce; --assume card=NAME says which it is")


def is_consumers(name: str, ground: Ground) -> bool:
    """Say whether a card's name is of those that people buy to play."""
    names = names_of(name, ground.database.tables)
    return bool(names) and all(one.startswith(CONSUMER) for one in names)


def _brand(card: Facts, ground: Ground) -> str | None:
    """Return the brand as the toolkit knows it; of a card by its name whether it is a consumer's."""
    brand, name = card.get("gpu.brand"), card.get("gpu.name")
    if isinstance(brand, Known):
        return str(brand.value)
    if not isinstance(name, Known) or not names_of(str(name.value), ground.database.tables):
        return None
    return CONSUMER[0].lower() if is_consumers(str(name.value), ground) else NOT_TOLD
