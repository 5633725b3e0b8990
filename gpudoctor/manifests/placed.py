"""Which file of the build's folder an image has under a path, and what of its commands wrote one there."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Generator, Iterator
from fnmatch import fnmatchcase

from gpudoctor.frozen import frozen
from gpudoctor.manifests.installs import Install
from gpudoctor.manifests.shellwords import Command
from gpudoctor.manifests.spans import Source
from gpudoctor.manifests.stage import Placed, Stage

_MOST_COPIED = 500  # files of one stage that are looked through
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
    if (yield from _put(stage.whole(path), stage, set())):
        return
    name = posixpath.basename(path)
    yield from (one.origin for one in _listed(stage)
                if one.stage is None and posixpath.basename(one.origin) == name)
    if not path.startswith("/"):
        yield path
    yield name


def document(path: str, stage: Stage) -> Source | None:
    """Return the here-document that a path of an image was made of, None where it was made of no such."""
    whole = stage.whole(path)
    last = (one for one in _listed(stage) if whole in (one.target, posixpath.join(one.target, one.origin))
            or any(_inside(whole, one)))
    return next((one.document for one in last), None)


def _put(whole: str, stage: Stage, seen: set[tuple[int, str]]) -> Generator[str, None, bool]:
    """Yield what was put there; return whether that comes from where nobody can look."""
    if (id(stage), whole) in seen:
        return False
    seen.add((id(stage), whole))
    for one in _listed(stage):
        for inside in _inside(whole, one):
            if one.stage is None and one.is_elsewhere:
                return True
            if one.stage is None:
                yield inside
            elif (yield from _put(inside, one.stage, seen)):
                return True
    return False


def _listed(stage: Stage) -> list[Placed]:
    return [*stage.mounted, *stage.copied[:-_MOST_COPIED - 1:-1]]


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
    return _written(stage.whole(path), stage, set())


def _written(whole: str, stage: Stage, seen: set[tuple[int, str]]) -> Written | None:
    own = stage.exported.get(whole)
    if own is not None or (id(stage), whole) in seen:
        return Written(install=own, stage=stage) if own is not None else None
    seen.add((id(stage), whole))
    taken = (_written(inside, one.stage, seen) for one in _listed(stage) if one.stage is not None
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
