"""The services of a compose file with what they take over from others: `include`, then `extends`.

https://docs.docker.com/reference/compose-file/merge/ and, for what is done first and from where paths lead,
https://github.com/compose-spec/compose-go/blob/e70e961c3a3acebf0800b882f1afb3dbf1fb74a2/loader/loader.go
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from gpudoctor.manifests import yaml_files
from gpudoctor.manifests.requirements import Reader
from gpudoctor.manifests.spans import ManifestError, Place, Source
from gpudoctor.manifests.statements import Unread
from gpudoctor.manifests.yaml_files import Node, filled, require_list, require_mapping

Service = tuple[Node, Node]  # its name, and what stands below that
Services = Mapping[str, Service]

_DEEPEST, _MOST_FILES, _MOST_VALUES = 20, 100, 20_000  # of what is taken over
_SHOWN = 80  # characters of what somebody wrote
_REMOTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://|git@|[\w.-]+\.[a-z]+/.*\.git\b")
_REPLACED = (("command",), ("entrypoint",), ("healthcheck", "test"))
_OF_PAIRS = (("environment",), ("labels",), ("build", "args"), ("build", "labels"))
_RESET, _OVERRIDE = "!reset", "!override"


class Composed:
    """Reads a compose file and those that it names; `sources` are all of them by their names."""

    def __init__(self, source: Source, reader: Reader) -> None:
        """Take the file and the door to those beside it."""
        self.sources = {source.file: source}
        self.unread: list[Unread] = []  # files that include names and that could not be read
        self._reader, self._first = reader, posixpath.normpath(source.file)
        self._documents: dict[str, list[Node] | None] = {}
        self._values_left = _MOST_VALUES

    def services(self, document: Node) -> Services:
        """Return the services of a document; one still has `extends` where that could not be read."""
        return self._model(document, posixpath.dirname(self._first), (self._first,))

    def _model(self, document: Node, folder: str, above: tuple[str, ...]) -> Services:
        found: dict[str, Service] = {}
        for some in (*self._included(document, folder, above), _own(document, folder)):
            self._lay_over(found, some)
        file, whole = above[-1], dict[str, Service]()
        for name, (key, one) in found.items():
            extended = self._extended(key, one, found, file, folder, ((file, name),))
            whole[name] = (key, _with_folder(extended, folder))
        return whole

    def _lay_over(self, found: dict[str, Service], some: Services) -> None:
        for name, (key, service) in some.items():
            below = found.get(name)
            found[name] = (key, service if below is None else self._merged(below[1], service, key.place))

    def _merged(self, base: Node, own: Node, place: Place) -> Node:
        self._values_left -= _values(base)
        if self._values_left < 0:
            raise ManifestError(place, f"more than {_MOST_VALUES} values are taken over from others")
        return merged(base, own)

    def _included(self, document: Node, folder: str, above: tuple[str, ...]) -> Iterator[Services]:
        listed = document.get("include")
        require_list(listed, "include", "write each file in a line that begins with a dash")
        for item in listed.items if listed else ():
            paths = item if item.text is not None else item.get("path")
            given, own = item.get("project_directory"), ""
            for number, path in enumerate(paths.texts() if paths else ()):
                file = _path(path, folder)
                documents = self._read(file, path.place)
                if file is None or documents is None:
                    self.unread.append(Unread(why=absence("include", path), place=path.place,
                                              ends=is_nowhere(path)))
                    break
                if file in above:
                    raise ManifestError(path.place, f"include leads in a circle: {file} includes this file")
                if number == 0:  # the others lie over it
                    own = posixpath.dirname(file) if given is None else _path(given, folder) or folder
                _require_depth(above, path.place)
                for one in documents:
                    yield self._model(one, own, (*above, file))

    def _extended(self, key: Node, service: Node, beside: Services, file: str, folder: str,
                  above: tuple[tuple[str, str], ...]) -> Node:
        """Return a service with what it extends below it; `above` are those that it is taken over by."""
        taken = service.get("extends")
        if taken is None or taken.is_null:
            return service
        wanted, other = (taken, None) if taken.text is not None else (taken.get("service"), taken.get("file"))
        if wanted is None or not wanted.text:
            raise ManifestError(taken.place, f"extends of the service {_shown(key)} names no service: "
                                "write service: NAME below it")
        if other is not None:
            path = _path(other, folder)
            documents = self._read(path, other.place)
            if path is None or documents is None:
                return service
            file, folder, others = path, posixpath.dirname(path), dict[str, Service]()
            for one in documents:
                self._lay_over(others, _own(one, folder))
            beside = others
        if wanted.text not in beside:
            if other is None and self.unread:
                return service  # it may be in what could not be included
            raise ManifestError(wanted.place, f"there is no service {_shown(wanted)} in {file} to extend")
        if (file, wanted.text) in above:
            raise ManifestError(wanted.place, f"extends leads in a circle: {_shown(wanted)} of {file} "
                                "takes over this service")
        _require_depth(above, wanted.place)
        base_key, base = beside[wanted.text]
        base = self._extended(base_key, base, beside, file, folder, (*above, (file, wanted.text)))
        own = replace(service, entries=tuple(pair for pair in service.entries if pair[0].text != "extends"))
        return self._merged(base, own, taken.place)

    def _read(self, path: str | None, place: Place) -> list[Node] | None:
        """Return the documents of a file, None where none is there."""
        if path is None:
            return None
        if path not in self._documents:
            if len(self._documents) >= _MOST_FILES:
                raise ManifestError(place, f"more than {_MOST_FILES} files are taken over")
            source = self._reader(path)
            if source is not None:
                self.sources.setdefault(source.file, source)
            self._documents[path] = yaml_files.documents(source) if source is not None else None
        return self._documents[path]


def absence(key: str, file: Node | None) -> str:
    """Return why what `include` or `extends` takes over is not judged."""
    text = (file.text or "").partition("\n")[0][:_SHOWN] if file is not None else ""
    why = f"{text} is not there to be read, or lies outside of the folder"
    if file is None:
        why = "the service is in no file that was read"
    elif filled(text) is None:
        why = f"which file {text} is only the environment says"
    elif is_remote(text):
        why = f"{text} is not fetched"
    return f"{why}, so what {key} takes over was not judged"


def is_nowhere(file: Node | None) -> bool:
    """Return whether a file that was not found would lie in the folder: compose refuses to go on then."""
    told = (filled(file.text or "") if file is not None else None) or ""
    return told != "" and not is_remote(told) and not posixpath.normpath(told).startswith(("/", "../"))


def is_remote(path: str) -> bool:
    """Return whether compose fetches what a path names."""
    return _REMOTE.match(path) is not None


def _path(node: Node, folder: str) -> str | None:
    """Return a path as it is seen from here, None for one that only the environment knows, or is fetched."""
    told = filled(node.text or "")
    return None if not told or is_remote(told) else posixpath.normpath(posixpath.join(folder, told))


def _require_depth(above: tuple[object, ...], place: Place) -> None:
    if len(above) > _DEEPEST:
        raise ManifestError(place, f"takes over from more than {_DEEPEST} others, one through another")


def _shown(name: Node) -> str:
    """Return a name as it may stand in one line."""
    return repr((name.text or "")[:_SHOWN]).strip("'\"")


def _values(node: Node) -> int:
    return 1 + sum(_values(value) for _, value in node.entries) + sum(map(_values, node.items))


def _own(document: Node, folder: str) -> Services:
    """Return what a document itself says of services, the folders of their builds as seen from here."""
    services = document.get("services")
    require_mapping(services, "services", "write each service's name, and what it is below it")
    found: dict[str, Service] = {}
    for key, service in services.entries if services else ():
        require_mapping(service, f"the service {_shown(key)}", "write image: or build: below its name")
        found[key.text or ""] = (key, _placed(service, folder))
    return found


def _placed(service: Node, folder: str) -> Node:
    """Return a service whose build has the long form, and a context that is seen from here."""
    built = service.get("build")
    context = built if built is None or built.text is not None else built.get("context")
    if built is None or context is None or context.is_null:
        return service
    path = _path(context, folder) if context.text else folder
    named = replace(context, text=path) if path is not None else context
    return _with(service, "build", _with(built, "context", named))


def _with_folder(service: Node, folder: str) -> Node:
    """Return a service whose build has a context: the project's folder where nothing names one."""
    built = service.get("build")
    if built is None or built.get("context") is not None:
        return service
    return _with(service, "build", _with(built, "context", Node(place=built.place, text=folder)))


