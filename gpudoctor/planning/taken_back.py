"""What takes back commands of the system's package manager, by the table of such commands. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from gpudoctor.frozen import frozen
from gpudoctor.model import Table, Value

_NEXT = " && "
_SPECIAL = frozenset("$`|;&<>()")


@frozen
class TakenBack:
    """The commands that take others back, the last one first, and what is to be said of it.

    `repositories` are commands of which nobody knows whether they are wanted: what they remove may have been
    there before. `history` says where the package manager names what was there before.
    """

    commands: tuple[str, ...] = ()
    repositories: tuple[str, ...] = ()
    history: str = ""


def take_back(commands: Sequence[str], table: Table) -> TakenBack | None:
    """Return what takes these commands back; None where the table does not know one of them."""
    found: list[str] = []
    repositories: list[str] = []
    history = ""
    for command in reversed([part for line in commands for part in line.split(_NEXT)]):
        row = _row(command, table)
        undone = None if row is None else _undone(command, row)
        if row is None or undone is None:
            return None
        history = str(row.get("history", history))
        if undone:
            (repositories if row["repository"] else found).append(undone)
    return TakenBack(commands=tuple(found), repositories=tuple(repositories), history=history)


def _row(command: str, table: Table) -> dict[str, Value] | None:
    """Return the row of the longest beginning that the command has."""
    fitting = [row for row in table.rows if _begins(command, str(row["command"]))]
    return dict(max(fitting, key=lambda row: len(str(row["command"])))) if fitting else None


def _begins(command: str, beginning: str) -> bool:
    """Say whether a command begins so; a beginning ends where a word does, or within an address."""
    return command.startswith(beginning) and (
        beginning.endswith("/") or command[len(beginning):len(beginning) + 1] in ("", " "))


def _undone(command: str, row: dict[str, Value]) -> str | None:
    """Return the command that takes one back, "" where nothing is left of it, None where nobody can tell."""
    template = str(row.get("undone_by", ""))
    if "PACKAGES" not in template and "LAST" not in template:
        return template
    rest = command[len(str(row["command"])):]
    if _SPECIAL & set(rest):
        return None
    words = [word for word in shlex.split(rest) if not word.startswith("-")]
    if not words:
        return None
    return template.replace("PACKAGES", shlex.join(words)).replace(
        "LAST", shlex.quote(words[-1].rpartition("/")[2]))
