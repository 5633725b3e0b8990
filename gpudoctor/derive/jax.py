"""JAX's CUDA plugins: jaxlib takes only a plugin of its own version."""

from __future__ import annotations

import re

from gpudoctor import versions
from gpudoctor.derive.view import View, as_records, as_texts, text_in
from gpudoctor.model import Absent, Fact, Known, Record, Row

_NUMBERS = re.compile(r"[0-9]+(?:\.[0-9]+)*")
_CUDA = re.compile(r"jax-cuda([0-9]+)-(?:plugin|pjrt)\Z")


def _numbers(version: str) -> str:
    """Return the numbers a version begins with, which is all that jaxlib compares."""
    found = _NUMBERS.match(version)
    return found[0] if found else version


def _family(view: View) -> tuple[str, list[Record]]:
    """Return jaxlib's version ("" without jaxlib) and the CUDA plugins."""
    records = as_records(view.need("framework.plugins"))
    jaxlib = next((text_in(r, "version") for r in records if text_in(r, "name") == "jaxlib"), "")
    return jaxlib, [r for r in records if _CUDA.match(text_in(r, "name"))]


def jaxlib_version(view: View) -> Fact:
    """Return the version of jaxlib."""
    jaxlib, _ = _family(view)
    return (
        Known(value=jaxlib, source="framework.plugins") if jaxlib else Absent(source="no jaxlib is installed")
    )


def plugins_mismatched(view: View) -> Fact:
    """Return the CUDA plugins whose version is not jaxlib's, as "name version"."""
    jaxlib, plugins = _family(view)
    wrong = tuple(
        f"{text_in(r, 'name')} {text_in(r, 'version')}"
        for r in plugins
        if jaxlib and _numbers(text_in(r, "version")) != _numbers(jaxlib)
    )
    return Known(value=wrong, source="framework.plugins")


def plugin_requirements(view: View) -> Fact:
    """Return what pip is to install so that every CUDA plugin has jaxlib's version."""
    jaxlib, plugins = _family(view)
    if not jaxlib or not plugins:
        return Absent(source="no jaxlib or no CUDA plugin is installed")
    return Known(
        value=tuple(f"{text_in(r, 'name')}=={_numbers(jaxlib)}" for r in plugins), source="framework.plugins"
    )


def plugins_matched(view: View) -> Fact:
    """Return the plugins as they would be then."""
    jaxlib, plugins = _family(view)
    matched: tuple[Record, ...] = tuple(
        {"name": text_in(r, "name"), "version": _numbers(jaxlib)} for r in plugins
    )
    return Known(value=({"name": "jaxlib", "version": jaxlib}, *matched), source="framework.plugins")


def plugin_libraries(view: View) -> tuple[str, ...]:
    """Return the CUDA libraries that the newest of its CUDA plugins refuses to start without."""
    if view.value("framework.name") != "jax":
        return ()
    _, plugins = _family(view)
    found = {match[1]: text_in(r, "version") for r in plugins if (match := _CUDA.match(text_in(r, "name")))}
    if not found:
        return ()
    major = max(found, key=int)
    rows = [
        row
        for row in view.table("jax_libraries").rows
        if row["cuda_major"] == major and versions.parse(str(row["since"])) <= versions.parse(found[major])
    ]
    newest = max(rows, key=lambda row: versions.parse(str(row["since"])), default={})
    return as_texts(newest.get("libraries"))


# -- another plugin ------------------------------------------------------------------------------------------


def other_requirement(view: View) -> Fact:
    """Return what pip is to install for the plugin of another CUDA that fits the driver and the cards."""
    _, plugins = _family(view)
    here = {match[1] for r in plugins if (match := _CUDA.match(text_in(r, "name")))}
    rows = [row for row in view.table("jax_plugins").rows if _fits(row, view)]
    best = max(rows, key=lambda row: int(str(row["cuda_major"])), default=None)
    if not here or best is None or best["cuda_major"] in here:
        return Absent(source="JAX has no plugin for another CUDA that would fit here")
    text = f"jax[cuda{best['cuda_major']}]=={view.need_text('framework.version')}"
    return Known(value=text, source=str(best["source"]))


def _fits(row: Row, view: View) -> bool:
    ceiling = view.bound("driver.cuda_ceiling") or view.need_text("driver.cuda_ceiling")
    card = view.need_text("system.oldest_card")
    return (
        versions.parse(str(row["ceiling"])) <= versions.parse(ceiling)
        and versions.parse(str(row["oldest_card"])) <= versions.parse(card)
    )


def other_cuda(view: View) -> Fact:
    """Return the CUDA of that plugin."""
    requirement = view.need_text("framework.other_plugin_requirement")
    return Known(value=requirement.partition("[cuda")[2].partition("]")[0], source=requirement)


def installed_plugins(view: View) -> Fact:
    """Return the names of the CUDA plugins that are installed."""
    _, plugins = _family(view)
    return Known(value=tuple(text_in(r, "name") for r in plugins), source="framework.plugins")


def other_plugins(view: View) -> Fact:
    """Return jaxlib and the plugins as they would be with that one in place of those."""
    jaxlib, _ = _family(view)
    major, version = view.need_text("framework.other_plugin_cuda"), view.need_text("framework.version")
    names = (f"jax-cuda{major}-pjrt", f"jax-cuda{major}-plugin")
    records: tuple[Record, ...] = tuple({"name": name, "version": version} for name in names)
    return Known(value=({"name": "jaxlib", "version": jaxlib}, *records), source="framework.plugins")
