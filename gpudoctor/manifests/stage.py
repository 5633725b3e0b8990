"""A stage of a Dockerfile while it is read."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import replace

from gpudoctor.frozen import frozen
from gpudoctor.manifests.dockerfile import Instruction
from gpudoctor.manifests.installs import Install
from gpudoctor.manifests.shellwords import Command
from gpudoctor.manifests.spans import Place, Source
from gpudoctor.manifests.statements import (
    Asked, Broken, Brought, Environment, Image, Lacking, Lost, Package, Setting, Started, Unread, Wish,
    signs_of,
)

CONFIGURATIONS = frozenset({"pip.conf", "uv.toml"})
_THEIR_FOLDERS = frozenset({"pip", "uv", ".pip", ".config", "etc"})


@frozen
class Placed:
    """What COPY, ADD or a mount puts into an image, and where: the whole path, and as it is `written`.

    `document` is the text that a here-document gives it. `stage` is the one that it is taken from.
    `is_elsewhere`: it comes from no folder that can be read, as from another image or an address.
    """

    origin: str
    target: str
    written: str
    stage: Stage | None = None
    is_elsewhere: bool = False
    document: Source | None = None


def start_order(started: Mapping[str, Started]) -> list[Started]:
    """Return what a container starts: CMD is what ENTRYPOINT is given, unless that is a shell's own."""
    entry, command = started.get("ENTRYPOINT"), started.get("CMD")
    if entry is None or command is None:
        return [one for one in (entry, command) if one is not None]
    if entry.in_shell or not command.commands:
        return [entry]
    if not entry.commands or entry.source is not command.source:
        return [entry, command]
    first = Command(words=(*entry.commands[0].words, *command.commands[0].words))
    return [replace(command, commands=(first, *command.commands[1:]))]


class Stage:
    """A stage while it is read."""

    def __init__(self, name: str, image: Image | None, place: Place, parent: Stage | None) -> None:
        self.name, self.place, self.parent = name, place, parent
        self.image: Image | None = parent.image if parent else image
        self.variables: dict[str, str | None] = dict(parent.variables) if parent else {}
        self.settings: dict[str, Setting] = dict(parent.settings) if parent else {}
        self.asked: list[Asked] = list(parent.asked) if parent else []
        self.packages: list[Package] = list(parent.packages) if parent else []
        self.brought: list[Brought] = list(parent.brought) if parent else []  # by conda
        self.stubs: list[str] = list(parent.stubs) if parent else []
        self.folder: str = parent.folder if parent else "/"
        # of files with a project's requirements, by their whole paths, what wrote them
        self.exported: dict[str, Install] = dict(parent.exported) if parent else {}
        self.changed: set[str] = set(parent.changed) if parent else set()  # lists that commands wrote
        self.copied: list[Placed] = list(parent.copied) if parent else []
        self.started: dict[str, Started] = dict(parent.started) if parent else {}  # CMD and ENTRYPOINT
        self.declared: set[str] = set(parent.declared) if parent else set()  # by ARG
        self.mounted: list[Placed] = []  # for the RUN that is read
        self.lost: list[Lost] = []
        self.broken: list[Broken] = []
        self.lacking: list[Lacking] = []
        self.lacks_pip: bool = parent.lacks_pip if parent else False  # until something may have brought it
        self.unread: list[Unread] = list(parent.unread) if parent else []
        self.held_back: list[tuple[Unread, Instruction]] = []  # by ONBUILD, for a stage built from this one
        self.feeding: list[Image] = list(parent.feeding) if parent else [image] if image else []
        self.python: tuple[str, Place] | None = parent.python if parent else None
        self.alters_libraries: bool = parent.alters_libraries if parent else False
        self.alters_python: bool = parent.alters_python if parent else False
        self.has_condas: bool = parent.has_condas if parent else False
        self.systems_library: str = parent.systems_library if parent else ""  # of Python, by apt or dnf
        self.tells_installer: bool = parent.tells_installer if parent else False
        # what the image itself has installed may be gone, or out of pip's reach
        self.hides_packages: bool = parent.hides_packages if parent else False
        self.has_shell: bool = parent.has_shell if parent else True

    def whole(self, path: str) -> str:
        """Return a path of the image as it is seen from its root."""
        return posixpath.normpath(posixpath.join(self.folder, path))

    def environment(self, wishes: Sequence[Wish], images: Sequence[Image]) -> Environment:
        """Return what the stage amounts to."""
        return Environment(
            name=self.name, place=self.place, image=self.image, images=tuple(images),
            feeding=tuple(self.feeding), asked=tuple(self.asked),
            packages=tuple(self.packages), stubs=tuple(self.stubs), brought=tuple(self.brought),
            settings=self.settings, wishes=(*wishes, *signs_of(self.settings)), lost=tuple(self.lost),
            broken=tuple(self.broken), lacking=tuple(self.lacking),
            unread=tuple(self.unread),
            python=self.python[0] if self.python else None,
            python_place=self.python[1] if self.python else None, alters_libraries=self.alters_libraries,
            alters_python=self.alters_python, has_condas=self.has_condas,
            systems_library="" if self.hides_packages else self.systems_library,
            tells_installer=self.tells_installer or any(
                posixpath.basename(path) in CONFIGURATIONS | _THEIR_FOLDERS
                for one in self.copied for path in (one.target, one.origin)))
