"""A time until which something may go on."""

from __future__ import annotations

import time


class Deadline:
    """So many seconds from now."""

    def __init__(self, seconds: float) -> None:
        self._until = time.monotonic() + seconds

    @property
    def is_past(self) -> bool:
        """Say whether they are over."""
        return time.monotonic() > self._until

    def wait(self, seconds: float) -> None:
        """Wait a while, at most until then."""
        time.sleep(max(0.0, min(seconds, self._until - time.monotonic())))
