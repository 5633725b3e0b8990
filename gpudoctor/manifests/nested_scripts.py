"""The script that a command gives to a shell as one word, and where its characters stand in a file."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from itertools import pairwise

from gpudoctor.manifests.shellwords import Command
from gpudoctor.manifests.spans import Source, Word
from gpudoctor.manifests.system_packages import SHELLS

_BLOCK = re.compile(r"[|>][-+0-9]*[ \t]*(?:#[^\n]*)?\r?\n\s*")
_PASSED = frozenset("\"'\\ \t\r\n")


def script_of(command: Command) -> Word | None:
    """Return the script that a shell is given as one word; None for any other command."""
    words = command.words
    if posixpath.basename(words[0].text) not in (*SHELLS, "su", "runuser"):
        return None
    script = next((after for one, after in pairwise(words) if re.match(r"-[a-z]*c\Z", one.text)), None)
    return script if script is not None and script.known else None


def places_in(script: Word, source: Source) -> Sequence[int] | None:
    """Return where each character of a script stands, None where it is not written as the shell gets it."""
    ends = ((script.start, script.end), (script.start + 1, script.end - 1))  # as it stands, or in quotes
    return next((range(begin, end) for begin, end in ends if source.text[begin:end] == script.text), None)


def places_about(script: Word, source: Source) -> Sequence[int] | None:
    """Return the same of a script that is written with escapes or over several lines, as YAML and JSON allow.

    None where more was done to it: a variable has a value there.
    """
    written, found = source.text[script.start:script.end], list[int]()
    block = _BLOCK.match(written)
    at = block.end() if block is not None else 0
    for character in script.text:
        if character in " \n":
            found.append(script.start + at)
            if written[at:at + 2] == "\\n":
                at += 2
            elif written[at:at + 1] in ("\r", "\n"):  # it stands for itself or a blank, with what indents
                while written[at:at + 1].isspace():
                    at += 1
            elif written[at:at + 1].isspace():
                at += 1
            continue
        while written[at:at + 1] != character:
            if written[at:at + 1] not in _PASSED:
                return None
            at += 1
        found.append(script.start + at)
        at += 1
    return [min(place, script.end) for place in found]
