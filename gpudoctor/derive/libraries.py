"""The loader trace of each framework: which CUDA libraries it finds, misses, or takes from the wrong place."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from gpudoctor.derive.loader_trace import MACHINES, Inputs, Step, elsewhere, expand, trace
from gpudoctor.derive.releases import own_row
from gpudoctor.derive.view import NotKnown, View, as_records, as_texts, text_in
from gpudoctor.model import Absent, Fact, Known, Record, Unknown

def _role(soname: str, view: View) -> str:
    """Return required, optional or driver for a library, by its stem."""
    stem = soname.partition(".so")[0]
    for row in view.table("libraries").rows:
        if row["stem"] == stem:
            return str(row["role"])
    return "required"


def _planned_files(view: View, location: str) -> Iterator[tuple[str, Record]]:
    planned = view.texts("python.planned_distributions")
    if not planned:
        return
    for row in view.table("nvidia_libraries").rows:
        if row["distribution"] in planned:
            for name in as_texts(row["libraries"]):
                path = f"{location}/{row['folder']}/{name}"
                yield path, {"path": path, "soname": name, "machine": "", "error": "",
                             "version": str(row["version"]), "distribution": str(row["distribution"])}


def loader_inputs(view: View) -> Inputs:
    """Return everything the loader would look at for this framework."""
    row = own_row(view) or {}
    location = view.need_text("framework.location").rstrip("/")
    loader = view.value("framework.loader")
    origin = posixpath.dirname(str(loader)) if loader else posixpath.dirname(f"{location}/{row.get('loader', '')}")
    on_disk = loader is not None
    rpath = view.texts("framework.loader_rpath") if on_disk else as_texts(row.get("rpath"))
    runpath = view.texts("framework.loader_runpath") if on_disk else as_texts(row.get("runpath"))
    files = {posixpath.normpath(text_in(record, "path")): record for record in as_records(view.need("loader.files"))}
    for path, record in _planned_files(view, location):
        files.setdefault(posixpath.normpath(path), record)
    machine = view.need_text("system.architecture")
    return Inputs(
        files=files, rpath=expand(rpath, origin), runpath=expand(runpath, origin),
        library_path=tuple(posixpath.normpath(f) for f in as_texts(view.value("loader.library_path"))),
        cache=view.records("loader.cache"), default_folders=view.texts("loader.default_folders"),
        machine=MACHINES.get(machine, machine))


def wanted_libraries(view: View) -> tuple[str, ...]:
    """Return the CUDA libraries that the framework opens: its table row, and what its loader file on disk needs."""
    if view.need("framework.has_gpu_build") is False:
        raise NotKnown(Absent(source="this build uses no NVIDIA GPU"))
    row = own_row(view) or {}
    loads = as_texts(row.get("loads"))
    on_disk = view.value("framework.loader") is not None
    if view.value("framework.name") != "tensorflow" and not on_disk:
        raise NotKnown(Absent(source="the framework's own libraries are not on disk"))
    wanted = dict.fromkeys((*view.texts("framework.loader_needed"), *loads))
    if not wanted:
        raise NotKnown(Unknown(reason="which libraries this build opens is not known without running it", asked=False))
    return tuple(wanted)


def trace_all(view: View) -> tuple[tuple[Step, ...], Inputs]:
    """Return the loader trace of every library but the driver's own."""
    wanted = wanted_libraries(view)
    inputs = loader_inputs(view)
    steps = tuple(trace(name, inputs) for name in wanted if _role(name, view) != "driver")
    return steps, inputs


def _required(view: View) -> tuple[tuple[Step, ...], Inputs]:
    steps, inputs = trace_all(view)
    return tuple(step for step in steps if _role(step.soname, view) == "required"), inputs


def libraries(view: View) -> Fact:
    """Return the loader trace as records."""
    steps, inputs = trace_all(view)
    return Known(source="loader trace", value=tuple(
        {"soname": s.soname, "path": s.path or "", "why": s.why, "error": s.error,
         "version": text_in(inputs.files.get(s.path or "", {}), "version")} for s in steps))


def libraries_missing(view: View) -> Fact:
    """Return the required libraries that the trace finds nowhere."""
    steps, _ = _required(view)
    return Known(value=tuple(s.soname for s in steps if s.path is None), source="loader trace")


def libraries_off_path(view: View) -> Fact:
    """Return the missing libraries of which a usable file lies where the framework does not look."""
    steps, inputs = _required(view)
    near = view.need_text("framework.location")
    return Known(value=tuple(s.soname for s in steps if s.path is None and elsewhere(s.soname, inputs, near)),
                 source="loader trace")


def libraries_off_path_folders(view: View) -> Fact:
    """Return the folders of those files, each once."""
    steps, inputs = _required(view)
    near = view.need_text("framework.location")
    folders = {posixpath.dirname(elsewhere(s.soname, inputs, near)[0]): None
               for s in steps if s.path is None and elsewhere(s.soname, inputs, near)}
    return Known(value=tuple(folders), source="loader trace")


def library_path_needed(view: View) -> Fact:
    """Return LD_LIBRARY_PATH as it is with the folders of the missing libraries behind it."""
    folders = as_texts(view.need("framework.libraries_off_path_folders"))
    here = view.texts("loader.library_path")
    return Known(value=tuple(dict.fromkeys((*here, *folders))), source="loader trace")


def library_path_clean(view: View) -> Fact:
    """Return LD_LIBRARY_PATH without the folders from which shadowing or broken libraries are taken."""
    steps, _ = _required(view)
    shadowed = view.texts("framework.libraries_shadowed")
    bad = {posixpath.dirname(s.path) for s in steps
           if s.path is not None and s.why == "LD_LIBRARY_PATH" and (s.error or s.soname in shadowed)}
    kept = tuple(f for f in view.texts("loader.library_path") if posixpath.normpath(f) not in bad)
    return Known(value=kept, source="loader trace")


def libraries_broken(view: View) -> Fact:
    """Return the libraries whose winning file cannot be loaded."""
    steps, _ = _required(view)
    return Known(value=tuple(s.soname for s in steps if s.path is not None and s.error), source="loader trace")


def libraries_shadowed(view: View) -> Fact:
    """Return the libraries that LD_LIBRARY_PATH takes from elsewhere although the framework's own are installed."""
    steps, inputs = _required(view)
    own = set(inputs.runpath) | set(inputs.rpath)
    shadowed = [s.soname for s in steps if s.why == "LD_LIBRARY_PATH" and s.path is not None
                and posixpath.dirname(s.path) not in own
                and any(f"{folder}/{s.soname}" in inputs.files for folder in own)]
    return Known(value=tuple(shadowed), source="loader trace")


def cudnn_found(view: View) -> Fact:
    """Return the version of the cuDNN that the trace finds, when its file or distribution tells."""
    steps, inputs = _required(view)
    for step in steps:
        if step.soname.startswith("libcudnn.so") and step.path is not None:
            version = text_in(inputs.files.get(step.path, {}), "version")
            if version:
                return Known(value=version, source=step.path)
            return Unknown(reason=f"{step.path} does not tell its version without being loaded", asked=False)
    return Absent(source="loader trace")
