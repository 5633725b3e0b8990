"""What a pyproject.toml or a Pipfile asks for: its dependencies, alone and with each extra and each group.

https://packaging.python.org/en/latest/specifications/pyproject-toml/ and
https://python-poetry.org/docs/dependency-specification/ and
https://docs.astral.sh/uv/concepts/projects/dependencies/
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any

from gpudoctor.derive import planned
from gpudoctor.manifests import pixi, poetry_bounds, project_fields
from gpudoctor.manifests.groups import DEV, Groups
from gpudoctor.manifests.releases import applies
from gpudoctor.manifests.requirements import BEGINS_NOTHING, bounded, is_elsewhere, is_of_index
from gpudoctor.manifests.spans import ManifestError, Place, Source
from gpudoctor.manifests.statements import Asked, Environment, Unread
from gpudoctor.manifests.toml_tables import Places, at, parsed, table, tables
from gpudoctor.versions import distribution_name

_PYTHONS = (("project", "requires-python"), ("tool", "poetry", "dependencies", "python"),
            ("requires", "python_version"))
_DEFAULT_OF_PDM, _MOST_GROUPS = "pypi", 100
_ONE_PYTHON = re.compile(r"\s*(?:==?\s*)?(?:(3\.[0-9]+)\.\*|~=?\s*(3\.[0-9]+)(?:\.[0-9]+)?)\s*\Z")
_KEY = re.compile(
    r"(?m)^[ \t]*(?:\[[^\]\n]{0,200}\.)?[\"']?([A-Za-z0-9._-]{1,200})[\"']?(?:[ \t]*=|\][ \t]*$)")


def of_pyproject(source: Source) -> list[Environment]:
    """Return the environments that are installed from it; raise `ManifestError`."""
    project = _Project(source)
    groups = project.groups()
    common = project.common
    of_pixi = project.of_pixi()
    found = [("dependencies", common)] if common or not (groups or of_pixi) else []
    found += [(f"group {name}", (*common, *listed)) for name, listed in groups.items()]
    of_pip = [Environment(name=name, place=source.place(0), asked=asked, in_container=False,
                          python=project.python, python_bounds=project.python_bounds,
                          unread=tuple(project.unread())) for name, asked in found]
    return [*of_pip, *of_pixi]


def of_groups(source: Source, wanted: Groups, tool: str) -> tuple[Asked, ...]:
    """Return what a tool installs with these groups and extras; raise `ManifestError`."""
    project = _Project(source)
    groups = project.groups()
    chosen = wanted.chosen(groups, project.defaults(tool))
    common = project.common if wanted.main else ()
    return (*common, *(one for name in chosen for one in groups[name]))


class _Project:
    """A document with its tables of dependencies, in each of the dialects."""

    def __init__(self, source: Source) -> None:
        self.document = parsed(source)
        self.places = Places(source)
        project_fields.checked(self.document, self.places)
        self.finder = _Finder(source)
        tool = table(self.document.get("tool"))
        self.project, self.poetry = table(self.document.get("project")), table(tool.get("poetry"))
        self.uv, pdm = table(tool.get("uv")), table(tool.get("pdm"))
        self.of_pdm = table(pdm.get("dev-dependencies"))
        self.pdm_sources = [one for one in tables(pdm.get("source")) if "url" in one]
        listed = self.finder.asked(self.project.get("dependencies"))
        listed += self.finder.poetry(self.poetry.get("dependencies"))
        listed += self.finder.poetry(self.document.get("packages"))
        stated = self.uv.get("override-dependencies")
        self.overrides = stated if isinstance(stated, list) else []
        self.constraints = self.finder.asked(self.uv.get("constraint-dependencies"))
        way, stated = next(((way, str(found)) for way in _PYTHONS if (found := at(self.document, way))),
                           (_PYTHONS[0], ""))
        self.python = one_python(stated)
        self.python_bounds = "" if self.python or not stated else poetry_bounds.bound_of(stated)
        project_fields.require_pythons(self.python_bounds, stated, self.places.of(*way))
        self.common = self._indexed(listed)

    def unread(self) -> Iterator[Unread]:
        """Yield what says more of dependencies, and is not read."""
        dynamic = self.project.get("dynamic")
        if isinstance(dynamic, list) and "dependencies" in dynamic:
            yield Unread(why="the dependencies are dynamic: they stand elsewhere, and were not judged",
                         place=self.finder.key("dynamic"), of_framework=True)
        yield from project_fields.without_index(self.uv, self.places)

    def of_pixi(self) -> list[Environment]:
        """Return the environments of pixi, whose default feature installs the project's own dependencies."""
        own = table(table(self.document.get("tool")).get("pixi"))
        if own:
            return pixi.environments(own, self.places, ("tool", "pixi"), self.common)
        is_pixis = "tool" not in self.document and (  # pixi.toml
            "workspace" in self.document or "channels" in self.project)
        return pixi.environments(self.document, self.places) if is_pixis else []

    def groups(self) -> dict[str, tuple[Asked, ...]]:
        """Return each extra and each group, with those that it takes in."""
        found = {name: self.finder.asked(listed)
                 for name, listed in table(self.project.get("optional-dependencies")).items()}
        groups = table(self.document.get("dependency-groups"))
        own = {name: self.finder.asked(listed) for name, listed in groups.items()}
        for name in groups:
            taken = _with_included(name, groups, self.finder.source.file)
            found[name] = (*found.get(name, ()), *(asked for group in taken for asked in own[group]))
        for name, group in table(self.poetry.get("group")).items():
            found[name] = (*found.get(name, ()), *self.finder.poetry(table(group).get("dependencies")))
        for name, listed in self.of_pdm.items():
            found[name] = (*found.get(name, ()), *self.finder.asked(listed))
        hatch = table(table(self.document.get("tool")).get("hatch"))
        for name, one in table(hatch.get("envs")).items():
            found[f"hatch {name}"] = tuple(asked for key in ("dependencies", "extra-dependencies")
                                           for asked in self.finder.asked(table(one).get(key)))
        for listed in (self.poetry.get("dev-dependencies"), self.document.get("dev-packages"),
                       self.uv.get("dev-dependencies")):
            more = self.finder.asked(listed) if isinstance(listed, list) else self.finder.poetry(listed)
            if more:
                found["dev"] = (*found.get("dev", ()), *more)
        return {name: self._indexed(listed, name) for name, listed in found.items()}

    def defaults(self, tool: str) -> tuple[str, ...]:
        """Return the groups that a tool installs unasked."""
        groups = [*table(self.document.get("dependency-groups"))]
        if tool == "uv":
            stated = self.uv.get("default-groups", [DEV])
            return tuple(groups) if stated == "all" else tuple(
                str(name) for name in (stated if isinstance(stated, list) else ()))
        if tool == "poetry":
            own = table(self.poetry.get("group"))
            return tuple(name for name in (*groups, *own, DEV) if not table(own.get(name)).get("optional"))
        return (*groups, *self.of_pdm, DEV) if tool == "pdm" else ()

    def _indexed(self, listed: tuple[Asked, ...], group: str = "") -> tuple[Asked, ...]:
        """Return requirements with the index that uv or poetry is told to take each from."""
        of_uv = tables(self.uv.get("index"))
        addresses = {str(one.get("name")): str(one.get("url")) for one in (
            *of_uv, *tables(self.poetry.get("source")), *tables(self.document.get("source")))}
        pinned = self._pinned(group)
        overrides = tuple(str(text) for text in self.overrides if is_of_index(str(text)))
        listed = tuple(replace(one, overrides=overrides) for one in bounded(listed, self.constraints))
        found = tuple(replace(one, tool="uv", index=addresses[name], build="") if (name := next(
            (pinned.get(distribution_name(requirement.name), "") or one.build
             for requirement in planned.parse((one.text,))), "")) in addresses else replace(one, build="")
            for one in listed)
        return tuple(one if one.index else self._from_others(one, of_uv) for one in found)

    def _pinned(self, group: str) -> dict[str, str]:
        """Return the names of the indexes that uv takes packages from here, in this extra or group."""
        found: dict[str, str] = {}
        for name, some in table(self.uv.get("sources")).items():
            for one in sorted(tables(some), key=lambda each: "extra" in each or "group" in each):
                counts = one.get("marker") is None or any(
                    applies(each, self.python) for each in planned.parse((f"{name} ; {one['marker']}",)))
                if "index" in one and counts and one.get("extra", one.get("group")) in (None, group):
                    found[distribution_name(name)] = str(one["index"])
        return found

    def _from_others(self, one: Asked, of_uv: Sequence[Mapping[str, Any]]) -> Asked:
        """Return a requirement with the indexes that uv and pdm search for any package, or for this one.

        uv takes it from the first that has it; pdm from those alone that name it, else from all.
        """
        open_ = [each for each in of_uv if each.get("explicit") is not True]
        default = [str(each["url"]) for each in open_ if each.get("default") is True and "url" in each]
        extra = [str(each["url"]) for each in open_ if each.get("default") is not True and "url" in each]
        stated = self.uv.get("extra-index-url")
        extra += map(str, stated) if isinstance(stated, list) else ()
        default += [str(self.uv["index-url"])] if "index-url" in self.uv else []
        if default or extra:
            return replace(one, tool="uv", index=next(iter(default), None), extra_indexes=tuple(extra))
        name = next(iter(planned.names((one.text,))), "")
        named = [each for each in self.pdm_sources if isinstance(each.get("include_packages"), list) and any(
            fnmatchcase(name, str(pattern)) for pattern in each["include_packages"])]
        every = [each for each in self.pdm_sources if "include_packages" not in each]
        address = next((str(each["url"]) for each in named or every
                        if named or each.get("name") == _DEFAULT_OF_PDM), None)
        beside = () if named else tuple(str(each["url"]) for each in every
                                        if each.get("name") != _DEFAULT_OF_PDM)
        return replace(one, index=address, extra_indexes=beside)


