"""The script that a command gives to a shell as one word, and where its characters stand in a file."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from itertools import pairwise

from gpudoctor.manifests.shellwords import Command
from gpudoctor.manifests.spans import Source, Word
from gpudoctor.manifests.system_packages import SHELLS


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
