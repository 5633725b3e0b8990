"""The line by which sh, dash, bash and zsh set a variable."""

from __future__ import annotations

import shlex


def exported(name: str, value: str) -> str:
    """Return the line; the value stays one word and itself, whatever it holds.

    zsh takes `=name` at the beginning, and behind a colon, for where a program lies: that, too, is quoted.
    """
    quoted = shlex.quote(value)
    return f"export {name}='{value}'" if quoted == value and "=" in value else f"export {name}={quoted}"


def as_shown(name: str, value: str) -> str:
    """Return the line as a person may copy it: a comment, where it holds what no line can show."""
    line = exported(name, value)
    if line.isprintable():
        return line
    return f"# {name} gets a value with a character that no line can show: `gpudoctor env` prints it as it is"
