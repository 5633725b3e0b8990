"""What is typed to install a stack: with pip, with uv, and the variables that it needs."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence

from gpudoctor.candidates.ground import NEW_ENVIRONMENT, Place, quoted
from gpudoctor.derive.stacks import Stack
from gpudoctor.exported import powershell_text

_SEARCHED = "LD_LIBRARY_PATH"
_PLAIN = re.compile(r"[A-Za-z0-9_.:/\\=+-]+\Z")  # words that PowerShell takes as they are


def install(stacks: Sequence[Stack], pins: Iterable[str], place: Place) -> tuple[str, str]:
    """Return the line with pip and the one with uv; each makes the environment where it is not there.

    An environment that uv made has no pip: Python brings one along. On Windows they are PowerShell's, which
    has no && before its version 7.
    """
    is_windows = place.is_windows
    quote: Callable[[str], str] = _powershell if is_windows else shlex.quote
    call, then = (_called, "; ") if is_windows else (quote, " && ")
    rounds = [" ".join(map(quote, words)) for words in _rounds(stacks, pins)]
    with_pip = [f"{call(place.executable)} -m pip install {words}" for words in rounds]
    with_uv = [f"uv pip install --python {quote(place.executable)} {words}" for words in rounds]
    if not place.has_pip:
        with_pip.insert(0, f"{call(place.executable)} -m ensurepip")
    if place.maker is not None:
        is_launcher = is_windows and place.maker == "py"  # it has no Python's version in its name
        chosen = f" -{place.python}" if is_launcher else ""
        with_pip.insert(0, f"{call(place.maker)}{chosen} -m venv {NEW_ENVIRONMENT}")
        python = place.python if is_launcher else quote(place.maker)
        with_uv.insert(0, f"uv venv --python {python} {NEW_ENVIRONMENT}")
    return then.join(with_pip), then.join(with_uv)


def _powershell(word: str) -> str:
    return word if _PLAIN.match(word) else powershell_text(word)


def _called(program: str) -> str:
    """Return how PowerShell calls a program: what is in quotes is a text to it."""
    return program if _PLAIN.match(program) else f"& {_powershell(program)}"


def _rounds(stacks: Sequence[Stack], pins: Iterable[str]) -> list[list[str]]:
    """Return the words of each call: an index that is named holds for all that is asked for with it."""
    default = [stack.requirement for stack in stacks if stack.index is None]
    words = [*default, *pins]
    rounds = [words] if default else []
    for stack in stacks:
        if stack.index is not None:
            own = [stack.requirement, "--index-url", stack.index]
            rounds.append(own if default else [*own, *pins])
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