def _with(node: Node, name: str, value: Node) -> Node:
    """Return a mapping in which a key has this value."""
    key = Node(place=value.place, text=name)
    kept = [(one, value if one.text == name else other) for one, other in node.entries]
    found = kept if any(one.text == name for one, _ in kept) else [*kept, (key, value)]
    return replace(node, text=None, entries=tuple(found))


def merged(base: Node, own: Node, path: tuple[str, ...] = ()) -> Node:
    """Return one value laid over another as compose merges them."""
    if own.tag == _OVERRIDE or path in _REPLACED:
        return own
    if own.is_null or not (own.text is not None or own.entries or own.items):
        return base
    if path in _OF_PAIRS:
        return replace(own, entries=(), items=(*_as_items(base), *_as_items(own)))
    if not own.entries or not base.entries:
        return replace(own, items=(*base.items, *own.items)) if own.items else own
    kept = {key.text: (key, value) for key, value in base.entries}
    for key, value in own.entries:
        below = kept.get(key.text)
        kept[key.text] = (key, value if below is None else merged(below[1], value, (*path, key.text or "")))
    return replace(own, entries=tuple(pair for pair in kept.values() if pair[1].tag != _RESET))


def _as_items(node: Node) -> Iterator[Node]:
    """Yield names and values of either form as texts, each with the place of its value."""
    for key, value in node.entries:
        yield replace(value, text=f"{key.text}={value.text}" if not value.is_null else key.text)
    yield from node.items
