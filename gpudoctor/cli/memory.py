"""What is left to say when memory runs out."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

NO_MEMORY = ("was given too little memory; raise its limit (ulimit -v, ulimit -d, the container's), "
             "or end what takes it")
_ENOUGH_BYTES = 16 << 20


def is_out_of_memory() -> bool:
    """Tell whether memory is short. The error does not: it may have become a syntax error in a sound file."""
    try:
        return not bytes(_ENOUGH_BYTES)
    except MemoryError:
        return True


def say_nothing_of_memory(unraisable: UnraisableHookArgs) -> None:
    """Leave out that tidying up wanted memory too: the one line that follows says it."""
    if unraisable.exc_type is not MemoryError:
        sys.__unraisablehook__(unraisable)
