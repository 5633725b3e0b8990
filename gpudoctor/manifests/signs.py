"""What an environment starts from, and what shows that it is meant to use a GPU."""

from __future__ import annotations

from gpudoctor.manifests import images, releases
from gpudoctor.manifests.images import Base
from gpudoctor.manifests.statements import Environment, Wish
from gpudoctor.model import Tables


def base_of(environment: Environment, tables: Tables) -> Base | None:
    """Return what is known of the image, or of its name where only the build knows its tag."""
    image = environment.image
    if image is None or (image.reference is None and image.name is None):
        return None
    return images.base_of(image.reference or f"{image.name}:{images.OPEN_TAG}", tables)


def gpu_wishes(environment: Environment, tables: Tables) -> tuple[Wish, ...]:
    """Return the signs that an environment is meant to use a GPU."""
    found = list(environment.wishes)
    found += [Wish(why=why, place=image.place) for image in environment.feeding
              if (written := image.reference or (image.name and f"{image.name}:{images.OPEN_TAG}"))
              and (why := images.base_of(written, tables).why_gpu)]
    installed = [(one.text, one.place) for one in environment.packages]
    installed += [(one.text, one.place) for one in environment.brought]
    found += [Wish(why=f"{text} is installed", place=place) for text, place in installed]
    found += [Wish(why=why, place=asked.place) for asked in environment.asked
              if (why := releases.wants_gpu(asked))]
    return tuple(found)
