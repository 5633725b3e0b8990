"""Which files pip would bring: requirements on NVIDIA's wheels, looked up in the table of their contents."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from packaging.specifiers import SpecifierSet

from gpudoctor import versions
from gpudoctor.derive.remembered import of_same
from gpudoctor.derive.view import as_texts
from gpudoctor.model import Fact, Known, Record, Row, Table, Value

if TYPE_CHECKING:
    from packaging.requirements import Requirement


def parse(texts: Iterable[str]) -> Iterator[Requirement]:
    """Yield the requirements that can be read, their extras as pip compares them (PEP 685)."""
    for text in texts:
        requirement = _parse_one(text)
        if requirement is not None:
            yield requirement


@lru_cache(maxsize=1 << 14)  # more than a list has: a smaller one forgets all of a longer list
def _parse_one(text: str) -> Requirement | None:
    from packaging.requirements import InvalidRequirement, Requirement  # slow; seldom needed

    if versions.UNCOUNTABLE.search(text):
        return None
    try:
        found = Requirement(text)
    except InvalidRequirement:
        return None
    found.extras = {extra_name(extra) for extra in found.extras}
    return found


def extra_name(written: str) -> str:
    """Return the name of an extra as pip compares it: and-cuda of AND_CUDA."""
    return versions.distribution_name(written)


def names(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the names of the distributions that are asked for, each once."""
    return tuple(dict.fromkeys(versions.distribution_name(requirement.name) for requirement in parse(texts)))


def missing(wanted: Iterable[str], here: Iterable[str]) -> tuple[str, ...]:
    """Return the requirements on distributions that are not among the names `here`."""
    present = {versions.distribution_name(name) for name in here}
    return tuple(
        text
        for text in wanted
        for requirement in parse((text,))
        if versions.distribution_name(requirement.name) not in present
    )


def as_well(before: Fact, added: Fact) -> Fact:
    """Return what pip is to install with what it was to anyway: of one distribution, the new words."""
    if not isinstance(before, Known) or not isinstance(added, Known):
        return added
    new = as_texts(added.value)
    kept = (text for text in as_texts(before.value) if not set(names((text,))) & set(names(new)))
    return replace(added, value=(*kept, *new))


def together(texts: Iterable[str], table: Table) -> tuple[str, ...]:
    """Return requirements as pip meets them: of each distribution one release, within all bounds on it.

    Where no known release is within all, the last words count, as of several commands.
    """
    return _together(table, tuple(texts))


@of_same
def _together(table: Table, texts: tuple[str, ...]) -> tuple[str, ...]:
    found: dict[str, Requirement] = {}
    for requirement in parse(texts):
        name = versions.distribution_name(requirement.name)
        found[name] = _narrowed(found[name], requirement, table) if name in found else requirement
    return tuple(str(requirement) for requirement in found.values())


def bounded(text: str, bound: str) -> str:
    """Return a requirement without extras with one bound more, written with those that decide."""
    (requirement,) = parse((text,))
    decide = versions.tightest(str(requirement.specifier & SpecifierSet(bound)))
    return text if SpecifierSet(decide) == requirement.specifier else requirement.name + decide


def _narrowed(before: Requirement, after: Requirement, table: Table) -> Requirement:
    """Return the bounds of both, else the later ones, else the earlier: the first that can be met."""
    both = copy(after)
    both.specifier = before.specifier & after.specifier
    return next((one for one in (both, after, before) if newest(one, table) is not None), after)


def newest(requirement: Requirement, table: Table) -> tuple[Row, str] | None:
    """Return the table's row for the newest version that satisfies a requirement, and that version."""
    found: list[tuple[Row, str]] = []
    for row in _by_distribution(table).get(versions.distribution_name(requirement.name), ()):
        version = _within(str(row["since"]), str(row["version"]), str(requirement.specifier))
        if version is not None:
            found.append((row, version))
    return max(found, key=lambda pair: versions.parse(pair[1]), default=None)


@of_same
def _by_distribution(table: Table) -> Mapping[Value, Sequence[Row]]:
    found: dict[Value, list[Row]] = {}
    for row in table.rows:
        found.setdefault(row["distribution"], []).append(row)
    return found


@lru_cache(maxsize=4096)  # of hundreds of candidates most ask for the same
def _within(first: str, last: str, bounds: str) -> str | None:
    """Return the newest version known to be in a row's range that is within the bounds.

    Known are the ends of the range and what the bounds themselves name.
    """
    specifiers = SpecifierSet(bounds)
    since, until = versions.parse(first), versions.parse(last)
    named = [specifier.version.removesuffix(".*") for specifier in specifiers]
    known = [
        text
        for text in (first, last, *named)
        if since <= versions.parse(text) <= until and specifiers.contains(text)
    ]
    return max(known, key=versions.parse, default=None)


def files(texts: Iterable[str], location: str, table: Table) -> Sequence[tuple[str, Record]]:
    """Return (path, record) of the libraries that installing these below `location` would bring."""
    return _files(table, tuple(texts), location)


@of_same
def _files(table: Table, texts: tuple[str, ...], location: str) -> Sequence[tuple[str, Record]]:
    return tuple(_brought(texts, location, table))


def _brought(texts: Sequence[str], location: str, table: Table) -> Iterator[tuple[str, Record]]:
    for requirement in parse(texts):
        chosen = newest(requirement, table)
        if chosen is None:
            continue
        row, version = chosen
        for name in as_texts(row["libraries"]):
            path = f"{location}/{row['folder']}/{name}"
            yield (
                posixpath.normpath(path),
                {
                    "path": path,
                    "soname": name,
                    "machine": "",
                    "error": "",
                    "version": version,
                    "distribution": str(row["distribution"]),
                },
            )


def replaces(brought: Record, texts: Sequence[str], record: Record) -> bool:
    """Return whether pip would put its file in place of one that lies there.

    Not if the right one is installed, unless that is broken and exactly its version is asked for, which is
    how a fix has pip lay it down again.
    """
    if brought["distribution"] != record.get("distribution"):
        return True
    version = str(record.get("version") or "0")
    mine = [r for r in parse(texts) if versions.distribution_name(r.name) == brought["distribution"]]
    if record.get("error") and any(str(bound) == f"=={version}" for r in mine for bound in r.specifier):
        return True
    return not any(r.specifier.contains(version) for r in mine)


def bringing(soname: str, cuda_major: int, table: Table) -> str | None:
    """Return the requirement whose wheels hold a library: nvidia-cudnn-cu11>=8.5.0.96,<=8.9.6.50."""
    return _bringing(table, soname, cuda_major)


@of_same
def _bringing(table: Table, soname: str, cuda_major: int) -> str | None:
    rows = [
        row for row in table.rows
        if row.get("cuda_major") == cuda_major and soname in as_texts(row["libraries"])
    ]
    if not rows:
        return None
    name = str(rows[0]["distribution"])
    ends = [
        versions.parse(str(row[column]))
        for row in rows
        for column in ("since", "version")
        if row["distribution"] == name
    ]
    others = any(row["distribution"] == name and row not in rows for row in table.rows)
    return f"{name}>={min(ends)},<={max(ends)}" if others else name
