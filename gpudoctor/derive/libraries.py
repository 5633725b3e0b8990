"""The loader trace of each framework: what it finds of CUDA, misses, or takes from the wrong place."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from dataclasses import replace

from gpudoctor.derive import planned, stale
from gpudoctor.derive.jax import plugin_libraries
from gpudoctor.derive.loader_inputs import loader_inputs, preload_row
from gpudoctor.derive.loader_trace import Inputs, Step, certainly, elsewhere, missing, trace, trace_with_needs
from gpudoctor.derive.releases import own_row
from gpudoctor.derive.view import NotKnown, View, as_texts, text_in
from gpudoctor.model import Absent, Fact, Known, Unknown

_SOURCE = "loader trace"
_PACKAGES = re.compile(r"/(?:site|dist)-packages(?:/|\Z)")


def _is_drivers(soname: str, view: View) -> bool:
    """Return whether the driver brings a library, so that no package of NVIDIA's libraries is to blame."""
    stem = soname.partition(".so")[0]
    return any(row["stem"] == stem and row["role"] == "driver" for row in view.table("libraries").rows)


def opened_libraries(view: View) -> tuple[str, ...]:
    """Return the GPU libraries it opens: its table row, and what its loading library on disk needs."""
    if view.need("framework.has_gpu_build") is False:
        raise NotKnown(Absent(source="this build uses no NVIDIA GPU"))
    row = own_row(view) or {}
    loads = as_texts(row.get("loads")) or plugin_libraries(view)
    if view.value("framework.name") != "tensorflow" and view.look("framework.loader") is None:
        raise NotKnown(Absent(source="the framework's own libraries are not on disk"))
    wanted = dict.fromkeys((*view.texts("framework.loader_needed"), *loads))
    if not wanted:
        raise NotKnown(
            Unknown(reason="which libraries this build opens is not known without running it", asked=False)
        )
    return tuple(wanted)


def wanted_libraries(view: View) -> tuple[str, ...]:
    """Return those that the framework's CUDA brings: all but the driver's own."""
    return tuple(name for name in opened_libraries(view) if not _is_drivers(name, view))


def driver_libraries(view: View) -> Fact:
    """Return those that the driver brings."""
    return Known(
        value=tuple(name for name in opened_libraries(view) if _is_drivers(name, view)),
        source="the libraries that this build opens",
    )


def trace_all(view: View) -> tuple[tuple[Step, ...], Inputs]:
    """Return the loader trace of every library but the driver's own."""
    return view.once("loader trace", _trace_all)


def _trace_all(view: View) -> tuple[tuple[Step, ...], Inputs]:
    wanted = wanted_libraries(view)
    inputs = loader_inputs(view)
    linked = view.texts("framework.loader_needed")
    return trace_with_needs(wanted, inputs, lambda name: _is_drivers(name, view), linked), inputs


def libraries(view: View) -> Fact:
    """Return the loader trace as records."""
    steps, inputs = trace_all(view)
    return Known(
        source=_SOURCE,
        value=tuple(
            {
                "soname": s.soname,
                "path": s.path or "",
                "why": s.why,
                "error": s.error,
                "version": text_in(inputs.files.get(s.path or "", {}), "version"),
            }
            for s in steps
        ),
    )


def libraries_missing(view: View) -> Fact:
    """Return the libraries that the trace finds nowhere."""
    return Known(value=tuple(s.soname for s in missing(*trace_all(view))), source=_SOURCE)


def _off_path(view: View) -> dict[str, str]:
    """Return the missing libraries of which a usable file was seen, each with the nearest one's path."""
    steps, inputs = trace_all(view)
    near = view.need_text("framework.location")
    return {
        s.soname: found[0] for s in missing(steps, inputs) if (found := elsewhere(s.soname, inputs, near))
    }


def libraries_off_path(view: View) -> Fact:
    """Return the missing libraries of which a usable file lies where the framework does not look.

    Where a release that is newer than the rules looks by itself nobody knows.
    """
    found, end = tuple(_off_path(view)), stale.own_release_end(view)
    if found and end is not None and preload_row(view) is not None:
        name = view.need_text("framework.name")
        said = f"where {name} {view.need_text('framework.version')} looks for {', '.join(found)}"
        return stale.unknown(view, said, f"{name} {end}")
    return Known(value=found, source=_SOURCE)


