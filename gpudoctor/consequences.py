"""Fold mere consequences under their causes. Pure.

A finding is the consequence of another one when the overlay that cures that other clears it as well.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from gpudoctor.assume import seen_by_running
from gpudoctor.model import Certainty, Finding, Severity, Undecided

Key: TypeAlias = tuple[str, str]  # rule and subject: what one look at a machine says at most once


def key_of(said: Finding | Undecided) -> Key:
    """Return what tells it from all others of a machine."""
    return said.rule, said.subject


def rank_of(finding: Finding) -> tuple[int, bool, str, str]:
    """Return what findings are sorted by, the worst and the certain ones first."""
    return (finding.severity.rank, finding.certainty is not Certainty.CERTAIN, finding.rule, finding.subject)


def fold(ranked: Sequence[Finding], clears: Mapping[Key, frozenset[Key]],
         place_of: Callable[[Finding], object] = lambda _: None) -> tuple[Finding, ...]:
    """Return the causes in rank order, under each the findings that its first fix clears as well.

    `clears` has of each finding what that fix clears. What one rule says of two places (`place_of`) is to be
    put right in both, so neither follows from the other.
    """
    parents = {key_of(f): next((key_of(c) for c in ranked if _follows(f, c, clears)
                                and (f.rule != c.rule or place_of(f) == place_of(c))), None) for f in ranked}
    under: dict[Key, list[Finding]] = {}
    for finding in ranked:
        root = _root(key_of(finding), parents)
        if root != key_of(finding):
            under.setdefault(root, []).append(replace(finding, fixes=()))
    return tuple(replace(finding, consequences=tuple(under.get(key_of(finding), ())))
                 for finding in ranked if _root(key_of(finding), parents) == key_of(finding))


def _root(key: Key, parents: Mapping[Key, Key | None]) -> Key:
    """Follow causes upwards; findings that cure one another in a ring all stay where they are."""
    seen = [key]
    while (parent := parents[seen[-1]]) is not None:
        if parent in seen:
            return key
        seen.append(parent)
    return seen[-1]


def _follows(other: Finding, cause: Finding, clears: Mapping[Key, frozenset[Key]]) -> bool:
    """Say whether `other` is a consequence: never a worse one, and of two that cure each other the later.

    A note stands alone: it may say that what is held for the cause is not true.
    """
    if key_of(other) == key_of(cause) or key_of(other) not in clears[key_of(cause)]:
        return False
    if other.severity is Severity.INFO or other.severity.rank < cause.severity.rank:
        return False
    if key_of(cause) not in clears[key_of(other)]:
        # another image cures everything
        return not (clears[key_of(other)] and cause.fixes[0].kind == "image")
    if _contains(cause, other) != _contains(other, cause):
        return _contains(cause, other)
    return rank_of(cause) < rank_of(other)


def _contains(one: Finding, other: Finding) -> bool:
    """Say whether the first cure of one changes the same facts as that of the other, and at least as far.

    To install all of NVIDIA's packages anew contains installing one of them. What a cure foretells of a run
    does not count.
    """
    if not one.fixes or not other.fixes:
        return False
    wide, narrow = (
        {name: value for name, value in finding.fixes[0].effect.items() if not seen_by_running(name)}
        for finding in (one, other))
    return bool(narrow) and wide.keys() == narrow.keys() and all(
        _covers(wide[name], value) for name, value in narrow.items())


def _covers(wide: object, narrow: object) -> bool:
    if isinstance(wide, tuple) and isinstance(narrow, tuple):
        return set(map(str, narrow)) <= set(map(str, wide))
    return wide == narrow
