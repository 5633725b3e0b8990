"""What a pyproject.toml asks for: its dependencies, alone and with each extra and each group."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from gpudoctor.compatible import tomllib
from gpudoctor.derive import planned
from gpudoctor.manifests.requirements import is_elsewhere
from gpudoctor.manifests.spans import ManifestError, Place, Source
from gpudoctor.manifests.statements import Asked, Environment

_AT = re.compile(r"\(at line (\d+), column (\d+)\)")
_ONE_PYTHON = re.compile(r"\s*(?:==\s*(3\.\d+)\.\*|~=\s*(3\.\d+)\.\d+)\s*\Z")


def of_pyproject(source: Source) -> list[Environment]:
    """Return the environments that are installed from it; raise `ManifestError`."""
    try:
        document = tomllib.loads(source.text.removeprefix("\ufeff"))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        at = _AT.search(str(error))
        place = f":{at[1]}:{at[2]}" if at else ""
        said = _AT.sub("", str(error)).strip() if at else "nested too deeply, or cut off"
        raise ManifestError(f"{source.file}{place}: is no TOML: {said}") from None
    project = _table(document.get("project"))
    finder = _Finder(source)
    common = finder.asked(project.get("dependencies"))
    python = _ONE_PYTHON.match(str(project.get("requires-python", "")))
    groups = {**_table(project.get("optional-dependencies")), **_table(document.get("dependency-groups"))}
    found = [("dependencies", common)] if common or not groups else []
    found += [(f"group {name}", (*common, *finder.asked(listed))) for name, listed in groups.items()]
    return [Environment(name=name, place=source.place(0), asked=asked, in_container=False,
                        python=(python[1] or python[2]) if python else None) for name, asked in found]


def _table(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


class _Finder:
    """Finds texts of the document in the file, in their order: a TOML parser tells no places."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.behind: dict[str, int] = {}

    def asked(self, listed: object) -> tuple[Asked, ...]:
        """Return the requirements of a list."""
        return tuple(self._listed(listed if isinstance(listed, list) else []))

    def _listed(self, texts: list[object]) -> Iterator[Asked]:
        for text in texts:
            if not isinstance(text, str) or is_elsewhere(text):
                continue  # a group that takes in another one
            place, whole = self._place(text)
            if not any(True for _ in planned.parse((text,))):
                raise self.source.error(place.start, f"{text[:60]!r} is no requirement: write NAME==VERSION")
            yield Asked(text=text, place=place, rewritable=whole)

    def _place(self, text: str) -> tuple[Place, bool]:
        found = [at for quote in "\"'" if (at := self.source.text.find(
            f"{quote}{text}{quote}", self.behind.get(text, 0))) >= 0]
        if not found:
            return self.source.place(0), False
        at = min(found) + 1
        self.behind[text] = at
        return self.source.place(at, at + len(text)), True
