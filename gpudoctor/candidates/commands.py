"""What is typed to install a stack: with pip, with uv, and the variables that it needs."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence

from gpudoctor.candidates.ground import NEW_ENVIRONMENT, Place, quoted
from gpudoctor.derive.stacks import Stack

_SEARCHED = "LD_LIBRARY_PATH"


def install(stacks: Sequence[Stack], pins: Iterable[str], place: Place) -> tuple[str, str]:
    """Return the line with pip and the one with uv; each makes the environment where it is not there.

    An environment that uv made has no pip: Python brings one along.
    """
    rounds = _rounds(stacks, pins)
    python = shlex.quote(place.executable)
    pip, uv = f"{python} -m pip install", f"uv pip install --python {python}"
    with_pip = [f"{pip} {words}" for words in rounds]
    with_uv = [f"{uv} {words}" for words in rounds]
    if not place.has_pip:
        with_pip.insert(0, f"{python} -m ensurepip")
    if place.maker is not None:
        maker = shlex.quote(place.maker)
        with_pip.insert(0, f"{maker} -m venv {NEW_ENVIRONMENT}")
        with_uv.insert(0, f"uv venv --python {maker} {NEW_ENVIRONMENT}")
    return " && ".join(with_pip), " && ".join(with_uv)


def _rounds(stacks: Sequence[Stack], pins: Iterable[str]) -> list[str]:
    """Return the words of each call: an index that is named holds for all that is asked for with it."""
    default = [stack.requirement for stack in stacks if stack.index is None]
    words = [*default, *pins]
    rounds = [shlex.join(words)] if default else []
    for stack in stacks:
        if stack.index is not None:
            own = [stack.requirement, "--index-url", stack.index]
            rounds.append(shlex.join(own if default else [*own, *pins]))
    return rounds


def exports(environment: Mapping[str, str], here: Sequence[str]) -> tuple[str, ...]:
    """Return the lines that set variables; one that is to be empty is taken away.

    What LD_LIBRARY_PATH has `here` stays in its place by its name, as a shell may have another value; unless
    something is taken out of it.
    """
    return tuple(_export(name, value, here) if value else f"unset {name}"
                 for name, value in environment.items())


def _export(name: str, value: str, here: Sequence[str]) -> str:
    folders, before, behind = value.split(":"), "", ""
    if name == _SEARCHED and here and folders[:len(here)] == [*here] != folders:
        before, folders = f"${{{name}:+${name}:}}", folders[len(here):]
    elif name == _SEARCHED and (not here or folders[-len(here):] == [*here] != folders):
        folders, behind = folders[:len(folders) - len(here)], f"${{{name}:+:${name}}}"
    return f"export {name}={before}{':'.join(map(quoted, folders))}{behind}"
