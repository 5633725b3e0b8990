"""What can go wrong before there is a report, as one line and an exit code."""

from __future__ import annotations

import errno
import os

from gpudoctor.assume import AssumptionError
from gpudoctor.cli.errors import InputError, UsageError
from gpudoctor.cli.memory import NO_MEMORY, is_out_of_memory
from gpudoctor.cli.streams import OutputError
from gpudoctor.cli.wish import WishError
from gpudoctor.codec import CodecError
from gpudoctor.courses import NoSuchCard
from gpudoctor.derive.requirements import RequirementError
from gpudoctor.dockerfiles.lines import UnwritableError
from gpudoctor.examine import EXIT_BUG, EXIT_INPUT, EXIT_USAGE
from gpudoctor.home import ISSUES
from gpudoctor.manifests.spans import ManifestError
from gpudoctor.render.plain import printable
from gpudoctor.ruledb import RuleDatabaseError
from gpudoctor.zipapp import ZipappError

_SHORTAGES = {
    errno.EMFILE: "raise its limit of open files: ulimit -n 1024",
    errno.ENFILE: "raise the machine's limit of open files (fs.file-max), or end what holds them",
}
_OF_STREAMS = (errno.ENOSPC, errno.EBADF, errno.EIO, errno.EFBIG)

_OF_INPUT = (CodecError, InputError, ManifestError, NoSuchCard, OutputError, RuleDatabaseError,
             UnwritableError, ZipappError)


def describe(error: Exception) -> tuple[str, int]:
    """Return what to say and the exit code."""
    if isinstance(error, AssumptionError | RequirementError | UsageError | WishError):
        return printable(str(error), 2000), EXIT_USAGE  # it quotes what was typed, line ends and all
    text = "\n".join(printable(line, 2000) for line in str(error).splitlines())
    if isinstance(error, _OF_INPUT):
        return text, EXIT_INPUT
    if isinstance(error, OSError) and error.filename is None and error.errno in _OF_STREAMS:
        return f"standard output cannot be written: {error.strerror}", EXIT_INPUT  # help, which typer prints
    number = getattr(error, "errno", None)
    if isinstance(error, MemoryError) or number == errno.ENOMEM or is_out_of_memory():
        return NO_MEMORY, EXIT_BUG
    if number in _SHORTAGES:
        return f"was given too little to work with ({os.strerror(number)}); {_SHORTAGES[number]}", EXIT_BUG
    return (f"failed on its own account ({type(error).__name__}: {text}). Set GPUDOCTOR_DEBUG=1 for the "
            f"whole story and report it at {ISSUES}"), EXIT_BUG
