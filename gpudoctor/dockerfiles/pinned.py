"""The packages of NVIDIA's that are named beside a framework, each by the one release that pip takes for it.

A file that is built again next year is to install what was judged, not what the index has by then.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import replace

from gpudoctor import versions
from gpudoctor.derive import planned
from gpudoctor.model import Candidate, RuleDatabase, rows_of

_MEASURED = "linux_x86_64"  # for which the tables list what is published
_TABLES = ("nvidia_libraries", "nvidia_code")
_NAMED = re.compile(r"nvidia-[a-z0-9-]+(?:[<>=!~].*)?\Z")


def pinned(one: Candidate, platform: str, database: RuleDatabase) -> Candidate:
    """Return the candidate with a release in place of each bound; where no table has one, it says so."""
    for word in dict.fromkeys(shlex.split(" ".join(one.commands))):
        if not _NAMED.match(word) or not _is_open(word):
            continue
        exact = _exact(word, database) if platform == _MEASURED else None
        if exact is None:
            note = (f"{word}: the bound stays, and pip takes the newest release within it; which exist for "
                    f"{platform} is in no table")
            one = replace(one, notes=(*one.notes, note))
        else:
            one = replace(
                one, commands=tuple(_in_place(command, word, exact) for command in one.commands),
                pins=tuple(exact if pin == word else pin for pin in one.pins),
                notes=tuple(note.replace(f"{word}:", f"{exact}:") for note in one.notes))
    return one


def _in_place(command: str, word: str, exact: str) -> str:
    whole = rf"(?<!\S){re.escape(shlex.quote(word))}(?!\S)"
    return re.sub(whole, exact, command)


def _is_open(word: str) -> bool:
    """Say whether pip may choose among releases for a requirement."""
    return not any(bound.operator in ("==", "===") for one in planned.parse((word,))
                   for bound in one.specifier)


def _exact(word: str, database: RuleDatabase) -> str | None:
    """Return the newest release that the tables have and a requirement admits."""
    requirement = next(iter(planned.parse((word,))), None)
    if requirement is None:
        return None
    listed = [str(row["version"]) for table in _TABLES for row in rows_of(database.tables, table)
              if row["distribution"] == requirement.name]
    admitted = [version for version in listed if requirement.specifier.contains(version)]
    return f"{requirement.name}=={max(admitted, key=versions.parse)}" if admitted else None
