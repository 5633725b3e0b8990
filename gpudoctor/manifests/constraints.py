"""Files of constraints: they install nothing, and bound what lists beside them install.

https://pip.pypa.io/en/stable/user_guide/#constraints-files
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from gpudoctor.manifests.requirements import bounded
from gpudoctor.manifests.statements import Environment

_LISTS = (".txt", ".in")
_NAME = re.compile(r"(?:.*[._-])?constraints(?:[._-].*)?\.(?:txt|in)\Z", re.IGNORECASE)
_FOLDER = re.compile(r"(?:\A|/)constraints/[^/]+\Z")
# what Airflow's and others say of themselves in the comment that such a file begins with
_SAYS_SO = re.compile(
    r"\ufeff?(?:[ \t]*(?:#[^\n]*)?\r?\n)*?[ \t]*#[^\n]*\bconstraints? file\b", re.IGNORECASE)


def is_constraints(file: str, text: str) -> bool:
    """Say whether a list is one of constraints: by its name, its folder, or the comment it begins with."""
    name = posixpath.basename(file)
    return name.endswith(_LISTS) and bool(_NAME.match(name) or _FOLDER.search(file) or _SAYS_SO.match(text))


def beside(found: Mapping[str, Sequence[Environment]]) -> dict[str, list[Environment]]:
    """Return what files describe, lists under the constraints that lie in their folder.

    Only where there is one such file, and for lists that name no constraints themselves: of several nobody
    knows which is meant.
    """
    own = {name: some[0] for name, some in found.items() if some and some[0].constrains}
    folders = [posixpath.dirname(name) for name in own]
    alone = {posixpath.dirname(name): one for name, one in own.items()
             if folders.count(posixpath.dirname(name)) == 1}
    return {name: [_under(alone.get(posixpath.dirname(name)), one) if name.endswith(_LISTS) else one
                   for one in some] for name, some in found.items()}


def _under(constraints: Environment | None, one: Environment) -> Environment:
    if constraints is None or one.constrains or any(asked.bounds or asked.along for asked in one.asked):
        return one
    return replace(one, asked=tuple(bounded(one.asked, constraints.asked)))
