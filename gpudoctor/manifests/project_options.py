"""Which words of a command of uv, poetry or pdm are options, which project they name, what `uv run` runs.

By what the programs say of their options (`uv help run`, `uv help tool run`, `uv help export`,
`poetry --help`, `pdm --help`).
"""

from __future__ import annotations

import posixpath
from collections.abc import Collection, Sequence
from dataclasses import replace

from gpudoctor.manifests.spans import Word

# which folder a tool works in, or has its project in
_FOLDERS = {"uv": ("--directory", "--project"), "poetry": ("--directory", "-C", "--project", "-P"),
            "pdm": ("--project", "-p")}
# with what they take, before the tool's own verb or before the command that uv runs
_VALUED = frozenset("--color --config-file --allow-insecure-host --env-file --with-editable -w --package "
                    "--with-requirements --cache-dir".split())
_NO_PROJECT = frozenset({"--no-sync", "--no-project", "--script", "-s", "--gui-script"})
_NOT_WHOLE = frozenset({"--script", "--prune", "--no-emit-package", "--package"})


def valued(words: Sequence[Word], *options: str) -> tuple[Word, ...]:
    """Return what options are given, as the next word or behind `=`."""
    found = []
    for at, word in enumerate(words):
        option, equals, value = word.text.partition("=")
        if option in options and (equals or at + 1 < len(words)):
            found.append(replace(word, text=value) if equals else words[at + 1])
    return tuple(found)


def values(words: Sequence[Word], *options: str) -> list[str]:
    """Return the texts of what options are given."""
    return [word.text for word in valued(words, *options)]


def folder_of(tool: str, words: Sequence[Word]) -> str:
    """Return the folder of the project that a command names, "" where it is the one that it is in."""
    named = (value for option in _FOLDERS.get(tool, ()) for value in values(words, option))
    return posixpath.join("", *named)


def behind_options(tool: str, words: Sequence[Word], others: Collection[str] = ()) -> int:
    """Return how many words are options before the first that is none, with what they take."""
    at = 0
    while at < len(words) and words[at].text.startswith("-") and words[at].text != "--":
        valued = words[at].text in _VALUED or words[at].text in others
        at += 2 if valued or words[at].text in _FOLDERS.get(tool, ()) else 1
    return min(at, len(words))


def is_synced(own: Sequence[Word]) -> bool:
    """Return whether `uv run` with these options brings the project's environment up to date before."""
    return _NO_PROJECT.isdisjoint(word.text for word in own)


def written(words: Sequence[Word], target: str | None) -> str:
    """Return the file that is exported to, "-" for standard output, "" where packages are left out."""
    if any(word.text.partition("=")[0] in _NOT_WHOLE for word in words):
        return ""
    named = values(words, "-o", "--output-file", "--output")
    return next(iter((*named, *([] if target is None else [target]))), "-")
