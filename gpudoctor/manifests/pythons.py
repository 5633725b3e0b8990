"""Which Pythons bounds admit, of those that any release of a framework has wheels for."""

from __future__ import annotations

import re

from gpudoctor import versions
from gpudoctor.derive.stacks import FRAMEWORKS, stacks_of
from gpudoctor.model import Tables

_LOWEST = re.compile(r">=\s*(3\.\d+)")
_PATCHES = range(40)


def admitted(bounds: str, platform: str, tables: Tables) -> list[str]:
    """Return the minor releases that bounds admit, the newest first; none where they cannot be read.

    A bound beyond every known one has its own lowest.
    """
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    try:
        wanted = SpecifierSet(bounds)
    except InvalidSpecifier:
        return []
    known = {python for framework in FRAMEWORKS for stack in stacks_of(framework, platform, tables)
             for python in stack.pythons}
    found = [python for python in known if any(wanted.contains(f"{python}.{patch}") for patch in _PATCHES)]
    lowest = _LOWEST.search(bounds)
    return sorted(found, key=versions.parse, reverse=True) or ([lowest[1]] if lowest is not None else [])
