"""Gather what the loader of one framework would look at, and what of that nobody could see."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence

from gpudoctor import versions
from gpudoctor.derive import planned
from gpudoctor.derive.loader_trace import MACHINES, Inputs, expand
from gpudoctor.derive.releases import cuda_version, nvidia_packages, own_row
from gpudoctor.derive.remembered import Same, of_same
from gpudoctor.derive.view import NotKnown, View, as_records, as_texts, text_in
from gpudoctor.model import Known, Record, Row, Table, Unknown, Value

_ALWAYS_SEARCHED = (
    "loader.library_path", "loader.cache", "loader.default_folders", "python.planned_distributions",
)


def loader_inputs(view: View, extra: Sequence[str] = ()) -> Inputs:
    """Return everything the loader would look at; `extra` is what pip is to install before."""
    row = own_row(view) or {}
    location = view.need_text("framework.location").rstrip("/")
    loader = view.value("framework.loader")
    origin = (
        posixpath.dirname(str(loader)) if loader else posixpath.dirname(f"{location}/{row.get('loader', '')}")
    )
    on_disk = loader is not None
    rpath = view.texts("framework.loader_rpath") if on_disk else as_texts(row.get("rpath"))
    runpath = view.texts("framework.loader_runpath") if on_disk else as_texts(row.get("runpath"))
    machine = view.need_text("system.architecture")
    preloads = preload_row(view)
    inputs = Inputs(
        files=_files(view, location, extra),
        rpath=expand(rpath, origin),
        runpath=expand(runpath, origin),
        library_path=tuple(posixpath.normpath(f) for f in as_texts(view.value("loader.library_path"))),
        cache=view.records("loader.cache"),
        default_folders=view.texts("loader.default_folders"),
        machine=MACHINES.get(machine, machine),
        preloads=_preloads(view, preloads) if preloads else {},
        early=_early(preloads) if preloads else frozenset(),
        path_unseen=view.unknown_among(("loader.library_path",)),
    )
    return inputs.without_sight(_unseen(view, row, preloads) or _unlisted(inputs))


def _files(view: View, location: str, extra: Sequence[str]) -> Mapping[str, Record]:
    """Return the records of the libraries by their paths, with those that pip would bring."""
    files = _by_path(view.need("loader.files"))
    asked = (*view.texts("python.planned_distributions"), *extra)
    if not asked:
        return files
    packages = nvidia_packages(view)
    return _with_brought(files, Same(packages), planned.together(asked, packages), location)


@of_same
def _with_brought(files: Mapping[str, Record], packages: Same[Table], wanted: tuple[str, ...],
                  location: str) -> Mapping[str, Record]:
    """Return the files with those that pip would bring: the same for each framework in a folder."""
    found = dict(files)
    for path, record in planned.files(wanted, location, packages.value):
        if path not in found or planned.replaces(record, wanted, found[path]):
            found[path] = record
    return found


@of_same
def _by_path(files: Value) -> Mapping[str, Record]:
    return {posixpath.normpath(text_in(record, "path")): record for record in as_records(files)}


def _unseen(view: View, row: Row, preloads: Row | None) -> Unknown | None:
    """Return the first of the searched places that could not be looked at."""
    names = list(_ALWAYS_SEARCHED)
    if view.value("framework.loader") is not None:
        names += ["framework.loader_rpath", "framework.loader_runpath"]
    elif not row:
        names.append("framework.loader")
    if preloads:
        names.append("python.site_packages")
    return view.unknown_among(names)


def _unlisted(inputs: Inputs) -> Unknown | None:
    """Return a searched folder of which not every file is known: it was refused, or is too large."""
    for folder in inputs.folders():
        error = text_in(inputs.files.get(folder, {}), "error")
        if error:
            return Unknown(reason=f"{folder}: {error}")
    return None


# -- what the framework loads by itself ----------------------------------------------------------------------


def preload_row(view: View) -> Row | None:
    """Return what the release of this framework loads by itself, None where it leaves that to the loader.

    The newest row known counts for a release that is newer, or whose version could not be read.
    """
    name, version = view.need_text("framework.name"), view.value("framework.version")
    found = [
        row
        for row in view.table("preloads").rows
        if row["framework"] == name
        and (version is None or versions.parse(str(row["since"])) <= versions.parse(str(version)))
    ]
    return max(found, key=lambda row: versions.parse(str(row["since"])), default=None)


def _preloads(view: View, row: Row) -> Mapping[str, tuple[tuple[str, ...], ...]]:
    """Return, for each library's stem, the folders to look in: a group for each folder of sys.path."""
    try:
        cuda = str(versions.parse(cuda_version(view)).major)
    except NotKnown:
        cuda = ""
    patterns = [text for text in as_texts(row["folders"]) if cuda or "{cuda}" not in text]
    return {
        text_in(library, "stem"): tuple(
            tuple(
                posixpath.normpath(f"{entry}/{_filled(pattern, text_in(library, 'package'), cuda)}")
                for pattern in patterns
            )
            for entry in _entries(view)
        )
        for library in as_records(row["libraries"])
    }


def _early(row: Row) -> frozenset[str]:
    """Return the stems of what it loads before the loader is asked, rather than when that has failed."""
    if row.get("first") is True:
        return frozenset(text_in(library, "stem") for library in as_records(row["libraries"]))
    return frozenset(as_texts(row.get("early")))


def _filled(pattern: str, package: str, cuda: str) -> str:
    return pattern.replace("{package}", package).replace("{cuda}", cuda)


def _entries(view: View) -> tuple[str, ...]:
    """Return the folders of sys.path that hold packages, the framework's own among them."""
    location = view.fact("framework.location")
    own = (str(location.value),) if isinstance(location, Known) else ()
    return tuple(dict.fromkeys((*view.texts("python.site_packages"), *own)))
