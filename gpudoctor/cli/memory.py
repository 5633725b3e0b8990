"""What is left to say when memory runs out."""

from __future__ import annotations

import sys
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

NO_MEMORY = ("was given too little memory; raise its limit (ulimit -v, ulimit -d, the container's), "
             "or end what takes it")
_ENOUGH_BYTES = 16 << 20
_held_back: deque[UnraisableHookArgs] = deque(maxlen=8)  # each keeps its frames alive


def is_out_of_memory() -> bool:
    """Tell whether memory is short. The error does not: it may have become a syntax error in a sound file."""
    try:
        return not bytes(_ENOUGH_BYTES)
    except MemoryError:
        return True


def hold_back_what_is_ignored() -> None:
    """Keep what Python would say of errors it ignores: without memory that would come before our one line.

    The hook is a method written in C, since one written in Python wants memory for its own call.
    """
    sys.unraisablehook = _held_back.append


def say_what_was_ignored() -> None:
    """Say what was held back, except that tidying up wanted memory too."""
    sys.unraisablehook = sys.__unraisablehook__
    while _held_back:
        ignored = _held_back.popleft()
        if not issubclass(ignored.exc_type, MemoryError):
            sys.__unraisablehook__(ignored)
