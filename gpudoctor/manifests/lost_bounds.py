"""Bounds of requirements that a shell takes for redirections, whatever installer is given the rest."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from gpudoctor.manifests.shellwords import Command, Redirection
from gpudoctor.manifests.spans import Word

_SPEC = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(?:\[[A-Za-z0-9,._ -]*\])?(?:[=!~<>]=?[0-9A-Za-z.*+-]*,?)*\Z")
_BOUND = re.compile(r"=?[0-9][0-9A-Za-z.*+!-]*(?:,\S*)?\Z")
_VERSION = re.compile(r"[0-9][0-9A-Za-z.*+!-]*(?:,\S*)?\Z")
_APART = "="  # the name of a file where a blank stands behind the operator: numpy >= 1.26


def lost_of(command: Command, requirements: Sequence[Word]) -> Iterator[tuple[Word, str]]:
    """Yield each requirement of a command whose bound became a file's name, with what was meant."""
    asked = {word.start for word in requirements}
    for number in range(len(command.redirections)):
        found = _lost(command, number)
        if found is not None and found[0].start in asked:
            yield found


def _lost(command: Command, number: int) -> tuple[Word, str] | None:
    redirections = command.redirections
    first = redirections[number]
    if not first.after or not (_is_bound(first) or _version_apart(first, command)):
        return None
    if number and redirections[number - 1].after == first.after:
        return None  # it belongs to the bound before
    if not (first.glued or (first.target is not None and first.target.text.startswith("="))):
        return None  # into a file, unless its name is =2.0
    word = command.words[first.after - 1]
    if not (word.known and _SPEC.match(word.text)):
        return None
    meant, end, plain = [word.text], first.start, word.plain
    if (version := _version_apart(first, command)) is not None:
        return (Word(text=word.text, start=word.start, end=version.end, plain=plain and version.plain),
                f"{word.text}{first.operator}={version.text}")
    for one in islice(redirections, number, None):
        if one.start != end or one.target is None or not _is_bound(one):
            break
        meant += [one.operator, one.target.text]
        end, plain = one.target.end, plain and one.target.plain
    return Word(text=word.text, start=word.start, end=end, plain=plain), "".join(meant)


def _is_bound(one: Redirection) -> bool:
    """Return whether a redirection looks like a bound on a version: nobody names a file so."""
    target = one.target
    return (one.operator in ("<", ">") and one.target_glued and target is not None and target.known
            and _BOUND.match(target.text) is not None)


def _version_apart(one: Redirection, command: Command) -> Word | None:
    """Return the version behind `>=` and a blank, which became a word of its own."""
    target = one.target
    if one.operator not in ("<", ">") or not one.target_glued or target is None or target.text != _APART:
        return None
    behind = command.words[one.after:one.after + 1]
    return behind[0] if behind and behind[0].known and _VERSION.match(behind[0].text) else None
