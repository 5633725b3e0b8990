"""Which groups and extras of a project a command installs, and whether its lock counts.

By what `uv sync`, `poetry install`, `pdm install` and `pipenv install` say of their options (`--help`), and
https://docs.astral.sh/uv/concepts/projects/sync
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from gpudoctor.frozen import frozen
from gpudoctor.manifests.spans import Word

MAIN = "main"  # what a project needs in any case, as poetry calls it
DEV = "dev"
_ADDED = frozenset("--extra --group --with --extras -E -G --categories".split())
_LEFT_OUT = frozenset("--no-group --without --no-extra".split())
_ONLY = frozenset({"--only", "--only-group"})
_OF_DEV = {"--dev": _ADDED, "-d": _ADDED, "--no-dev": _LEFT_OUT, "--only-dev": _ONLY}
_EVERYTHING = frozenset({"--all-extras", "--all-groups"})
_NO_DEFAULTS = frozenset("--no-default-groups --prod --production".split())
# the lock is installed as it is, whatever the project's file says by now; and: it is not heeded at all
_FROZEN = frozenset({"--frozen", "--ignore-pipfile"})
_SYNCED = frozenset({("pdm", "sync"), ("pipenv", "sync")})
_LOCKED = _FROZEN | {"--locked"}  # without a lock the command ends
_UNLOCKED = frozenset("--skip-lock --upgrade -U".split())


@frozen
class Groups:
    """What is installed beside what a project needs: what is named, and the defaults of the program.

    `is_frozen`: the lock counts even where the project's file asks for something else. `heeds_lock`: it
    counts at all. `needs_lock`: the command does not make one where there is none.
    """

    named: frozenset[str] = frozenset()
    left_out: frozenset[str] = frozenset()
    only: frozenset[str] = frozenset()
    everything: bool = False
    defaults: bool = False
    is_frozen: bool = False
    heeds_lock: bool = False
    needs_lock: bool = False

    @property
    def main(self) -> bool:
        """Return whether what the project needs in any case is installed."""
        return MAIN not in self.left_out and (not self.only or MAIN in self.only)

    def chosen(self, names: Collection[str], defaults: Collection[str]) -> list[str]:
        """Return which of these groups are installed, where these are the defaults."""
        if self.only:
            return [name for name in names if name in self.only]
        return [name for name in names if name not in self.left_out and (
            self.everything or name in self.named or (self.defaults and name in defaults))]


def groups_of(tool: str, verb: str, words: Sequence[Word]) -> Groups:
    """Return what the options of a command choose."""
    found: dict[frozenset[str], set[str]] = {_ADDED: set(), _LEFT_OUT: set(), _ONLY: set()}
    texts = [word.text for word in words]
    for option, value in _valued(texts):
        for kind, names in found.items():
            if option in kind:
                names.update(value.replace(",", " ").split())
    if tool == "pdm" and "--no-default" in texts:
        found[_LEFT_OUT].add(MAIN)
    for text in texts:
        if text in _OF_DEV:
            found[_OF_DEV[text]].add(DEV)
    return Groups(
        named=frozenset(found[_ADDED]), left_out=frozenset(found[_LEFT_OUT]), only=frozenset(found[_ONLY]),
        everything=not _EVERYTHING.isdisjoint(texts) or ":all" in found[_ADDED],
        defaults=_NO_DEFAULTS.isdisjoint(texts), heeds_lock=_UNLOCKED.isdisjoint(texts),
        is_frozen=not _FROZEN.isdisjoint(texts) or (tool, verb) in _SYNCED,
        needs_lock=not _LOCKED.isdisjoint(texts) or (tool, verb) in _SYNCED)


def _valued(texts: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield each option with what it takes: the next word, what stands behind `=`, or behind its letter."""
    for at, text in enumerate(texts):
        option, equals, value = text.partition("=")
        if equals:
            yield option, value
        elif text[:2] in _ADDED and len(text) > 2:
            yield text[:2], text[2:]
        elif at + 1 < len(texts):
            yield text, texts[at + 1]
