"""What the interpreter and native code write of themselves when they crash or hang, cut down to what counts.

Of native code that is the line which says what failed; the addresses after it say nothing to anybody.

Of the interpreter all threads are written, each with its innermost frame first: what counts are the headline
and the first frames of the thread that crashed, or of the last one, which is the main thread. Frames of our
own payloads say nothing of the framework.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

# the severity of absl's and glog's log lines
_FATAL = re.compile(r"F[0-9]{4,8} [0-9][0-9]:[0-9][0-9]:[0-9][0-9]")
_HEADLINES = ("Fatal Python error", "Timeout (", "Windows fatal exception")
_THREAD, _CRASHED, _MOST_RECENT = "Thread 0x", "Current thread 0x", "(most recent call first)"
_OUR_OWN = ("/payloads/stage", "/payloads/__main__.py", "/importlib/", "<frozen importlib")
_FRAMES = 4


def before_addresses(lines: Sequence[str]) -> list[str]:
    """Return the lines up to the last fatal one, behind which its stack stands."""
    fatal = [number for number, line in enumerate(lines, 1) if _FATAL.match(line)]
    return list(lines[:fatal[-1]] if fatal else lines)


def gist(lines: Sequence[str]) -> list[str]:
    """Return the headline and the innermost frames; what is no such text is returned as it is."""
    headlines = [line.strip() for line in lines if line.startswith(_HEADLINES)]
    if not headlines:
        return list(lines)
    frames = [line.strip() for line in _section(lines) if not any(own in line for own in _OUR_OWN)]
    return [headlines[-1], *frames[:_FRAMES]]


def _section(lines: Sequence[str]) -> list[str]:
    """Return the frames of the thread that crashed, else of the last thread."""
    chosen: list[str] = []
    crashed = False
    listening = False
    for line in lines:
        if _MOST_RECENT in line:
            now = line.startswith(_CRASHED)
            listening = now or (line.startswith(_THREAD) and not crashed)
            crashed = crashed or now
            if listening:
                chosen = []
        elif listening and line.lstrip().startswith("File "):
            chosen.append(line)
        elif not line.startswith(" "):
            listening = False
    return chosen
