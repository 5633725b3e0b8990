"""What pixi installs: the environments of a pixi.toml, or of [tool.pixi] in a pyproject.toml, on Linux.

https://pixi.prefix.dev/latest/reference/pixi_manifest/
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any

from gpudoctor.derive import planned
from gpudoctor.frozen import frozen
from gpudoctor.manifests import conda_specs
from gpudoctor.manifests.conda_specs import Spec, spec_of
from gpudoctor.manifests.requirements import FRAMEWORK
from gpudoctor.manifests.spans import Place
from gpudoctor.manifests.statements import Asked, Environment, Unread, Wish
from gpudoctor.manifests.toml_tables import Places, table, tables

_CONDA = ("host-dependencies", "build-dependencies", "dependencies")
_PYPI = "pypi-dependencies"
_ELSEWHERE = ("git", "path", "url")
_HERE = "linux-64"
_GROUPS = ("linux", "unix")  # the names of targets that a Linux is among
_DEFAULT = "default"

@frozen
class Platform:
    """One for which pixi chooses packages: its name, its kind, and the CUDA that a driver has there."""

    name: str
    kind: str
    cuda: str = ""

    def is_meant(self, target: str) -> bool:
        """Return whether what is for a target is for this one; a target may be a pattern."""
        return target in (self.name, self.kind, *_GROUPS) or fnmatchcase(self.name, target[:200])


def environments(document: Mapping[str, Any], places: Places, above: tuple[str, ...] = (),
                 common: Sequence[Asked] = ()) -> list[Environment]:
    """Return each environment on each platform with this Linux.

    `above` is the way to the document in its file, `common` what the project itself asks for.
    """
    return _Workspace(document, places, above, common).environments()


class _Workspace:
    """A manifest, whose tables at the top are those of the default feature."""

    def __init__(self, document: Mapping[str, Any], places: Places, above: tuple[str, ...],
                 common: Sequence[Asked]) -> None:
        self.document, self.common, self.places = document, tuple(common), places
        called = "workspace" if "workspace" in document else "project"
        self.head, self.start = table(document.get(called)), places.of(*above, called)
        self.features = {name: table(one) for name, one in table(document.get("feature")).items()}
        self.platforms = [one for one in _platforms(self.head.get("platforms")) if one.kind == _HERE]
        self.ways: dict[int, tuple[str, ...]] = {}
        for way, one in self._parts(above):
            for part in (*_CONDA, _PYPI):
                self.ways[id(one.get(part))] = (*way, part)

    def _parts(self, above: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Mapping[str, Any]]]:
        """Yield every table that may ask for packages, with the way to it."""
        own = table(self.document.get("environments"))
        features = [((), self.document), *(((kind, name), table(one)) for kind, some in (
            ("feature", self.features), ("environments", own)) for name, one in some.items())]
        for way, one in features:
            yield (*above, *way), one
            for target, some in table(one.get("target")).items():
                yield (*above, *way, "target", target), table(some)

    def _place(self, listed: object, name: str) -> Place:
        return self.places.of(*self.ways.get(id(listed), ()), name)

    def environments(self) -> list[Environment]:
        """Return each environment on each platform."""
        listed = {_DEFAULT: [], **table(self.document.get("environments"))}
        found = [self._environment(name, stated, platform) for name, stated in listed.items()
                 for platform in self.platforms if self._is_on(self._features(stated), platform)]
        if not found:
            why = f"no environment of it is for {_HERE}, so nothing of it was judged"
            unread = Unread(why=why, place=self.start, of_framework=self._has_framework())
            return [Environment(name=f"environment {_DEFAULT}", place=self.start, in_container=False,
                                unread=(unread,))]
        return found

    def _has_framework(self) -> bool:
        return any(FRAMEWORK.match(name) for _, one in self._parts(()) for part in (*_CONDA, _PYPI)
                   for name in table(one.get(part)))

    def _features(self, stated: object) -> list[Mapping[str, Any]]:
        """Return the features of an environment, and what it says itself; the default one is the document."""
        own = table(stated)
        names = own.get("features", []) if own else stated
        named = [self.features[name] for name in (names if isinstance(names, list) else [])
                 if isinstance(name, str) and name in self.features]
        with_default = [] if own.get("no-default-feature") is True else [self.document]
        return [*with_default, *named, own]

    def _is_on(self, features: Sequence[Mapping[str, Any]], platform: Platform) -> bool:
        """Return whether all features of an environment are for a platform."""
        stated = [one["platforms"] for one in features if isinstance(one.get("platforms"), list)]
        # the name of a kind stands for all platforms of it, unless one of them is called so
        names = {one.name for one in self.platforms} - {platform.name}
        return all(platform.name in some or platform.kind in {*some} - names for some in stated)

    def _environment(self, name: str, stated: object, platform: Platform) -> Environment:
        features = self._features(stated)
        conda: dict[str, Spec] = {}
        listed: list[Asked] = [*self.common] if features[0] is self.document else []
        unread: list[Unread] = []
        for feature in features:
            own: dict[str, Spec] = {}
            parts = [feature, *(table(one) for target, one in table(feature.get("target")).items()
                                if platform.is_meant(target))]
            for part in parts:
                own.update(self._conda(part, unread))
                listed += self._pypi(part, unread)
            for key, spec in own.items():
                conda[key] = _both(conda[key], spec) if key in conda else spec
        specs = list(conda.values())
        cuda = platform.cuda or next((str(found) for one in features if (found := table(
            one.get("system-requirements")).get("cuda")) is not None), "")
        channels = [str(one.get("channel") if isinstance(one, dict) else one)
                    for feature in (*features, self.head) if isinstance(feature.get("channels"), list)
                    for one in feature["channels"]]
        python = conda_specs.python_of(specs)
        wish = (Wish(why=f"it is for a driver with CUDA {cuda[:20]}", place=self.start),) if cuda else ()
        wishes = (*conda_specs.wishes_of(specs), *wish)
        several = f" on {platform.name}" if len(self.platforms) > 1 else ""
        return Environment(
            name=f"environment {name}{several}", place=self.start, in_container=bool(wishes),
            asked=(*conda_specs.asked_of(specs, channels, has_driver=bool(cuda)),
                   *_indexed(listed, [self.head, *features])),
            wishes=wishes, unread=(*unread, *conda_specs.unread_of(specs)),
            alters_libraries=any(spec.is_cuda for spec in specs), has_condas=conda_specs.bring_more(specs),
            brought=tuple(conda_specs.brought_of(specs, channels)),
            python=python[0] if python else None, python_place=python[1] if python else None)

    def _conda(self, part: Mapping[str, Any], unread: list[Unread]) -> dict[str, Spec]:
        """Return the packages of conda that a table asks for."""
        pool = table(self.head.get("dependencies"))
        found: dict[str, Spec] = {}
        for key in _CONDA:
            listed = table(part.get(key))
            for name, stated in listed.items():
                given = _given(pool.get(name) if table(stated).get("workspace") is True else stated)
                place = self._place(listed, name)
                bounds, build = str(given.get("version") or ""), str(given.get("build") or "")
                spec = spec_of(f"{name}[version='{bounds}',build='{build}']", place)
                if spec is None or "when" in given or not _is_released(given):
                    unread += _unjudged(name, place)
                else:
                    found[spec.name] = spec
        return found

    def _pypi(self, part: Mapping[str, Any], unread: list[Unread]) -> Iterator[Asked]:
        """Yield the distributions that a table asks for."""
        listed = table(part.get(_PYPI))
        for name, stated in listed.items():
            given = _given(stated)
            place = self._place(listed, name)
            extras = given.get("extras")
            extra = ",".join(map(str, extras)) if isinstance(extras, list) else ""
            bounds = str(given.get("version") or "*").strip()
            text = f"{name}{f'[{extra}]' if extra else ''}{'' if bounds == '*' else bounds}"
            if not _is_released(given) or not any(True for _ in planned.parse((text,))):
                unread += _unjudged(name, place)
                continue
            index = given.get("index")
            yield Asked(text=text, place=place, tool="uv", rewritable=False,
                        index=str(index) if index else None)


def _platforms(listed: object) -> Iterator[Platform]:
    """Yield the platforms, which are names of kinds or tables that say more."""
    for one in listed if isinstance(listed, list) else ():
        given = one if isinstance(one, dict) else {"name": str(one)}
        name = str(given.get("name") or given.get("platform") or "")
        yield Platform(name=name, kind=str(given.get("platform") or name),
                       cuda=str(given.get("cuda") or given.get("__cuda") or ""))


def _given(stated: object) -> Mapping[str, Any]:
    return stated if isinstance(stated, dict) else {"version": str(stated)}


def _is_released(given: Mapping[str, Any]) -> bool:
    return not any(key in given for key in _ELSEWHERE)


def _unjudged(name: str, place: Place) -> Iterator[Unread]:
    if FRAMEWORK.match(name) is not None:
        why = f"{name[:80]} is no release of a channel or an index, or hangs on a condition: not judged"
        yield Unread(why=why, place=place, of_framework=True)


def _both(one: Spec, other: Spec) -> Spec:
    """Return what two features ask for together."""
    bounds = ",".join(dict.fromkeys(part for part in (one.bounds, other.bounds) if part))
    return replace(other, bounds=bounds, build=other.build or one.build)


def _indexed(listed: Sequence[Asked], tables_of: Sequence[Mapping[str, Any]]) -> Iterator[Asked]:
    """Yield distributions with the indexes that the workspace and its features name for all of them."""
    options = [table(one.get("pypi-options")) for one in tables_of]
    index = next((str(found) for one in reversed(options) if (found := one.get("index-url"))), None)
    extra = tuple(str(address) for one in options for address in _texts(one.get("extra-index-urls")))
    links = tuple(str(found["url"]) for one in options for found in tables(one.get("find-links"))
                  if "url" in found)
    for one in listed:
        beside = () if one.index is not None else (*one.extra_indexes, *extra)
        yield replace(one, index=one.index or index, extra_indexes=beside, links=(*one.links, *links))


def _texts(value: object) -> list[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []
