"""The line by which sh, dash, bash and zsh set a variable, and a text as PowerShell takes it."""

from __future__ import annotations

import re
import shlex

_POWERSHELL_QUOTES = re.compile("(['\u2018\u2019\u201a\u201b])")  # to PowerShell all of these are the same


def exported(name: str, value: str) -> str:
    """Return the line; the value stays one word and itself, whatever it holds.

    zsh takes `=name` at the beginning, and behind a colon, for where a program lies: that, too, is quoted.
    """
    quoted = shlex.quote(value)
    return f"export {name}='{value}'" if quoted == value and "=" in value else f"export {name}={quoted}"


def powershell_text(text: str) -> str:
    """Return a text for PowerShell, in whose single quotes a quote is doubled and nothing else is special."""
    return "'" + _POWERSHELL_QUOTES.sub(r"\1\1", text) + "'"


def as_shown(name: str, value: str) -> str:
    """Return the line as a person may copy it: a comment, where it holds what no line can show."""
    line = exported(name, value)
    if line.isprintable():
        return line
    return f"# {name} gets a value with a character that no line can show: `gpudoctor env` prints it as it is"
