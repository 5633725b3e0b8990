"""JAX's CUDA plugins: jaxlib takes only a plugin of its own version."""

from __future__ import annotations

import re

from gpudoctor.derive.view import View, as_records, text_in
from gpudoctor.model import Absent, Fact, Known, Record

_NUMBERS = re.compile(r"\d+(?:\.\d+)*")
_CUDA = re.compile(r"jax-cuda\d+-(?:plugin|pjrt)\Z")


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
