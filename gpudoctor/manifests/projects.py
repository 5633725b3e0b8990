"""What a command installs of a project that is copied in: as its lock has it, else as its file asks."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from dataclasses import replace
from fnmatch import fnmatchcase

from gpudoctor.manifests import locked, locks, pyproject
from gpudoctor.manifests.context import Context
from gpudoctor.manifests.groups import Groups
from gpudoctor.manifests.installs import Install
from gpudoctor.manifests.requirements import Listed
from gpudoctor.manifests.spans import Place, Source
from gpudoctor.manifests.stage import Stage
from gpudoctor.manifests.statements import Unread

_PROJECT, _BUILT = "pyproject.toml", ("setup.py", "setup.cfg")
_FROZEN, _LOCKED, _NO_SYNC = "UV_FROZEN", "UV_LOCKED", "UV_NO_SYNC"
_NO = ("", "0", "false")


def asked_for(install: Install, place: Place, stage: Stage, context: Context) -> Listed:
    """Return what of a project is installed."""
    if _is_run(install) and _is_on(_NO_SYNC, stage):
        return Listed(asked=(), unread=())
    name = "Pipfile" if install.tool == "pipenv" else _PROJECT
    path = next(_paths(name, stage, context, install.folder), name)
    found = context.find(path)
    if found is None and _needs_none(install):
        return Listed(asked=(), unread=())
    if found is None:
        why = f"{name} {context.absence(name)}, so what the project needs was not judged"
        return Listed(asked=(), unread=(Unread(why=why, place=place, of_framework=install.tool != "pip"),))
    asked = pyproject.of_groups(found, install.groups, install.tool)
    groups = _told(install, stage)
    lock = _lock(install, posixpath.dirname(path), stage, context)
    if lock is None:
        return Listed(asked=asked, unread=tuple(_missing_lock(install, groups, place, stage, context)))
    return locked.held(lock, asked, groups, _python(stage))


def _told(install: Install, stage: Stage) -> Groups:
    """Return what a command installs, as uv's variables have it besides."""
    if install.tool != "uv":
        return install.groups
    is_frozen = _is_on(_FROZEN, stage)
    return replace(install.groups, is_frozen=install.groups.is_frozen or is_frozen,
                   needs_lock=install.groups.needs_lock or is_frozen or _is_on(_LOCKED, stage))


def _missing_lock(install: Install, groups: Groups, place: Place, stage: Stage, context: Context
                  ) -> Iterator[Unread]:
    """Yield that a lock is not there which COPY names, or without which the command ends."""
    if not groups.heeds_lock:
        return
    name = locked.NAMES[install.tool]
    is_named = any(posixpath.basename(one.origin) == name for one in (*stage.mounted, *stage.copied)
                   if one.stage is None)
    if is_named or groups.needs_lock:
        yield Unread(why=f"{name} {context.absence(name)}, so which releases are installed was not judged",
                     place=place, of_framework=True)


def _needs_none(install: Install) -> bool:
    """Return whether a command does without a project: `uv run` only runs another then."""
    return _is_run(install) and not install.folder


def _is_run(install: Install) -> bool:
    return install.project is not None and install.project.text == "run"


def _is_on(name: str, stage: Stage) -> bool:
    return (stage.variables.get(name) or "") not in _NO


def listed_in(found: Source, groups: Groups, stage: Stage) -> Listed | None:
    """Return what uv and pip take from a project's file or a lock behind `-r`, None for any other file."""
    name = posixpath.basename(found.file)
    if locks.LOCKS.fullmatch(name):
        pins = locks.pins_of(found, _python(stage))
        return Listed(asked=pins.asked(), unread=pins.unread())
    if name == _PROJECT:
        return Listed(asked=pyproject.of_groups(found, groups, "pip"), unread=())
    if name in _BUILT:
        return Listed(asked=(), unread=(Unread(
            why=f"what {name} asks for was not judged: it is a program's own list", place=found.place(0),
            of_framework=True),))
    return None


def _python(stage: Stage) -> str | None:
    return stage.python[0] if stage.python is not None else None


def _lock(install: Install, folder: str, stage: Stage, context: Context) -> Source | None:
    """Return the lock beside a project's file, if the image has it and the command heeds it."""
    if not install.groups.heeds_lock:
        return None
    name = locked.NAMES[install.tool]
    return next((context.find(path) for path in _paths(name, stage, context, install.folder)
                 if posixpath.dirname(path) == folder), None)


def _paths(name: str, stage: Stage, context: Context, wanted: str) -> Iterator[str]:
    """Yield where in the build's folder the files of a name lie that the image has in the folder wanted."""
    for one in (*stage.mounted, *stage.copied):
        if one.stage is not None or one.is_elsewhere:
            continue
        inside = posixpath.normpath(one.origin or ".")
        folder, last = posixpath.split(inside)
        is_file = fnmatchcase(name, last)
        below = _below(wanted, one.written)
        if below is None or (is_file and below != "."):
            continue
        path = posixpath.normpath(posixpath.join(folder if is_file else inside, below, name))
        if context.find(path) is not None:
            yield path


def _below(wanted: str, target: str) -> str | None:
    """Return a folder as seen from where COPY put something, None where it is elsewhere.

    A path that is no whole one is seen from there, or from the folder that both are seen from.
    """
    if not wanted:
        return "."
    below = posixpath.relpath(posixpath.join("/", wanted), posixpath.join("/", target))
    if below == "." or not below.startswith(".."):
        return below
    return None if wanted.startswith("/") or not target.startswith("/") else posixpath.normpath(wanted)
