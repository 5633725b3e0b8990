"""Which file of the build's folder an image has under a path, and what of its commands wrote one there."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from fnmatch import fnmatchcase

from gpudoctor.frozen import frozen
from gpudoctor.manifests.installs import Install
from gpudoctor.manifests.shellwords import Command
from gpudoctor.manifests.stage import Placed, Stage

_WRITES = frozenset({">", ">>", ">|"})
_LISTS = (".txt", ".in")
# a script for sed that names none of these leaves what is judged as it was
_JUDGED = re.compile(r"torch|tensorflow|jax|paddle|nvidia|cuda|cupy|\$", re.IGNORECASE)


@frozen
class Written:
    """The export of a project that became a list, with the stage that has the project."""

    install: Install
    stage: Stage


def origins(path: str, stage: Stage) -> Iterator[str]:
    """Yield what of the build's folder a path of an image may be, the surest first: the last COPY counts."""
    whole, name = stage.whole(path), posixpath.basename(path)
    listed = (*stage.mounted, *reversed(stage.copied))
    for one in listed:
        for inside in _inside(whole, one):
            if one.stage is None and one.is_elsewhere:
                return  # it is there, and comes from where nobody can look
            yield from (inside,) if one.stage is None else origins(inside, one.stage)
    for one in listed:
        if one.stage is None and posixpath.basename(one.origin) == name:
            yield one.origin
    if not path.startswith("/"):
        yield path
    yield name


def _inside(whole: str, one: Placed) -> Iterator[str]:
    """Yield which path at its origin a path of the image is, if what was put there may be that."""
    target = one.target.rstrip("/")
    if whole == target:
        yield one.origin
    folder, name = posixpath.split(whole)
    if folder.rstrip("/") == target and fnmatchcase(name, posixpath.basename(one.origin)):
        yield posixpath.join(posixpath.dirname(one.origin), name)
    if whole.startswith(f"{target}/"):
        yield posixpath.join(one.origin, whole[len(target) + 1:])


def written(path: str, stage: Stage) -> Written | None:
    """Return the export that wrote a file, in this stage or in one that it was copied from."""
    whole = stage.whole(path)
    own = stage.exported.get(whole)
    if own is not None:
        return Written(install=own, stage=stage)
    taken = (written(inside, one.stage) for one in reversed(stage.copied) if one.stage is not None
             for inside in _inside(whole, one))
    return next((found for found in taken if found is not None), None)


def lists_changed(command: Command) -> Iterator[str]:
    """Yield the lists that a command writes or, with sed, changes where they may name a framework."""
    for one in command.redirections:
        if one.operator in _WRITES and one.target is not None and one.target.text.endswith(_LISTS):
            yield one.target.text
    texts = [word.text for word in command.words]
    program, listed = posixpath.basename(texts[0]), [text for text in texts[1:] if text.endswith(_LISTS)]
    is_edited = program == "sed" and any(text.startswith(("-i", "--in-place")) for text in texts)
    if program == "tee" or (is_edited and not all(word.known and not _JUDGED.search(word.text)
                                                  for word in command.words if word.text not in listed)):
        yield from listed
