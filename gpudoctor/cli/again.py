"""The command to type next: of the same machine, so with the options that say which one that is."""

from __future__ import annotations

import shlex
from dataclasses import replace

from gpudoctor.cli.asked import Asked

_REPEATED = {"--python": "python", "--kernel": "kernel", "--pid": "pid", "--from": "recorded",
             "--depth": "depth", "--fail-on": "fail_on", "--rules": "rules"}
_OF_HOST = {"--python", "--from", "--rules"}  # of them, what all commands about a host have
_PLACES = {"--kernel", "--pid", "--image", "--container"}


def command(name: str, asked: Asked) -> str:
    """Return the line for a shell: the command of that name with what was given of these options."""
    words = ["gpudoctor", name]
    for option, field in _REPEATED.items():
        if option in asked.given:
            words += [option, str(getattr(asked, field))]
    words += [word for option, values in (("--require", asked.require), ("--assume", asked.assume))
              for value in values for word in (option, value)]
    return shlex.join(words)


def recommending(asked: Asked) -> str:
    """Return the line that asks what to install there, "" for a place that `recommend` cannot look at."""
    if not asked.given.isdisjoint(_PLACES):
        return ""
    return command("recommend", replace(asked, given=asked.given & _OF_HOST, require=()))


def of_host(name: str, interpreter: str | None, recorded: str | None, assume: tuple[str, ...],
            rules: str | None) -> str:
    """Return the line for a shell: the command of that name, asked about the same host."""
    given = {"--python": interpreter, "--from": recorded, "--rules": rules}
    return command(name, Asked(
        given=frozenset(option for option, value in given.items() if value is not None), python=interpreter,
        recorded=recorded, assume=assume, rules=rules))
