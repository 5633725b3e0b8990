"""Standard output as the command line needs it: whole, or one line on standard error and an exit code.

Standard error is for people: what it does not take is lost, and neither the answer nor its exit code with it.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import sys

EXIT_BROKEN_PIPE = 141  # what a shell says of a program that SIGPIPE ended


class OutputError(ValueError):
    """Standard output takes no more; one line says why."""


class Closed(io.TextIOBase):
    """What stands for a standard output that the caller closed."""

    def write(self, _text: str, /) -> int:
        """Refuse, as the closed stream would."""
        raise OSError(errno.EBADF, "it is closed")


class StandardError(io.TextIOWrapper):
    """Standard error, full or read by nobody: what is told there goes nowhere then, and nothing fails."""

    @classmethod
    def of(cls, stream: io.TextIOWrapper) -> StandardError:
        """Return the stream for what an open one writes to."""
        return cls(stream.buffer, encoding=stream.encoding, errors=stream.errors, line_buffering=True)

    def write(self, text: str, /) -> int:
        """Write what can be written."""
        with contextlib.suppress(OSError):
            return super().write(text)
        return len(text)

    def flush(self) -> None:
        """Hand on what can be handed on."""
        with contextlib.suppress(OSError):
            super().flush()


def forget_output() -> None:
    """Let what standard output did not take go nowhere: Python would try again at its end, and complain."""
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def say(text: str) -> None:
    """Write to standard output; raise `OutputError`, or leave in silence when its reader has gone."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        forget_output()
        raise SystemExit(EXIT_BROKEN_PIPE) from None
    except OSError as error:
        forget_output()
        raise OutputError(f"standard output cannot be written: {error.strerror}") from None