def libraries_off_path_folders(view: View) -> Fact:
    """Return the folders of those files, each once."""
    view.need("framework.libraries_off_path")
    folders = dict.fromkeys(posixpath.dirname(path) for path in _off_path(view).values())
    return Known(value=tuple(folders), source=_SOURCE)


def off_path_origin(view: View) -> Fact:
    """Return whether those files belong to Python packages or to the system."""
    folders = as_texts(view.need("framework.libraries_off_path_folders"))
    if not folders:
        return Absent(source="no library lies where the framework does not look")
    known = [f"{posixpath.normpath(place)}/" for place in view.texts("python.site_packages")]
    inside = all(_PACKAGES.search(folder) or f"{folder}/".startswith(tuple(known)) for folder in folders)
    missed = ", ".join(view.texts("framework.libraries_off_path"))
    return Known(value="packages" if inside else "system", source=f"where {missed} lies")


def _absent(view: View) -> tuple[str, ...]:
    off_path = _off_path(view)
    return tuple(name for name in as_texts(view.need("framework.libraries_missing")) if name not in off_path)


def cuda_libraries_absent(view: View) -> Fact:
    """Return the missing libraries of which no file was seen anywhere, cuDNN apart."""
    return Known(
        value=tuple(name for name in _absent(view) if not name.startswith("libcudnn")), source=_SOURCE
    )


def cudnn_absent(view: View) -> Fact:
    """Return the name of the cuDNN library of which no file was seen anywhere."""
    for name in _absent(view):
        if name.startswith("libcudnn.so"):
            return Known(value=name, source=_SOURCE)
    return Absent(source="cuDNN is found, or is not opened")


def _others(stem: str, view: View) -> Fact:
    """Return the names under which the loader would find another version of a missing library."""
    gone = [
        name for name in as_texts(view.need("framework.libraries_missing")) if name.startswith(stem + ".so")
    ]
    if not gone:
        return Known(value=(), source=f"{stem} is found, or is not opened")
    inputs = loader_inputs(view)
    seen = {posixpath.basename(path) for path in inputs.files} | {text_in(r, "soname") for r in inputs.cache}
    versioned = re.compile(re.escape(stem) + r"\.so\.[0-9]+(?:\.0)?\Z")
    names = sorted(name for name in seen if versioned.match(name) and name not in gone)
    return Known(value=tuple(name for name in names if trace(name, inputs).path), source=_SOURCE)


def cudnn_others(view: View) -> Fact:
    """Return the cuDNN of other major versions that would be found where the right one is missing."""
    return _others("libcudnn", view)


def cudart_others(view: View) -> Fact:
    """Return the CUDA runtimes of other versions that would be found where the right one is missing."""
    return _others("libcudart", view)


def library_path_needed(view: View) -> Fact:
    """Return LD_LIBRARY_PATH as it is with the folders of the missing libraries behind it."""
    folders = as_texts(view.need("framework.libraries_off_path_folders"))
    here = view.texts("loader.library_path")
    return Known(value=tuple(dict.fromkeys((*here, *folders))), source=_SOURCE)


def library_folders_unsearched(view: View) -> Fact:
    """Return the folders which the CUDA packages would fill and the framework would not search."""
    wanted = wanted_libraries(view)
    inputs = loader_inputs(view, as_texts(view.need("framework.cuda_distributions")))
    near = view.need_text("framework.location")
    steps = [trace(name, inputs) for name in wanted]
    found = [elsewhere(step.soname, inputs, near) for step in missing(steps, inputs)]
    folders = dict.fromkeys(posixpath.dirname(paths[0]) for paths in found if paths)
    return Known(value=tuple(folders), source=_SOURCE)


def library_path_planned(view: View) -> Fact:
    """Return LD_LIBRARY_PATH as it is with those folders behind it."""
    folders = as_texts(view.need("framework.library_folders_unsearched"))
    here = view.texts("loader.library_path")
    return Known(value=tuple(dict.fromkeys((*here, *folders))), source=_SOURCE)


