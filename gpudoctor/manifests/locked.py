"""What of a lock a project's installation takes: what the project asks for, and what that needs in turn."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from gpudoctor.derive import planned
from gpudoctor.frozen import frozen
from gpudoctor.manifests import locks, pipfile_lock, releases
from gpudoctor.manifests.groups import DEV, Groups
from gpudoctor.manifests.requirements import Listed
from gpudoctor.manifests.spans import Source
from gpudoctor.manifests.statements import Asked, Unread
from gpudoctor.manifests.toml_tables import table, tables
from gpudoctor.versions import distribution_name

NAMES = {"uv": "uv.lock", "poetry": "poetry.lock", "pdm": "pdm.lock", "pipenv": pipfile_lock.NAME}
# one of them is the Python of an image that is not known yet
_PYTHONS = tuple(f"3.{minor}" for minor in range(8, 16))
_DEFAULT, _DEVELOP = "default", "develop"  # categories of pipenv
_ROOT = "."  # where a lock of uv has the project itself


@frozen
class _Edge:
    """One package that is needed: with these extras, and of several versions that are locked, this one."""

    name: str
    extras: tuple[str, ...] = ()
    version: str = ""


@frozen
class _Reached:
    """What is needed in all, each name with its extras, and with the versions where several are locked."""

    extras: Mapping[str, list[str]]
    versions: Mapping[str, set[str]]


def held(lock: Source, wanted: Sequence[Asked], groups: Groups, python: str | None) -> Listed:
    """Return what a lock pins of what a project asks for; raise `ManifestError`.

    What the lock does not hold is taken as the project asks for it, as a program does that brings its lock
    up to date; one that is told to keep to the lock takes the lock's.
    """
    categories = _categories(groups) if lock.file.endswith(pipfile_lock.NAME) else None
    pins = locks.pins_of(lock, python, categories)
    stale = [] if groups.is_frozen else [one for one in wanted if _is_stale(one, pins)]
    gone = {name for one in stale for name in planned.names((one.text,))}
    if categories is None:
        reached = _reached(pins, [one for one in wanted if one not in stale], groups)
        pins = pins.of_versions(reached.versions).only(
            lambda one: locks.name_of(one) in reached.extras, reached.extras)
    pins = pins.only(lambda one: locks.name_of(one) not in gone, pins.extras)
    pins = replace(pins, direct=frozenset(planned.names([one.text for one in wanted])))
    notes = [Unread(why=f"{lock.file} does not hold {one.text}, for which the project's file asks: it was "
                        "judged as it stands there", place=one.place) for one in stale]
    return Listed(asked=(*pins.asked(), *stale), unread=(*pins.unread(), *notes))


def _categories(groups: Groups) -> Callable[[str], bool]:
    named = {_DEVELOP if name == DEV else name for name in groups.named}
    return lambda name: name == _DEFAULT or name in named or groups.everything


def _is_stale(one: Asked, pins: locks.Pins) -> bool:
    """Return whether a lock lacks what is asked for on Linux, or has another version of it."""
    requirement = releases.requirement_of(one)
    if requirement is None or not _applies(str(requirement), pins.python, ()):
        return False
    versions = [str(package.get("version", "")) for package in pins.named(requirement.name)]
    return not any(not version or requirement.specifier.contains(version, prereleases=True)
                   for version in versions)


def _reached(pins: locks.Pins, wanted: Sequence[Asked], groups: Groups) -> _Reached:
    """Return what is asked for, with what it needs in turn."""
    found: dict[str, list[str]] = {}
    versions: dict[str, set[str]] = {}
    open_ = [_Edge(name=str(one.name), extras=tuple(one.extras)) for asked in wanted
             for one in planned.parse((asked.text,)) if _applies(asked.text, pins.python, ())]
    open_ += _of_root(pins, groups, {distribution_name(edge.name) for edge in open_})
    while open_:
        edge = open_.pop()
        name = distribution_name(edge.name)
        if edge.version:
            versions.setdefault(name, set()).add(edge.version)
        known = found.setdefault(name, [])
        more = [extra for extra in sorted(edge.extras) if extra not in known]
        if more or not known:
            known += more or [""]
            open_ += [one for package in pins.named(name) for one in _edges(package, known, pins.python)]
    return _Reached(extras={name: [extra for extra in extras if extra] for name, extras in found.items()},
                    versions=versions)


def _of_root(pins: locks.Pins, groups: Groups, names: Collection[str]) -> list[_Edge]:
    """Return what the project itself needs of these names, as uv has it: each of several versions named.

    Extras that exclude one another are told apart by their own names in the markers.
    """
    for root in (one for one, _ in pins.placed if _ROOT in table(one.get("source")).values()):
        chosen = [name for key in ("optional-dependencies", "dev-dependencies") for name in groups.chosen(
            [*table(root.get(key))], (DEV,))]
        own = str(root.get("name", ""))
        told = [f"{kind}-{len(own)}-{own}-{name}" for kind in ("extra", "group") for name in chosen]
        both = {**table(root.get("optional-dependencies")), **table(root.get("dev-dependencies"))}
        return [edge for edge in _edges({**root, "optional-dependencies": both}, chosen, pins.python, told)
                if distribution_name(edge.name) in names]
    return []


def _edges(one: Mapping[str, Any], extras: Sequence[str], python: str | None, told: Sequence[str] = ()
           ) -> Iterator[_Edge]:
    """Yield what a package needs with these extras, in the forms of uv, poetry and pdm.

    `told` are the extras as uv's markers call them where some exclude others.
    """
    listed = one.get("dependencies")
    if isinstance(listed, dict):  # poetry: from names to bounds
        for name, some in listed.items():
            for each in tables(some) or [{}]:
                if _applies(_marked(each), python, extras):
                    yield _Edge(name=name, extras=_words(each))
        return
    optional = table(one.get("optional-dependencies"))
    for each in (*(listed if isinstance(listed, list) else ()),
                 *(each for extra in extras for each in tables(optional.get(extra)))):
        if isinstance(each, str):  # pdm: as pip has it
            yield from (_Edge(name=str(found.name), extras=tuple(found.extras))
                        for found in planned.parse((each,)) if _applies(each, python, ()))
        elif isinstance(each, dict) and _applies(_marked(each), python, told):
            yield _Edge(name=str(each.get("name", "")), extras=_words(each),
                        version=str(each.get("version", "")))


def _marked(each: Mapping[str, Any]) -> str:
    marker = each.get("marker") or each.get("markers")
    return f"name ; {marker}" if marker else "name"


def _words(each: Mapping[str, Any]) -> tuple[str, ...]:
    extra = each.get("extra") or each.get("extras")
    return tuple(str(word) for word in extra) if isinstance(extra, list) else ()


def _applies(text: str, python: str | None, extras: Sequence[str]) -> bool:
    """Return whether a requirement counts on Linux: with any Python where none is known."""
    if ";" not in text:
        return True
    pythons = (python,) if python is not None else _PYTHONS
    return any(releases.applies(one, each, extra) for one in planned.parse((text,))
               for each in pythons for extra in ("", *extras))
