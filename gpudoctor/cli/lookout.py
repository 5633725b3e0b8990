"""Know of a signal that came to us whether our whole process group got it: then a command in it has it, too.

Nothing tells a process whether a signal was for it alone or for its group: Ctrl-C and `timeout` send to the
group, `kill` and supervisors often to one process. So a process of ours sits in the group, keeps every signal
waiting, and answers which came to it. It ends with us, however we end.
"""

from __future__ import annotations

import os
import signal
import time

_DESCRIPTORS = 256  # more than a program has open that has just begun
_SECONDS_TO_ARRIVE = 0.05  # a signal reaches a group's members one after the other
_SECONDS_OF_ONE_SIGNAL = 1.0  # who sends to a group may send to its leader, too


class Lookout:
    """The process that looks out, until it is closed."""

    def __init__(self) -> None:
        asked, self._asking = os.pipe()
        self._answers, answering = os.pipe()
        before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        self._pid = os.fork()
        if not self._pid:
            try:
                _look_out(asked, answering)
            finally:
                os._exit(0)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        os.close(asked)
        os.close(answering)

    def close(self) -> None:
        """End it."""
        os.close(self._asking)
        os.close(self._answers)
        os.waitpid(self._pid, 0)

    def saw(self, number: int) -> bool:
        """Say whether a signal that just came to us came to our group; not if the lookout was killed."""
        try:
            os.write(self._asking, bytes([number]))
            return os.read(self._answers, 1) == b"\1"
        except OSError:
            return False


def _look_out(asked: int, answering: int) -> None:
    """Answer until nobody is left to ask; hold nothing else open."""
    os.dup2(asked, 0)
    os.dup2(answering, 1)
    os.closerange(2, _DESCRIPTORS)
    last: dict[int, float] = {}
    while question := os.read(0, 1):
        number = question[0]
        if signal.sigtimedwait({number}, _SECONDS_TO_ARRIVE) is not None:
            last[number] = time.monotonic()
        is_known = time.monotonic() - last.get(number, -_SECONDS_OF_ONE_SIGNAL) < _SECONDS_OF_ONE_SIGNAL
        os.write(1, bytes([is_known]))