def library_path_clean(view: View) -> Fact:
    """Return LD_LIBRARY_PATH without the folders from which shadowing or broken libraries are taken."""
    steps, _ = trace_all(view)
    shadowed = as_texts(view.need("framework.libraries_shadowed"))
    bad = {
        posixpath.dirname(s.path)
        for s in steps
        if s.path is not None and s.why == "LD_LIBRARY_PATH" and (s.error or s.soname in shadowed)
    }
    kept = tuple(f for f in view.texts("loader.library_path") if posixpath.normpath(f) not in bad)
    return Known(value=kept, source=_SOURCE)


def libraries_broken(view: View) -> Fact:
    """Return the libraries whose winning file cannot be loaded."""
    steps = [step for step in trace_all(view)[0] if step.path is not None]
    broken = [s for s in steps if s.error and s.unsure is None] or certainly(steps)
    return Known(value=tuple(s.soname for s in broken if s.error), source=_SOURCE)


def libraries_shadowed(view: View) -> Fact:
    """Return the libraries that LD_LIBRARY_PATH takes from elsewhere although there are own ones."""
    steps, inputs = trace_all(view)
    own = set(inputs.runpath) | set(inputs.rpath)
    shadowed = [
        s.soname
        for s in certainly(s for s in steps if s.path is not None)
        if s.why == "LD_LIBRARY_PATH"
        and s.path is not None
        and posixpath.dirname(s.path) not in own
        and any(f"{folder}/{s.soname}" in inputs.files for folder in own)
    ]
    return Known(value=tuple(shadowed), source=_SOURCE)


def shadowing_folders(view: View) -> Fact:
    """Return the folders on LD_LIBRARY_PATH from which shadowing or broken libraries are taken."""
    kept = as_texts(view.need("framework.library_path_clean"))
    return Known(value=tuple(f for f in view.texts("loader.library_path") if f not in kept), source=_SOURCE)


def _cudnn_version(steps: Sequence[Step], inputs: Inputs) -> Fact:
    opened = [s for s in steps if s.soname.startswith("libcudnn.so")]
    found = next((s for s in opened if s.path is not None), None)
    if found is None:
        missing(opened, inputs)  # not absent, but not known, where a place could not be looked at
        return Absent(source=_SOURCE)
    certainly((found,))
    return _version(found, inputs)


def cudnn_found(view: View) -> Fact:
    """Return the version of the cuDNN that the trace finds, when its file or distribution tells.

    Where nothing can be traced, as nothing is installed yet, it is the one that pip brings with the build.
    """
    try:
        steps, inputs = trace_all(view)
    except NotKnown:
        if (brought := _cudnn_brought(view)) is not None:
            return brought
        raise
    return _cudnn_version(steps, inputs)


def _cudnn_brought(view: View) -> Fact | None:
    """Return the cuDNN that a build asks for, as pip is told last; None where that is not one release."""
    names = [name for name in planned.names(view.texts("framework.requires_nvidia"))
             if name.startswith("nvidia-cudnn-")]
    exact = [(one.version, requirement)
             for requirement in planned.parse(view.texts("python.planned_distributions"))
             for one in requirement.specifier
             if one.operator == "==" and not one.version.endswith(".*") and requirement.name in names]
    return Known(value=exact[-1][0], source=f"the requirement {exact[-1][1]}") if exact else None


def cudnn_without_library_path(view: View) -> Fact:
    """Return the version of the cuDNN that the framework would find if LD_LIBRARY_PATH were not set."""
    wanted = [name for name in wanted_libraries(view) if name.startswith("libcudnn.so")]
    inputs = replace(loader_inputs(view), library_path=(), path_unseen=None)
    return _cudnn_version([trace(name, inputs) for name in wanted], inputs)


def _version(step: Step, inputs: Inputs) -> Fact:
    version = text_in(inputs.files.get(step.path or "", {}), "version")
    if version and not step.error:
        return Known(value=version, source=str(step.path))
    return Unknown(reason=f"{step.path} does not tell its version without being loaded", asked=False)
