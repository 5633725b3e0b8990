"""A driver that a Dockerfile lays into an image, where only the host's own belongs, and how new it is."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from gpudoctor import versions
from gpudoctor.frozen import frozen
from gpudoctor.image_notes import row_of
from gpudoctor.manifests import system_packages
from gpudoctor.manifests.spans import Place
from gpudoctor.manifests.statements import Package
from gpudoctor.model import Tables

_NUMBER = re.compile(r"\d{3}(?:\.\d+){0,2}")


@frozen
class InImage:
    """What lays a driver into an image; `least` is that driver or one that it is not older than."""

    text: str
    place: Place
    least: str | None


def newest(packages: Sequence[Package], tables: Tables) -> InImage | None:
    """Return what lays the newest driver into an image, else one of unknown version; None where none does."""
    found = list(_laid(packages, tables))
    known = [one for one in found if one.least is not None]
    return max(known, key=lambda one: versions.parse(one.least or ""), default=next(iter(found), None))


def _laid(packages: Sequence[Package], tables: Tables) -> Iterator[InImage]:
    for package in packages:
        found = system_packages.row_of(package.text, tables)
        if found is None:
            continue
        row, named = found
        if row.get("brings") == "driver":
            yield InImage(text=package.text, place=package.place,
                          least=named["driver"] or _number(named["pin"]) or named["branch"])
        elif row.get("driver") is True:
            toolkit = row_of(tables, "cuda_toolkits", cuda=(named["cuda"] or "").replace("-", "."))
            yield InImage(text=package.text, place=package.place,
                          least=str(toolkit["minimum_driver"]) if toolkit is not None else None)


def _number(version: str | None) -> str | None:
    """Return a driver's number without what a package manager adds to it."""
    match = _NUMBER.match(version or "")
    return match[0] if match is not None else None
