"""What the fields of a project's file may hold: with anything else in one, every installer refuses the file.

https://packaging.python.org/en/latest/specifications/pyproject-toml/ and
https://docs.astral.sh/uv/reference/settings/ and https://python-poetry.org/docs/pyproject/ and
https://pipenv.pypa.io/en/latest/pipfile.html
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from gpudoctor.frozen import frozen
from gpudoctor.manifests.spans import ManifestError, Place
from gpudoctor.manifests.statements import Unread
from gpudoctor.manifests.together import can_meet
from gpudoctor.manifests.toml_tables import Places, table, tables
from gpudoctor.nearest import did_you_mean

_ANY = "*"  # stands for whatever a table calls its entries, and for those of a list


@frozen
class Kind:
    """What a field may hold: a test of it, or of each of its items, what it is called, and what to write."""

    called: str
    holds: Callable[[object], bool]
    remedy: str


def _is_list_of(*types: type) -> Callable[[object], bool]:
    return lambda value: isinstance(value, list) and all(isinstance(one, types) for one in value)


def _is_bound(value: object) -> bool:
    return isinstance(value, str | dict) or _is_list_of(str, dict)(value)


_TEXT = Kind(called="text", holds=lambda value: isinstance(value, str), remedy="write it in quotes")
_TABLE = Kind(called="table", holds=lambda value: isinstance(value, dict), remedy="write NAME = VALUE in it")
_TABLES = Kind(called="list of tables", holds=_is_list_of(dict),
               remedy="write its name in [[ ]], and what each has below")
_ONE_OR_MORE = Kind(called="table, or list of them", remedy="write { index = \"NAME\" } or the like",
                    holds=lambda value: isinstance(value, dict) or _TABLES.holds(value))
_TEXTS = Kind(called="list of texts", holds=_is_list_of(str), remedy="write [\"NAME==VERSION\"] or the like")
_REQUIREMENTS = Kind(called="list of requirements", holds=_is_list_of(str),
                     remedy="write [\"NAME==VERSION\"] or the like")
_GROUP = Kind(called="list of requirements", holds=_is_list_of(str, dict), remedy=_REQUIREMENTS.remedy)
_BOUND = Kind(called="bound", holds=_is_bound, remedy="write it in quotes, \"==1.2.3\" or the like")
_OF_EACH: Mapping[str, Kind] = {
    "project": _TABLE, "project.requires-python": _TEXT, "project.dynamic": _TEXTS,
    "project.dependencies": _REQUIREMENTS, "project.optional-dependencies": _TABLE,
    "project.optional-dependencies.*": _REQUIREMENTS,
    "dependency-groups": _TABLE, "dependency-groups.*": _GROUP,
    "tool": _TABLE, "tool.*": _TABLE,
    "tool.uv.index": _TABLES, "tool.uv.index.*.url": _TEXT, "tool.uv.index.*.name": _TEXT,
    "tool.uv.index-url": _TEXT, "tool.uv.extra-index-url": _TEXTS,
    "tool.uv.sources": _TABLE, "tool.uv.sources.*": _ONE_OR_MORE,
    "tool.uv.constraint-dependencies": _TEXTS, "tool.uv.override-dependencies": _TEXTS,
    "tool.uv.dev-dependencies": _REQUIREMENTS,
    "tool.poetry.source": _TABLES, "tool.poetry.dependencies": _TABLE, "tool.poetry.dependencies.*": _BOUND,
    "tool.poetry.dev-dependencies": _TABLE, "tool.poetry.dev-dependencies.*": _BOUND,
    "tool.poetry.group": _TABLE, "tool.poetry.group.*": _TABLE, "tool.poetry.group.*.dependencies": _TABLE,
    "tool.poetry.group.*.dependencies.*": _BOUND,
    "tool.pdm.source": _TABLES, "tool.pdm.dev-dependencies": _TABLE,
    "tool.pdm.dev-dependencies.*": _REQUIREMENTS,
    "tool.hatch.envs": _TABLE, "tool.hatch.envs.*": _TABLE,
}
_NAMES = Kind(called="list of names", holds=_is_list_of(str, dict), remedy="write [\"NAME\"]")
_OF_PART: Mapping[str, Kind] = {"dependencies": _TABLE, "dependencies.*": _BOUND, "pypi-dependencies": _TABLE,
                                "pypi-dependencies.*": _BOUND}
_OF_PIXI: Mapping[str, Kind] = {
    "workspace": _TABLE, "workspace.channels": _NAMES, "workspace.platforms": _NAMES, **_OF_PART,
    "feature": _TABLE, "feature.*": _TABLE, **{f"feature.*.{name}": kind for name, kind in _OF_PART.items()},
    "environments": _TABLE}
_OF_PIPFILE: Mapping[str, Kind] = {
    "source": _TABLES, "requires": _TABLE, "packages": _TABLE, "packages.*": _BOUND, "dev-packages": _TABLE,
    "dev-packages.*": _BOUND}


_OF_PROJECT = {**_OF_EACH, **{f"tool.pixi.{name}": kind for name, kind in _OF_PIXI.items()}}


def checked(document: Mapping[str, Any], places: Places) -> None:
    """Raise `ManifestError` for the first field that holds what it cannot."""
    own = {"Pipfile": _OF_PIPFILE, "pixi.toml": _OF_PIXI}.get(posixpath.basename(places.source.file))
    for pattern, kind in (own or _OF_PROJECT).items():
        for way, value in _found(document, pattern.split(".")):
            if not kind.holds(value):
                said = f"{'.'.join(way)[:80]} is no {kind.called}: {kind.remedy}"
                raise ManifestError(places.of(*way), said)


def _found(value: object, pattern: list[str], way: tuple[str, ...] = ()
           ) -> Iterator[tuple[tuple[str, ...], object]]:
    """Yield the fields that a pattern names, each with the way to it."""
    if not pattern:
        yield way, value
    elif isinstance(value, list) and pattern[0] == _ANY:
        for one in value:
            yield from _found(one, pattern[1:], way)
    elif isinstance(value, dict):
        for name in value if pattern[0] == _ANY else [pattern[0]]:
            if name in value:
                yield from _found(value[name], pattern[1:], (*way, name))


def without_index(uv: Mapping[str, Any], places: Places) -> Iterator[Unread]:
    """Yield the sources of uv whose index nothing here names; a workspace above may do."""
    known = [str(one.get("name")) for one in tables(uv.get("index"))]
    for name, some in table(uv.get("sources")).items():
        for one in tables(some):
            if "index" in one and one["index"] not in known:
                index = str(one["index"])
                yield Unread(place=places.of("tool", "uv", "sources", name), of_framework=True, why=(
                    f"no [[tool.uv.index]] here is called {index[:80]}, so where {name[:80]} comes from was "
                    f"not judged{did_you_mean(index, known)}"))


def require_pythons(bounds: str, written: str, place: Place) -> None:
    """Raise `ManifestError` where bounds on the Python cannot be read, or no Python is within them."""
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    try:
        is_met = can_meet(SpecifierSet(bounds), SpecifierSet())
    except InvalidSpecifier:
        raise ManifestError(place, f"{written[:60]!r} is no bound on a version of Python: write >=3.10 "
                                   "or the like") from None
    if not is_met:
        raise ManifestError(place, f"no Python is within {written[:60]!r}, so nothing installs it: write "
                                   "bounds that leave one, >=3.10 or the like")
