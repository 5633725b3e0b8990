"""Predict which file the dynamic loader takes for each library a framework opens, from recorded inputs only.

Order (ld.so(8), glibc): DT_RPATH of the opening library, ignored when it has DT_RUNPATH; LD_LIBRARY_PATH as
the process started with it; DT_RUNPATH; ld.so.cache; the default folders. A file for another machine is
skipped and the search goes on; a file that is no shared library ends the search with an error.

Some frameworks load libraries by their paths before that or when it has failed: what is loaded already counts
for every later library that asks for the same name.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import field, replace

from gpudoctor.derive.remembered import of_same
from gpudoctor.derive.view import NotKnown, as_texts, text_in
from gpudoctor.frozen import frozen
from gpudoctor.model import Record, Unknown

MACHINES = {"x86_64": "x86_64", "amd64": "x86_64", "aarch64": "aarch64", "arm64": "aarch64"}

# What open(2) says of a link that leads nowhere and of a file this user may not read: the search goes on.
_NOT_OPENED = ("No such file or directory", "Permission denied")


@frozen
class Inputs:
    """All that the loader would look at; `files` are records of path, machine, error; paths are absolute.

    `preloads`: for the stem of each library that the framework loads by itself, the folders it looks in, a
    group for each folder of sys.path; those of the stems `early` come before any search.
    `unseen`: a place among all these that nobody could look at; `path_unseen`: LD_LIBRARY_PATH, where that
    is one.
    """

    files: Mapping[str, Record]
    rpath: tuple[str, ...]
    runpath: tuple[str, ...]
    library_path: tuple[str, ...]
    cache: tuple[Record, ...]
    default_folders: tuple[str, ...]
    machine: str
    preloads: Mapping[str, tuple[tuple[str, ...], ...]] = field(default_factory=dict)
    early: frozenset[str] = frozenset()
    unseen: Unknown | None = None
    path_unseen: Unknown | None = None

    def without_sight(self, unseen: Unknown | None) -> Inputs:
        """Return the inputs with the place that could not be looked at."""
        return replace(self, unseen=unseen)

    def named(self, soname: str) -> Sequence[str]:
        """Return the paths of the files of a name."""
        return _by_name(self.files).get(soname, ())

    def folders(self) -> tuple[str, ...]:
        """Return every folder that is searched, in order."""
        own = self.runpath or self.rpath
        groups = [folder for entries in self.preloads.values() for group in entries for folder in group]
        return tuple(dict.fromkeys((*own, *self.library_path, *self.default_folders, *groups)))


@of_same
def _by_name(files: Mapping[str, Record]) -> Mapping[str, Sequence[str]]:
    found: dict[str, list[str]] = {}
    for path in files:
        found.setdefault(path.rpartition("/")[2], []).append(path)
    return found


@frozen
class Step:
    """Where a library was found: `path` None when nowhere; `error` when what was found cannot be loaded.

    `unsure`: why nobody knows whether another file is found before this one.
    """

    soname: str
    path: str | None
    why: str
    error: str = ""
    unsure: Unknown | None = None


def expand(entries: Iterable[str], origin: str) -> tuple[str, ...]:
    """Return RPATH or RUNPATH entries as folders, `$ORIGIN` replaced by the folder of the opening library."""
    folders = (entry.replace("${ORIGIN}", origin).replace("$ORIGIN", origin) for entry in entries if entry)
    return tuple(posixpath.normpath(folder) for folder in folders)


def trace(soname: str, inputs: Inputs) -> Step:
    """Return the file that wins for `soname`, and why."""
    early = _preloaded(soname, inputs) if soname.partition(".so")[0] in inputs.early else None
    if early is not None:
        return early
    step = _searched(soname, inputs) or _preloaded(soname, inputs) or _nowhere(soname)
    return step if step.why == "RPATH" else replace(step, unsure=inputs.path_unseen)


def trace_with_needs(
    sonames: Sequence[str], inputs: Inputs, passed_over: Callable[[str], bool], linked: Container[str] = ()
) -> tuple[Step, ...]:
    """Return the steps of these libraries and, behind each, of what its file needs in turn.

    Those that are `linked` are loaded together, all of them before the first one's needs; the others are
    opened one by one. What is loaded once counts for all. A library that is only needed by another is left
    out where it is not found although a usable file of it was seen: a framework may have loaded that by a way
    of its own.
    """
    apart = [[name] for name in sonames if name not in linked]
    groups = [[name for name in sonames if name in linked], *apart]
    steps: dict[str, Step] = {}
    for group in groups:
        waiting = [(wanted, inputs) for wanted in group]
        while waiting:
            soname, here = waiting.pop(0)
            if soname in steps or passed_over(soname):
                continue
            step = trace(soname, here)
            if step.path is None and soname not in group and elsewhere(soname, inputs, ""):
                continue
            steps[soname] = step
            record = inputs.files.get(step.path or "", {})
            below = _of_library(step.path or "", record, here)
            waiting += [(name, below) for name in as_texts(record.get("needed")) if not step.error]
    return tuple(_bound(step, steps.values(), inputs.files) for step in steps.values())


def _bound(step: Step, steps: Iterable[Step], files: Mapping[str, Record]) -> Step:
    """Return the step with an error where another library asks for a function that this one has not.

    The loader then refuses that other one, and names this one. Nothing where its functions are not known.
    """
    given = set(as_texts(files.get(step.path or "", {}).get("gives")))
    for other in steps if given and not step.error else ():
        for asked in as_texts(files.get(other.path or "", {}).get("asks")):
            soname, _, function = asked.partition(" ")
            if soname == step.soname and function not in given:
                return replace(step, error=f"it has no {function}, which {other.soname} asks of it")
    return step


def _of_library(path: str, record: Record, above: Inputs) -> Inputs:
    """Return where the needs of a library are looked for: DT_RPATH is handed down, DT_RUNPATH is not."""
    origin = posixpath.dirname(path)
    handed_down = () if above.runpath else above.rpath
    own = expand(as_texts(record.get("rpath")), origin)
    runpath = expand(as_texts(record.get("runpath")), origin)
    return replace(above, rpath=(*own, *handed_down), runpath=runpath)


def missing(steps: Iterable[Step], inputs: Inputs) -> tuple[Step, ...]:
    """Return the steps that found nothing; not known where a place of the search could not be looked at."""
    found = tuple(step for step in steps if step.path is None)
    if found and inputs.unseen is not None:
        raise NotKnown(inputs.unseen)
    return found


def certainly(steps: Iterable[Step]) -> tuple[Step, ...]:
    """Return the steps; not known where another file may win than the one that was found."""
    found = tuple(steps)
    unsure = next((step.unsure for step in found if step.unsure is not None), None)
    if unsure is not None:
        raise NotKnown(unsure)
    return found


def _nowhere(soname: str) -> Step:
    return Step(soname=soname, path=None, why="not found")


def _searched(soname: str, inputs: Inputs) -> Step | None:
    searches: list[tuple[str, Sequence[str]]] = [
        ("RPATH", () if inputs.runpath else inputs.rpath),
        ("LD_LIBRARY_PATH", inputs.library_path),
        ("RUNPATH", inputs.runpath),
    ]
    for why, folders in searches:
        for folder in folders:
            step = _try(soname, f"{folder}/{soname}", why, inputs)
            if step is not None:
                return step
    for record in inputs.cache:
        if record.get("soname") != soname:
            continue
        path = posixpath.normpath(text_in(record, "path"))
        if path not in inputs.files:
            return Step(soname=soname, path=path, why="ld.so.cache")
        step = _try(soname, path, "ld.so.cache", inputs)
        if step is not None:
            return step
    for folder in inputs.default_folders:
        step = _try(soname, f"{folder}/{soname}", "default folder", inputs)
        if step is not None:
            return step
    return None


def _preloaded(soname: str, inputs: Inputs) -> Step | None:
    """Return what the framework loads by itself: out of the first folder with any version of it."""
    stem = soname.partition(".so")[0]
    for group in inputs.preloads.get(stem, ()):
        for folder in group:
            step = _try(soname, f"{folder}/{soname}", "loaded by the framework itself", inputs)
            if step is not None:
                return step
        if any(name.startswith(f"{stem}.so.") and folder in group
               for folder, _, name in (path.rpartition("/") for path in inputs.files)):
            return None
    return None


def _try(soname: str, path: str, why: str, inputs: Inputs) -> Step | None:
    record = inputs.files.get(posixpath.normpath(path))
    if record is None:
        return None
    machine = text_in(record, "machine")
    if machine and inputs.machine and machine != inputs.machine:
        return None
    if text_in(record, "error") in _NOT_OPENED:
        return None
    return Step(soname=soname, path=posixpath.normpath(path), why=why, error=text_in(record, "error"))


def elsewhere(soname: str, inputs: Inputs, near: str) -> tuple[str, ...]:
    """Return every usable file of that name that was seen anywhere, those below the folder `near` first."""
    paths = [path for path in inputs.named(soname) if not text_in(inputs.files[path], "error")
             and text_in(inputs.files[path], "machine") in ("", inputs.machine)]
    return tuple(sorted(paths, key=lambda path: (not path.startswith(near), len(path), path)))
