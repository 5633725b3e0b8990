"""What a lock file pins: uv.lock, poetry.lock and pylock.toml, each package with its exact version.

https://docs.astral.sh/uv/concepts/projects/layout/#the-lockfile and
https://packaging.python.org/en/latest/specifications/pylock-toml/
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from packaging.utils import canonicalize_name

from gpudoctor.derive import planned
from gpudoctor.manifests.pyproject import one_python
from gpudoctor.manifests.requirements import FRAMEWORK
from gpudoctor.manifests.spans import Place, Source
from gpudoctor.manifests.statements import Asked, Environment, Unread
from gpudoctor.manifests.toml_tables import parsed, table, tables

LOCKS = re.compile(r"(?:uv|poetry)\.lock|pylock(?:\.[^.]+)?\.toml")
_HEADER = re.compile(r"(?m)^\[\[packages?\]\][ \t]*(?:#.*)?$")
_NOT_FROM_AN_INDEX = ("editable", "virtual", "git", "path", "url", "directory", "vcs", "archive")


def of_lock(source: Source) -> Environment:
    """Return the environment that a lock file pins; raise `ManifestError`."""
    document = parsed(source)
    packages = tables(document.get("package")) or tables(document.get("packages"))
    headers = [match.start() for match in _HEADER.finditer(source.text)]
    placed = [(one, source.place(headers[at]) if at < len(headers) else source.place(0))
              for at, one in enumerate(packages)]
    versions: dict[str, set[str]] = {}
    for one in packages:
        name = canonicalize_name(str(one.get("name", "")))
        versions.setdefault(name, set()).add(str(one.get("version", "")))
    split = {name for name, some in versions.items() if len(some) > 1}
    stated = document.get("requires-python") or table(document.get("metadata")).get("python-versions")
    return Environment(
        name=source.file.rpartition("/")[2], place=source.place(0), in_container=False,
        asked=tuple(_asked(placed, split, _extras(packages))), unread=tuple(_unread(placed, split)),
        python=one_python(str(stated or "")))


def _asked(placed: Sequence[tuple[Mapping[str, Any], Place]], split: set[str],
           extras: Mapping[str, Sequence[str]]) -> Iterator[Asked]:
    for one, place in placed:
        name, version = str(one.get("name", "")), str(one.get("version", ""))
        if canonicalize_name(name) in split or not _is_of_index(one):
            continue
        wanted = ",".join(extras.get(canonicalize_name(name), ()))
        text = f"{name}{f'[{wanted}]' if wanted else ''}=={version}"
        if any(True for _ in planned.parse((text,))):
            source = one.get("source")
            address = source.get("registry") or source.get("url") if isinstance(source, dict) else None
            # the default index has no local labels: one with a label is from the index that is named
            yield Asked(text=text, place=place, tool="uv", rewritable=False,
                        index=str(address) if address and "+" in version else None)


def _is_of_index(one: Mapping[str, Any]) -> bool:
    source = table(one.get("source"))
    kind = source.get("type")
    return not (any(key in source for key in _NOT_FROM_AN_INDEX if key != "url" or kind != "legacy")
                or any(key in one for key in _NOT_FROM_AN_INDEX) or kind in ("directory", "file", "git"))


def _extras(packages: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    """Return which extras of each package the others ask for, as uv and poetry write it."""
    found: dict[str, list[str]] = {}
    for one in packages:
        listed = one.get("dependencies")
        pairs = ([(str(each.get("name")), each) for each in tables(listed)] if isinstance(listed, list) else
                 [(name, each) for name, some in table(listed).items() for each in tables(some)])
        for name, each in pairs:
            extra = each.get("extra") or each.get("extras")
            for word in extra if isinstance(extra, list) else ():
                if str(word) not in found.setdefault(canonicalize_name(name), []):
                    found[canonicalize_name(name)].append(str(word))
    return found


def _unread(placed: Sequence[tuple[Mapping[str, Any], Place]], split: set[str]) -> Iterator[Unread]:
    told: set[str] = set()
    for one, place in placed:
        name = str(one.get("name", ""))
        is_framework = FRAMEWORK.match(name) is not None
        if canonicalize_name(name) in split and canonicalize_name(name) not in told:
            told.add(canonicalize_name(name))
            yield Unread(why=f"{name} is locked in several versions: which one a machine gets depends on "
                             "markers, which were not judged", place=place, of_framework=is_framework)
        elif canonicalize_name(name) not in split and not _is_of_index(one) and is_framework:
            yield Unread(why=f"{name} is no release of an index, so what it is was not judged", place=place,
                         of_framework=True)
