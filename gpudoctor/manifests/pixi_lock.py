"""What a pixi.lock pins: each environment on each platform, by the addresses of its packages.

It is read line by line, as pixi writes it: it has many thousand lines, too many for a reader of YAML.
https://pixi.prefix.dev/latest/workspace/lockfile/ and, for the names of files,
https://packaging.python.org/en/latest/specifications/binary-distribution-format/
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from urllib.parse import unquote

from gpudoctor.manifests import conda_specs
from gpudoctor.manifests.conda_specs import Spec
from gpudoctor.manifests.requirements import FRAMEWORK
from gpudoctor.manifests.spans import Place, Source
from gpudoctor.manifests.statements import Asked, Environment, Unread, Wish

NAME = "pixi.lock"
_HERE = "linux-64"
_LINE = re.compile(r"( *)(- )?([^\s:#][^:]*?):(?:\s+(\S.*?))?\s*\Z")
_CONDA = re.compile(r"([A-Za-z0-9_.-]{1,200})-([^-/]{1,80})-([^-/]{1,120})\.(?:conda|tar\.bz2)\Z")
_WHEEL = re.compile(r"([A-Za-z0-9_.]{1,200})-([^-/]{1,80})-[^/]{1,300}\.whl\Z")
_OF_FOLDER = re.compile(r"(https://download\.pytorch\.org/whl/[\w/]{1,40})/[^/]+\Z")
_METAPACKAGES = ("pytorch-gpu", "pytorch-cpu", "tensorflow-gpu", "tensorflow-cpu")


class _Platforms:
    """The platforms that are named at the top since version 7: of which kind each is, and the CUDA there."""

    def __init__(self) -> None:
        self.kinds: dict[str, str] = {}
        self.cuda: dict[str, str] = {}
        self._name = ""

    def take(self, key: str, value: str) -> None:
        """Take a line below `platforms`."""
        if key == "name":
            self._name = value
        elif key == "subdir":
            self.kinds[self._name] = value

    def take_virtual(self, package: str) -> None:
        """Take a virtual package of the platform that was named last."""
        name, _, version = package.partition("=")
        if name == "__cuda":
            self.cuda[self._name] = version


def environments(source: Source) -> list[Environment]:
    """Return each environment on each platform with this Linux; raise `ManifestError` where there is none."""
    platforms, packages = _Platforms(), dict[tuple[str, str], list[tuple[str, str, Place]]]()
    top = environment = platform = ""
    for start, line in source.lines():
        stripped = line.strip()
        if top == "platforms" and stripped.startswith("- __"):
            platforms.take_virtual(stripped[2:])
        match = _LINE.match(line[:2000])
        if match is None:
            continue
        depth, key, value = len(match[1]), match[3], match[4] or ""
        if depth == 0 and not match[2]:
            top = key
        elif top == "platforms":
            platforms.take(key, value)
        elif top == "environments" and depth == 2:
            environment = key
        elif top == "environments" and depth == 6 and not match[2]:
            platform = key
            packages.setdefault((environment, platform), [])
        elif top == "environments" and match[2] and key in ("conda", "conda_source", "pypi") and platform:
            packages[environment, platform].append((key, value, source.place(start + match.start(3))))
    if not environment:
        raise source.error(0, "is no pixi.lock: it names no environment")
    here = [pair for pair in packages if platforms.kinds.get(pair[1], pair[1]) == _HERE]
    several = len({platform for _, platform in here}) > 1
    found = [_environment(packages[name, platform], platforms.cuda.get(platform, ""), source)
             for name, platform in here]
    named = [replace(one, name=f"environment {name}{f' on {platform}' if several else ''}")
             for one, (name, platform) in zip(found, here, strict=True)]
    return named or [_elsewhere(packages, source)]


def _environment(packages: Sequence[tuple[str, str, Place]], cuda: str, source: Source) -> Environment:
    specs = [spec for kind, address, place in packages if kind == "conda"
             for spec in _of_conda(address, place)]
    asked = [one for kind, address, place in packages if kind == "pypi" for one in _of_wheel(address, place)]
    known = {spec.place for spec in specs} | {one.place for one in asked}
    unread = [Unread(why=f"{address[:80]} is no release of a channel or an index, so it was not judged",
                     place=place, of_framework=True)
              for _, address, place in packages if place not in known and FRAMEWORK.match(_name(address))]
    python = conda_specs.python_of(specs)
    start = source.place(0)
    wish = (Wish(why=f"it is for a driver with CUDA {cuda[:20]}", place=start),) if cuda else ()
    wishes = (*conda_specs.wishes_of(specs), *wish)
    return Environment(
        name=NAME, place=start, in_container=bool(wishes),
        asked=(*conda_specs.asked_of(_whole(specs), ()), *asked), unread=tuple(unread),
        wishes=wishes, alters_libraries=any(spec.is_cuda for spec in specs),
        brought=tuple(conda_specs.brought_of(specs, ())),
        python=python[0] if python else None, python_place=python[1] if python else None)


def _elsewhere(packages: Mapping[tuple[str, str], Sequence[tuple[str, str, Place]]], source: Source
               ) -> Environment:
    """Return what there is to say of a lock without a platform that is judged."""
    has_framework = any(FRAMEWORK.match(_name(address))
                        for some in packages.values() for _, address, _ in some)
    why = f"no environment of it is for {_HERE}, so nothing of it was judged"
    place = source.place(0)
    return Environment(name=NAME, place=place, in_container=False,
                       unread=(Unread(why=why, place=place, of_framework=has_framework),))


def _whole(specs: Sequence[Spec]) -> list[Spec]:
    """Return packages without those that hold nothing and only choose another one's build."""
    return [spec for spec in specs if spec.name not in _METAPACKAGES]


def _of_conda(address: str, place: Place) -> Iterator[Spec]:
    match = _CONDA.match(_name(address))
    if match is not None:
        yield Spec(name=match[1].lower(), place=place, bounds=f"=={match[2]}", build=match[3])


def _of_wheel(address: str, place: Place) -> Iterator[Asked]:
    """Yield the release of a wheel; one with a local label is from the index that it lies in."""
    match = _WHEEL.match(_name(address))
    if match is not None:
        folder = _OF_FOLDER.match(address) if "+" in match[2] else None
        yield Asked(text=f"{match[1].replace('_', '-')}=={match[2]}", place=place, tool="uv",
                    rewritable=False, locked=True, index=folder[1] if folder else None)


def _name(address: str) -> str:
    """Return the name of the file that an address ends with."""
    return unquote(address.partition("#")[0].rpartition("/")[2])
