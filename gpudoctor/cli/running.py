"""What `gpudoctor run` does: run a command with its output passing through, and explain what it said."""

from __future__ import annotations

import os
import re
import resource
import shutil
import signal
import sys
from collections.abc import Sequence
from io import BytesIO

from gpudoctor.cli import explaining, relay, showing, sources
from gpudoctor.model import Certainty, Report, Severity, Verdict
from gpudoctor.render.plain import printable
from gpudoctor.sources.scan import Input

EXIT_NOT_FOUND, EXIT_NOT_RUN = 127, 126  # as shells have it
_PYTHON = re.compile(r"(?:python|pypy)[0-9.]*t?\Z")


def run(command: Sequence[str], *, here: bool, rules: str | None) -> int:
    """Run the command, explain it on standard error where that is needed, and return its exit code."""
    database = sources.announced_database(rules, "told")  # wrong rules are an error before anything is run
    try:
        ended = relay.run(command)
    except FileNotFoundError:
        return _not_run(command[0], "there is no such program", EXIT_NOT_FOUND)
    except OSError as error:
        return _not_run(command[0], str(error.strerror), EXIT_NOT_RUN)
    wish = explaining.Wish(here=here, rules=rules, python=_interpreter(command[0]) if here else None)
    name = f"the output of {os.path.basename(command[0])}"
    report = explaining.told([Input(name=name, stream=BytesIO(ended.said))], database, wish)
    if _is_worth_telling(report, ended.code):
        _tell(report, wish, ended)
    elif causes := _perhaps_harmless(report):
        sys.stderr.write(f"gpudoctor: the command ended well, and may not have used a GPU: {causes}; "
                         "harmless where it is meant so, else `gpudoctor run --here` says why\n")
    if ended.code < 0:
        _end_likewise(-ended.code)
    return ended.code if ended.code >= 0 else 128 - ended.code


def _interpreter(program: str) -> str | None:
    """Return the Python that a command runs, None where it is another program: then a check chooses one."""
    return shutil.which(program) if _PYTHON.match(os.path.basename(program)) else None


def _not_run(program: str, why: str, code: int) -> int:
    sys.stderr.write(f"gpudoctor: {printable(program, 400)} cannot be run: {why}\n")
    return code


def _is_worth_telling(report: Report, code: int) -> bool:
    """Say whether it failed, or said what keeps it from the GPU; harmless lines of a success are not told."""
    return code != 0 or any(finding.severity is Severity.ERROR for finding in report.findings)


def _perhaps_harmless(report: Report) -> str:
    """Return the causes of lines that are harmless only where something holds that the text does not say."""
    return ", ".join(finding.cause for finding in report.findings
                     if finding.severity is Severity.BENIGN and finding.certainty is Certainty.LIKELY)


def _tell(report: Report, wish: explaining.Wish, ended: relay.Ended) -> None:
    how = f"ended with exit code {ended.code}" if ended.code >= 0 else f"was ended by {_named(-ended.code)}"
    faults = any(finding.severity.is_fault for finding in report.findings)
    if not faults and ended.signals:
        return  # it ended because somebody said so
    if report.verdict is Verdict.UNDECIDED and not faults:
        sys.stderr.write(f"gpudoctor: the command {how}; nothing in its output is known to speak of the "
                         "GPU (`gpudoctor check` examines the machine)\n")
        return
    sys.stderr.write(f"\ngpudoctor: the command {how}; what its output says about it:\n\n")
    sys.stderr.write(showing.rendered(report, "text", "standard error", verbose=False, policy=wish.policy))
    sys.stderr.flush()


def _named(number: int) -> str:
    try:
        return f"{signal.Signals(number).name} (signal {number})"
    except ValueError:  # one of the many real-time signals
        return f"signal {number}"


def _end_likewise(number: int) -> None:
    """End by the signal that ended the command, so that whoever started us sees the same."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sys.stdout.flush()
    sys.stderr.flush()
    if number != signal.SIGKILL:
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
