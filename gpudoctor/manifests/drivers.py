"""A driver that a Dockerfile lays into an image, where only the host's own belongs, and how new it is."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from gpudoctor.frozen import frozen
from gpudoctor.manifests import system_packages
from gpudoctor.manifests.spans import Place
from gpudoctor.manifests.statements import Package
from gpudoctor.model import Row, Tables, row_of

_NUMBER = re.compile(r"[0-9]{3}(?:\.[0-9]+){0,2}")
_RELEASE = re.compile(r"([0-9]+)\.([0-9]+)\.")


@frozen
class InImage:
    """What lays a driver into an image; `least` is that driver or one that it is not older than.

    `instead` is the package that brings the same CUDA without it, None where there is none or its release
    is not known.
    """

    text: str
    place: Place
    least: str | None
    instead: str | None = None


def laid(packages: Sequence[Package], tables: Tables) -> Iterator[InImage]:
    """Yield what lays a driver into an image, each with how new that is, where it is known."""
    for package in packages:
        found = system_packages.row_of(package.text, tables)
        if found is None:
            continue
        row, named = found
        if row.get("brings") == "driver":
            yield InImage(text=package.text, place=package.place,
                          least=named["driver"] or _number(named["pin"]) or named["branch"])
        elif row.get("driver") is True:
            cuda = _cuda_of(named)
            toolkit = row_of(tables, "cuda_toolkits", cuda=cuda.replace("-", ".")) if cuda else None
            yield InImage(text=package.text, place=package.place,
                          least=str(toolkit["minimum_driver"]) if toolkit is not None else None,
                          instead=_instead(package.text, row, cuda) if cuda else None)


def _cuda_of(named: Mapping[str, str | None]) -> str | None:
    """Return the CUDA that a name says, else its pin, as 12-4."""
    pinned = _RELEASE.match(named["pin"] or "")
    return named["cuda"] or (f"{pinned[1]}-{pinned[2]}" if pinned is not None else None)


def _instead(text: str, row: Row, cuda: str) -> str | None:
    """Return the name without a driver, with the version that was asked for: both have the release's own."""
    if "instead" not in row:
        return None
    behind = text.removeprefix(str(row["name"]).replace("{cuda}", cuda))
    return f"{str(row['instead']).replace('{cuda}', cuda)}{behind}"


def _number(version: str | None) -> str | None:
    """Return a driver's number without what a package manager adds to it."""
    match = _NUMBER.match(version or "")
    return match[0] if match is not None else None