def _with_included(name: str, groups: Mapping[str, Any], file: str) -> Sequence[str]:
    """Return a group and those that it includes, each once and in their order."""
    found, waiting = dict[str, None](), [name]
    while waiting:
        if (group := waiting.pop()) in groups and group not in found:
            found[group], listed = None, tables(groups[group])[::-1]
            waiting += [str(one["include-group"]) for one in listed if "include-group" in one]
        if len(found) > _MOST_GROUPS:
            raise ManifestError(file, f"the group {name[:80]} includes more than {_MOST_GROUPS} others")
    return [*found]


def one_python(stated: str) -> str | None:
    """Return the minor release of Python that bounds leave, None where they leave several."""
    match = _ONE_PYTHON.match(stated) or re.match(r"()(3\.[0-9]+)\Z", stated)
    return (match[1] or match[2]) if match else None


class _Finder:
    """Finds texts of the document in the file, in their order: a TOML parser tells no places."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.behind: dict[str, int] = {}
        self.keys: dict[str, list[re.Match[str]]] = {}
        for match in _KEY.finditer(source.text):
            self.keys.setdefault(match[1], []).append(match)

    def asked(self, listed: object) -> tuple[Asked, ...]:
        """Return the requirements of a list."""
        return tuple(self._listed(listed if isinstance(listed, list) else []))

    def poetry(self, listed: object) -> tuple[Asked, ...]:
        """Return the requirements of a table from names to bounds, in the words of poetry and pipenv.

        `build` holds the name of the source that one is to come from, until that has its address.
        """
        return tuple(self._bounds(table(listed)))

    def _bounds(self, bounds: Mapping[str, Any]) -> Iterator[Asked]:
        for name, some in bounds.items():
            for one in some if isinstance(some, list) else [some]:
                given = one if isinstance(one, dict) else {"version": one}
                if name.lower() == "python" or not {"git", "path", "url", "file"}.isdisjoint(given):
                    continue
                extras = given.get("extras")
                extra = ",".join(str(each) for each in extras) if isinstance(extras, list) else ""
                bound = poetry_bounds.bound_of(str(given.get("version", "*")))
                bare = f"{name}{f'[{extra}]' if extra else ''}{bound}"
                marked = f"{bare} ; {marker}" if (marker := poetry_bounds.marker_of(given)) else bare
                text = marked if any(True for _ in planned.parse((marked,))) else bare
                if not any(True for _ in planned.parse((text,))):
                    raise self.source.error(self.key(name).start, f"{text[:60]!r} is no requirement")
                yield Asked(text=text, place=self.key(name), rewritable=False,
                            build=str(given.get("source") or given.get("index") or ""))

    def key(self, name: str) -> Place:
        """Return the next place where a key stands that is this name."""
        found = self.keys.get(name, [])
        if not found:
            return self.source.place(0)
        match = found.pop(0) if len(found) > 1 else found[0]
        return self.source.place(match.start(1), match.end(1))

    def _listed(self, texts: list[object]) -> Iterator[Asked]:
        for text in texts:
            if not isinstance(text, str) or (is_elsewhere(text) and text.strip()[:1] not in BEGINS_NOTHING):
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
