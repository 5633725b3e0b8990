"""What can go wrong before there is a report, as one line and an exit code."""

from __future__ import annotations

import errno

from gpudoctor.assume import AssumptionError
from gpudoctor.cli.streams import OutputError
from gpudoctor.codec import CodecError
from gpudoctor.derive.requirements import RequirementError
from gpudoctor.examine import EXIT_BUG, EXIT_INPUT, EXIT_USAGE
from gpudoctor.render.plain import printable
from gpudoctor.ruledb import RuleDatabaseError
from gpudoctor.zipapp import ZipappError

_OF_STREAMS = (errno.ENOSPC, errno.EBADF, errno.EIO, errno.EFBIG)
ISSUES = "https://github.com/gpudoctor/gpudoctor/issues"


class InputError(ValueError):
    """A named file cannot be read or written: file and reason."""


def describe(error: Exception) -> tuple[str, int]:
    """Return what to say and the exit code."""
    text = "\n".join(printable(line, 2000) for line in str(error).splitlines())
    if isinstance(error, AssumptionError | RequirementError):
        return text, EXIT_USAGE
    if isinstance(error, CodecError | RuleDatabaseError | InputError | OutputError | ZipappError):
        return text, EXIT_INPUT
    if isinstance(error, OSError) and error.filename is None and error.errno in _OF_STREAMS:
        return f"standard output cannot be written: {error.strerror}", EXIT_INPUT  # help, which typer prints
    return (f"failed on its own account ({type(error).__name__}: {text}). Set GPUDOCTOR_DEBUG=1 for the "
            f"whole story and report it at {ISSUES}"), EXIT_BUG
