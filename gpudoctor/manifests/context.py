"""The folder that an image is built from: which of its files the builder gets, and which it does not."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Sequence

from gpudoctor.manifests import ignored
from gpudoctor.manifests.spans import Source
from gpudoctor.manifests.statements import Build

_IGNORE_FILE = ".dockerignore"
_OF_PODMAN = ".containerignore"  # Docker does not know it: https://man.archlinux.org/man/dockerignore.5.en
_THIS_FOLDER = "."

Reader = Callable[[str], Source | None]


class Context:
    """Gives files as COPY and bind mounts have them; one that is left out of the build is not there."""

    def __init__(self, source: Source, build: Build, reader: Reader) -> None:
        """Take the Dockerfile and the door to the files beside it, and in the current folder."""
        own = posixpath.dirname(source.file)
        self._folders = (build.folder,) if build.folder is not None else (own, _THIS_FOLDER)
        self._dockerfile, self._reader = source.file, reader
        self._lists: dict[str, list[tuple[str, ignored.Ignored | None]]] = {}
        self._absent: dict[str, str] = {}

    def find(self, path: str) -> Source | None:
        """Return a file by its path in the build's folder: the one named, the Dockerfile's, or this one."""
        for folder in self._folders:
            found = self._reader(posixpath.normpath(posixpath.join(folder, path)))
            if found is not None:
                why = self._left_out(folder, path)
                if why is None:
                    return found
                self._absent[posixpath.basename(path)] = why
        return None

    def read(self, name: str) -> Source | None:
        """Return a file that another one names by its path from here."""
        inside = [(folder, posixpath.relpath(name, folder or _THIS_FOLDER)) for folder in self._folders]
        reasons = [self._left_out(folder, path) for folder, path in inside if not path.startswith("..")]
        return None if reasons and None not in reasons else self._reader(name)

    def absence(self, name: str) -> str:
        """Return why a file was not found, to be read behind its name."""
        return self._absent.get(posixpath.basename(name), "is not there to be read")

    def _left_out(self, folder: str, path: str) -> str | None:
        """Return why a file is not in the build, or perhaps not; None where it is, whoever builds."""
        for name, patterns in self._every_list(folder):
            if patterns is None:
                return f"may be left out by {name}, which is not read as a builder does"
            if patterns.leaves_out(path):
                whose = " of Podman or Buildah" if name == _OF_PODMAN else ""
                return f"is left out of the build{whose} by {name}"
        return None

    def _every_list(self, folder: str) -> list[tuple[str, ignored.Ignored | None]]:
        """Return what says what is left out, by its name: that of Docker, and that of Podman."""
        if folder not in self._lists:
            of_docker = (f"{self._dockerfile}{_IGNORE_FILE}", posixpath.join(folder, _IGNORE_FILE))
            listed = (self._first(of_docker), self._first((posixpath.join(folder, _OF_PODMAN),)))
            self._lists[folder] = [one for one in listed if one is not None]
        return self._lists[folder]

    def _first(self, names: Sequence[str]) -> tuple[str, ignored.Ignored | None] | None:
        for name in names:
            found = self._reader(posixpath.normpath(name))
            if found is not None:
                return posixpath.basename(name), _patterns(found)
        return None


def _patterns(found: Source) -> ignored.Ignored | None:
    try:
        return ignored.read(found.text)
    except ignored.PatternError:
        return None
