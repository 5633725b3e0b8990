"""Which offers go together: each finding of an environment is told what its file could ask for instead."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from gpudoctor.manifests import otherwise
from gpudoctor.manifests.otherwise import Offer
from gpudoctor.manifests.statements import Environment

if TYPE_CHECKING:
    from gpudoctor.manifests.judging import Located

OfferOf = Callable[["Located", Sequence["Located"], Environment], Offer | None]


def with_offers(found: Sequence[Located], environment: Environment, offer_of: OfferOf) -> Iterator[Located]:
    """Yield findings with what the file could ask for instead: of releases, what fits such an image.

    Of several frameworks each is offered what fits beside the offers for the others.
    """
    offers = [offer_of(one, found, environment) for one in found]
    image = next((offer.image for offer in offers if offer is not None and offer.image), None)
    if image is not None:
        environment = otherwise.with_image(environment, image)
        offers = [offer if offer is not None and offer.image else offer_of(one, found, environment) or offer
                  for one, offer in zip(found, offers, strict=True)]
    offers = [_beside(one, offer, offers, found, environment, offer_of)
              for one, offer in zip(found, offers, strict=True)]
    for one, offer in zip(found, offers, strict=True):
        yield one if offer is None else replace(
            one, offer=offer, finding=otherwise.with_offer(one.finding, offer))


def _beside(one: Located, own: Offer | None, offers: Sequence[Offer | None], found: Sequence[Located],
            environment: Environment, offer_of: OfferOf) -> Offer | None:
    """Return what is offered where the others are followed: what warns until then is not left."""
    if own is None or own.at is None or not own.left:
        return own
    followed = environment
    for other in offers:
        if other is not None and other.at is not None and other.instead and other.at != own.at:
            followed = otherwise.with_asked(followed, other.at, other.instead)
    then = offer_of(one, found, followed) if followed is not environment else None
    if then is None or then.stack != own.stack:
        return then or own
    return replace(then, meanwhile=own.left - then.left)
