"""Where the time of a command goes: phases of the doctor's own process, one after the other."""

from __future__ import annotations

import os
import time

from gpudoctor.child.strays import start_ticks

START_UP = "start-up"


class Stopwatch:
    """Begins with the process itself; a phase lasts until the next one begins, and may come again."""

    def __init__(self) -> None:
        self._phase = START_UP
        self._begun = _process_start()
        self._seconds: dict[str, float] = {}

    def begin(self, phase: str) -> None:
        """End the phase that is on and begin another."""
        now = time.monotonic()
        self._seconds[self._phase] = self._seconds.get(self._phase, 0.0) + now - self._begun
        self._phase, self._begun = phase, now

    def lines(self) -> str:
        """Return the phases so far, one a line, and their sum."""
        self.begin(self._phase)
        rows = [*self._seconds.items(), ("in all", sum(self._seconds.values()))]
        return "".join(f"  {seconds * 1000:7.0f} ms  {phase}\n" for phase, seconds in rows)


def _process_start() -> float:
    """Return when this process began, to a hundredth of a second, on the clock of `time.monotonic`."""
    now, ticks = time.monotonic(), start_ticks(os.getpid())
    if ticks < 0 or not hasattr(time, "CLOCK_BOOTTIME"):  # then the interpreter's start is left out
        return now
    ago = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    return now - max(0.0, ago)
