"""Which Pythons bounds admit, of those that any release has wheels for; and one that stands in for them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from gpudoctor import remedy, versions
from gpudoctor.assume import lay
from gpudoctor.consequences import key_of
from gpudoctor.derive.stacks import stacks_of
from gpudoctor.frameworks import FRAMEWORKS
from gpudoctor.model import Fact, Finding, Known, RuleDatabase, Snapshot, Tables

_LOWEST = re.compile(r">=\s*(3\.[0-9]+)")
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


def apart(found: Sequence[Finding], snapshot: Snapshot, python: str, database: RuleDatabase,
          place_of: Callable[[Finding], object]) -> list[Finding]:
    """Return findings on a machine whose Python nobody names, without what follows from another of a place.

    What a cure clears is only seen where the releases for the Python are known: it is, with this one.
    """
    facts: dict[str, Fact] = {"python.version": Known(value=python, source="a Python that is often met")}
    judged = remedy.diagnose(lay(snapshot, facts, database.tables, source=python), database)
    places = {key_of(one): place_of(one) for one in found}
    follow = {(key_of(each), place_of(one)) for one in judged.findings if key_of(one) in places
              for each in one.consequences}
    return [one for one in found if (key_of(one), place_of(one)) not in follow]
