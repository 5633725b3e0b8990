"""The command line: arguments -> call -> exit code. The only place that imports typer.

Exit codes: 0 healthy, 1 findings, 2 wrong usage, 3 undecided, 4 an input cannot be used or the output not written,
5 gpudoctor itself failed. Beside these, as shells have it: 130 after Ctrl-C, 141 when nobody reads the output.
"""

from __future__ import annotations

import os
import sys

from gpudoctor import __version__


def main() -> None:
    """Run the command line and leave with its exit code."""
    try:
        _open_standard_streams()
        if sys.argv[1:] == ["--version"]:
            print(f"gpudoctor {__version__}", flush=True)
            raise SystemExit(0)
        from gpudoctor.cli.app import app

        app(prog_name="gpudoctor")
    except KeyboardInterrupt:
        print("gpudoctor: interrupted", file=sys.stderr)
        raise SystemExit(130) from None
    except Exception as error:  # the outermost line: whatever it is becomes one line and an exit code
        from gpudoctor.cli.failures import describe

        message, exit_code = describe(error)
        print(f"gpudoctor: {message}", file=sys.stderr)
        if os.environ.get("GPUDOCTOR_DEBUG"):
            raise
        _forget_output()
        raise SystemExit(exit_code) from None


def _open_standard_streams() -> None:
    """Make all three usable: a closed one would become the next file that is opened, and be written to.

    A closed standard output takes nothing: whoever writes to it gets the error of a full one.
    """
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number, which is this one
    if sys.stdin is None:
        sys.stdin = open(0, encoding="utf-8", closefd=False)
    if sys.stderr is None:
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)
    if sys.stdout is None:
        from gpudoctor.cli.streams import Closed

        sys.stdout = Closed()
    elif hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="backslashreplace")  # a report is never lost to a terminal without an accent


def _forget_output() -> None:
    """Let what a broken standard output did not take go nowhere: Python would try again at its end, and complain."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    except OSError:
        pass
