"""Tell a person who watches how far a long reading is, now and then, on one line of standard error."""

from __future__ import annotations

import sys
import time

from gpudoctor.render.plain import printable

_SECONDS_BETWEEN_SIGNS = 1.0


class Progress:
    """One line that is written over and taken away at the end."""

    def __init__(self) -> None:
        self._last = time.monotonic()
        self.is_shown = False

    def of_bytes(self, name: str, count: int) -> None:
        """Hear that so many bytes of an input were read."""
        if self._is_due():
            self._show(f"{count >> 20} MiB of {printable(name, 60)} read")

    def of_machines(self, count: int) -> None:
        """Hear that so many machines were read."""
        if self._is_due():
            self._show(f"{count} machines read")

    def end(self) -> None:
        """Take the line away."""
        if self.is_shown:
            sys.stderr.write("\r" + " " * 100 + "\r")
            sys.stderr.flush()

    def _is_due(self) -> bool:
        now = time.monotonic()
        if now - self._last < _SECONDS_BETWEEN_SIGNS:
            return False
        self._last = now
        return True

    def _show(self, said: str) -> None:
        self.is_shown = True
        sys.stderr.write(f"\rgpudoctor: {said}")
        sys.stderr.flush()
