"""What several children wait for before they do what they were started for.

Starting an interpreter takes longer than most of what it is asked. A child behind a gate starts and imports
while another is still at work; whether it goes on is decided when that one has ended.
"""

from __future__ import annotations

import contextlib
import os
import time

from gpudoctor.child.streams import pipe

_ENOUGH = b"." * 64  # a byte for each child that waits


class Gate:
    """A pipe of which each waiting child reads one byte: it goes on when it gets one, and leaves at the end.

    `opened_at` is the moment on the monotonic clock; None until then, and for ever if it is only closed.
    """

    def __init__(self) -> None:
        self._ends = contextlib.ExitStack()
        self._reading, self._writing = pipe(self._ends)
        self.opened_at: float | None = None

    def fileno(self) -> int:
        """Return the number that a child inherits."""
        return self._reading.fileno()

    def let_through(self) -> None:
        """Let everyone through, unless it was closed."""
        if self._writing.closed:
            return
        os.write(self._writing.fileno(), _ENOUGH)
        self.opened_at = time.monotonic()
        self._writing.close()

    def close(self) -> None:
        """Send away who still waits."""
        self._ends.close()
