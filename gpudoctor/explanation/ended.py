"""Packages whose name has ended, as a text asks for them: all that is left under it raises an error."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from gpudoctor import versions
from gpudoctor.explanation.answers import Answered
from gpudoctor.lazily import Pattern
from gpudoctor.model import Tables, rows_of

NAMED, ANY = "a release after its end", "any release"
# What may stand between a name and a version: 1.15, ==1.15, (1.15), -1.15, = "^1.15", and pip's JSON
_ASKED = Pattern(
    r"(?P<extras>\[[\w,-]{0,40}\])?['\"`*]{0,2}\s{0,2}(?P<bound>, ?\"version\": ?|"
    r"=== ?|==? ?|>=? ?|<=? ?|~= ?|!= ?|-|\()?"
    r"['\"]{0,2}(?P<caret>[\^~])?v?(?P<version>[0-9]{1,3}(?:\.[0-9]{1,4}){1,3})?")
_WHOLE = Pattern(r"[\w/]")  # before a name, it is part of another or of a path
_CONDA = Pattern(r"\bconda (?:install|create)\b|\b(?:micro)?mamba\b|conda-forge|\bpkgs/")
_FORM = ("framework:", "framework version:")
_LONGEST, _MOST = 1000, 6


def asked_for(lines: Sequence[str], tables: Tables) -> Iterator[Answered]:
    """Yield a line for each ended package that is named in a release after its end, or in none.

    conda's packages of these names are others, and have not ended.
    """
    ends = {str(row["distribution"]): str(row["version"])
            for row in rows_of(tables, "placeholder_distributions")}
    marks = {written: name for name in ends for written in (name, name.replace("-", "_"))}
    found: set[tuple[str, str]] = set()
    for number, line in enumerate(lines, start=1):
        folded = line[:_LONGEST].lower()
        if folded.lstrip().startswith(_FORM) or not any(written in folded for written in marks):
            continue
        for written, name in marks.items():
            for after in () if _CONDA.search(folded) else _after(folded, written):
                kind = _kind(after, ends[name])
                if kind is not None and (name, kind) not in found and len(found) < _MOST:
                    found.add((name, kind))
                    yield Answered(text=f"{name} is asked for in {kind}", line=number)


def _after(line: str, name: str) -> Iterator[str]:
    """Yield what follows each mention of a name that is no part of another, or of a path."""
    parts = line.split(name)
    for before, after in pairwise(parts):
        if not _WHOLE.match(before[-1:]) or before.endswith("project/"):
            yield after


def _kind(after: str, end: str) -> str | None:
    """Return what the words after a name ask for, None for a release that exists."""
    asked = _ASKED.match(after)
    if asked is None or after[:1].isalnum() or (after[:1] == "_" and not asked["version"]):
        return None
    version, bound = asked["version"], (asked["bound"] or "").strip()
    if version is None:
        return ANY
    if bound in (">=", ">", "!=") or asked["caret"]:
        return ANY
    if bound.startswith("<"):
        return None
    return NAMED if versions.parse(version) >= versions.parse(end) else None
