"""Find what requires a framework that another framework requires: it may only have come along with that one.

Only then are the records of all distributions read, for there may be hundreds.
"""

import os
import re

from . import distributions, files

TYPE_CHECKING = False  # importing typing takes longer than most collectors
if TYPE_CHECKING:
    from typing import Any, Dict, List, Optional

_NAME = re.compile(r"[A-Za-z0-9._-]+")


def examine(
    framework: "Dict[str, Any]",
    frameworks: "List[Dict[str, Any]]",
    installed: "List[distributions.Distribution]",
) -> "Optional[List[Dict[str, Any]]]":
    """Return the distributions that require a framework: name, and lines or error.

    None where no other framework requires it, so that nothing else was asked.
    """
    wanted = _name_of(framework)
    others = [other for other in frameworks if other is not framework and other.get("distribution")]
    if wanted is None or not any(_naming(other["distribution"]["requires"], wanted) for other in others):
        return None
    first: Dict[str, distributions.Distribution] = {}
    for distribution in installed:
        first.setdefault(distribution["name"], distribution)
    asked = (_asking(distribution, wanted) for name, distribution in first.items() if name != wanted)
    return [found for found in asked if found is not None]


def _name_of(framework: "Dict[str, Any]") -> "Optional[str]":
    distribution = framework.get("distribution")
    return distribution["name"] if distribution else None


def _asking(distribution: "distributions.Distribution", wanted: str) -> "Optional[Dict[str, Any]]":
    """Return the lines in which a distribution requires the wanted one, None where it does not."""
    lines, error = distributions.requirements_of(distribution)
    if error is not None:
        return {"name": distribution["name"], "error": error}
    naming = _naming(lines + _in_requires_txt(distribution), wanted)
    return {"name": distribution["name"], "lines": naming} if naming else None


def _in_requires_txt(distribution: "distributions.Distribution") -> "List[str]":
    """Return what an egg-info requires whatever extra is asked for: its lines before the first section."""
    text = files.read_text(os.path.join(distribution["path"], "requires.txt")).get("text", "")
    return [line.strip() for line in text.partition("\n[")[0].splitlines() if not line.startswith("[")]


def _naming(lines: "List[str]", wanted: str) -> "List[str]":
    found = ((line, _NAME.match(line)) for line in lines)
    return [line for line, name in found if name and distributions.normalize(name.group(0)) == wanted]
