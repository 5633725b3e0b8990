"""What a lock file pins: of uv, poetry, pdm, pipenv and pip, each package with its exact version.

https://docs.astral.sh/uv/concepts/projects/layout/#the-lockfile and
https://packaging.python.org/en/latest/specifications/pylock-toml/
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from gpudoctor.derive import planned
from gpudoctor.frozen import frozen
from gpudoctor.manifests import pipfile_lock, releases
from gpudoctor.manifests.pyproject import one_python
from gpudoctor.manifests.requirements import FRAMEWORK
from gpudoctor.manifests.spans import ManifestError, Place, Source
from gpudoctor.manifests.statements import Asked, Environment, Unread
from gpudoctor.manifests.toml_tables import parsed, table, tables
from gpudoctor.versions import distribution_name

LOCKS = re.compile(r"(?:uv|poetry|pdm|Pipfile)\.lock|pylock(?:\.[^.]+)?\.toml")
_HEADER = re.compile(r"(?m)^\[\[packages?\]\][ \t]*(?:#.*)?$")
_NOT_FROM_AN_INDEX = ("editable", "virtual", "git", "path", "file", "url", "directory", "vcs", "archive")
# what says where a package counts: uv, poetry, pdm and pip
_MARKERS = ("resolution-markers", "markers", "marker")
_OF_A_PROJECT = frozenset({"virtual", "editable"})  # how a lock of uv has the projects that it is for
_ANEW = "let the tool that locks write it anew"
_Placed = Sequence[tuple[Mapping[str, Any], Place]]


@frozen
class Pins:
    """The packages of a lock that count on Linux, with the extras for which each is asked.

    `split` are the names of which several versions may count, `direct` those that projects themselves ask
    for, None where that is not known.
    """

    placed: _Placed
    split: frozenset[str]
    extras: Mapping[str, Sequence[str]]
    python: str | None
    direct: frozenset[str] | None = None

    def named(self, name: str) -> list[Mapping[str, Any]]:
        """Return the packages of this name."""
        return [one for one, _ in self.placed if name_of(one) == distribution_name(name)]

    def only(self, keep: Callable[[Mapping[str, Any]], bool], extras: Mapping[str, Sequence[str]]) -> Pins:
        """Return the packages that are kept, with these extras."""
        return replace(self, placed=[pair for pair in self.placed if keep(pair[0])], extras=extras)

    def of_versions(self, versions: Mapping[str, Collection[str]]) -> Pins:
        """Return the packages of which one of several versions is meant as that one."""
        meant = {name: next(iter(some)) for name, some in versions.items()
                 if name in self.split and len(some) == 1}
        left = replace(self, split=self.split - set(meant))
        return left.only(lambda one: meant.get(name_of(one)) in (None, str(one.get("version", ""))),
                         self.extras)

    def asked(self) -> tuple[Asked, ...]:
        """Return the releases that are pinned."""
        return tuple(replace(one, is_brought=self.direct is not None and not self.direct & {*planned.names(
            (one.text,))}) for one in _asked(self.placed, self.split, self.extras))

    def unread(self) -> tuple[Unread, ...]:
        """Return what was not understood."""
        return tuple(_unread(self.placed, self.split))


def of_lock(source: Source) -> Environment:
    """Return the environment that a lock file pins; raise `ManifestError`."""
    pins = pins_of(source)
    return Environment(name=source.file.rpartition("/")[2], place=source.place(0), in_container=False,
                       python=pins.python, asked=pins.asked(), unread=pins.unread())


def pins_of(source: Source, python: str | None = None, categories: Callable[[str], bool] | None = None
            ) -> Pins:
    """Return what a lock file pins for a Python, of pipenv's categories those that are wanted.

    Without a Python it is the lock's own, where that leaves one. Raise `ManifestError`.
    """
    name = source.file.rpartition("/")[2]
    placed, stated = (pipfile_lock.read(source, categories) if name == pipfile_lock.NAME else
                      _of_toml(source))
    python = python or one_python(stated)
    placed, split = _counting(placed, python)
    packages = [one for one, _ in placed]
    return Pins(placed=placed, split=frozenset(split), python=python, extras=_extras(packages),
                direct=_direct(packages))


def _direct(packages: Sequence[Mapping[str, Any]]) -> frozenset[str] | None:
    """Return what the projects of a lock of uv ask for, in any extra or group; None for other locks."""
    own = [one for one in packages if not _OF_A_PROJECT.isdisjoint(table(one.get("source")))]
    lists = [tables(one.get("dependencies")) for one in own]
    lists += [tables(some) for one in own for key in ("optional-dependencies", "dev-dependencies")
              for some in table(one.get(key)).values()]
    return frozenset(name_of(each) for listed in lists for each in listed) if own else None


def _of_toml(source: Source) -> tuple[_Placed, str]:
    """Return the packages of a lock with their places, and which Pythons it is for; raise `ManifestError`."""
    document = parsed(source)
    listed = document.get("package") or document.get("packages") or []
    packages = tables(listed)
    headers = [match.start() for match in _HEADER.finditer(source.text)]
    placed = [(one, source.place(headers[at]) if at < len(headers) else source.place(0))
              for at, one in enumerate(packages)]
    if not isinstance(listed, list) or len(packages) < len(listed):
        raise ManifestError(source.place(0), f"its packages are no list of tables: {_ANEW}")
    for one, place in placed:
        if not one.get("name") or not all(isinstance(one.get(key, ""), str) for key in ("name", "version")):
            raise ManifestError(place, f"name and version of a package are text: {_ANEW}")
    about = table(document.get("metadata"))
    targets = {str(one.get("requires_python", "")) for one in tables(about.get("targets"))}
    stated = document.get("requires-python") or about.get("python-versions") or (
        targets.pop() if len(targets) == 1 else "")
    return placed, str(stated)


def _counting(placed: _Placed, python: str | None) -> tuple[_Placed, set[str]]:
    """Return the packages that count on Linux, and the names of which several versions still may."""
    versions: dict[str, set[str]] = {}
    for one, _ in placed:
        versions.setdefault(name_of(one), set()).add(str(one.get("version", "")))
    split = {name for name, some in versions.items() if len(some) > 1}
    left: dict[str, set[str]] = {}
    for one, _ in placed:
        if name_of(one) in split and _counts(one, python):
            left.setdefault(name_of(one), set()).add(str(one.get("version", "")))
    settled = {name for name, some in left.items() if len(some) == 1}
    return [pair for pair in placed if name_of(pair[0]) not in settled
            or str(pair[0].get("version", "")) in left[name_of(pair[0])]], split - settled


def _counts(one: Mapping[str, Any], python: str | None) -> bool:
    """Return whether the markers of a package let it count on Linux; not where that cannot be said."""
    stated = next((one[key] for key in _MARKERS if key in one), None)
    markers = [*stated.values()] if isinstance(stated, dict) else (
        stated if isinstance(stated, list) else [stated])
    return stated is None or any(
        releases.applies(requirement, python) if python else releases.is_for_any_python(requirement)
        for marker in markers for requirement in planned.parse((f"name ; {marker}",)))


def name_of(one: Mapping[str, Any]) -> str:
    """Return the name of a package as indexes compare it."""
    return distribution_name(str(one.get("name", "")))


def _asked(placed: _Placed, split: Collection[str], extras: Mapping[str, Sequence[str]]) -> Iterator[Asked]:
    told: set[str] = set()
    for one, place in placed:
        name, version = str(one.get("name", "")), str(one.get("version", ""))
        if name_of(one) in split or name_of(one) in told or not _is_of_index(one):
            continue
        told.add(name_of(one))  # pdm has it once more with its extras
        wanted = ",".join(extras.get(name_of(one), ()))
        text = f"{name}{f'[{wanted}]' if wanted else ''}=={version}"
        if any(True for _ in planned.parse((text,))):
            source = one.get("source")
            address = source.get("registry") or source.get("url") if isinstance(source, dict) else None
            # the default index has no local labels: one with a label is from the index that is named
            yield Asked(text=text, place=place, tool="uv", rewritable=False, locked=True,
                        index=str(address) if address and "+" in version else None)


def _is_of_index(one: Mapping[str, Any]) -> bool:
    source = table(one.get("source"))
    kind = source.get("type")
    return not (any(key in source for key in _NOT_FROM_AN_INDEX if key != "url" or kind != "legacy")
                or any(key in one for key in _NOT_FROM_AN_INDEX) or kind in ("directory", "file", "git"))


def _extras(packages: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    """Return which extras of each package are locked: the others ask for them, or they stand beside it."""
    found: dict[str, list[str]] = {}
    for one in packages:
        own = one.get("extras")  # of pdm and pipenv; poetry has there what there are
        if isinstance(own, list):
            found.setdefault(name_of(one), []).extend(str(word) for word in own)
        listed = one.get("dependencies")
        pairs = ([(str(each.get("name")), each) for each in tables(listed)] if isinstance(listed, list) else
                 [(name, each) for name, some in table(listed).items() for each in tables(some)])
        for name, each in pairs:
            extra = each.get("extra") or each.get("extras")
            for word in extra if isinstance(extra, list) else ():
                if str(word) not in found.setdefault(distribution_name(name), []):
                    found[distribution_name(name)].append(str(word))
    return found


def _unread(placed: _Placed, split: Collection[str]) -> Iterator[Unread]:
    told: set[str] = set()
    for one, place in placed:
        name = str(one.get("name", ""))
        is_framework = FRAMEWORK.match(name) is not None
        if name_of(one) in split and name_of(one) not in told:
            told.add(name_of(one))
            yield Unread(why=f"{name} is locked in several versions: which one a machine gets depends on "
                             "markers, which were not judged", place=place, of_framework=is_framework)
        elif name_of(one) not in split and not _is_of_index(one) and is_framework:
            yield Unread(why=f"{name} is no release of an index, so what it is was not judged", place=place,
                         of_framework=True)
