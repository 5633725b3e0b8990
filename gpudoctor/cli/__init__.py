"""The command line: arguments -> call -> exit code. The only place that imports typer.

Exit codes: 0 healthy, 1 findings, 2 wrong usage, 3 undecided, 4 an input cannot be used or the output not
written, 5 gpudoctor itself failed. As shells have it: 130 after Ctrl-C, 141 when nobody reads the output.
"""

from __future__ import annotations

import os
import sys

from gpudoctor import __version__
from gpudoctor.cli.streams import Closed, forget_output

EXIT_USAGE, EXIT_BUG, EXIT_INTERRUPTED = 2, 5, 130
ISSUES_HINT = "if that does not help, report it at https://github.com/gpudoctor/gpudoctor/issues"


def main() -> None:
    """Run the command line and leave with its exit code."""
    try:
        _open_standard_streams()
        if sys.argv[1:] == ["--version"]:
            print(f"gpudoctor {__version__}", flush=True)
            raise SystemExit(0)
        raise SystemExit(_command())
    except KeyboardInterrupt:
        print("gpudoctor: interrupted", file=sys.stderr)
        raise SystemExit(EXIT_INTERRUPTED) from None
    except Exception as error:  # the outermost line: whatever it is becomes one line and an exit code
        message, exit_code = _describe(error)
        print(f"gpudoctor: {message}", file=sys.stderr)
        if os.environ.get("GPUDOCTOR_DEBUG"):
            raise
        if isinstance(error, OSError):
            forget_output()
        raise SystemExit(exit_code) from None


def _describe(error: Exception) -> tuple[str, int]:
    """Return what to say and the exit code, also when a broken installation lets nothing more be imported."""
    try:
        from gpudoctor.cli.failures import describe

        return describe(error)
    except Exception:  # noqa: BLE001 - what describes failures needs half the package, which may be broken
        cause = f"{type(error).__name__}: {error}"
        return f"cannot start ({cause}). Reinstall gpudoctor-cli; {ISSUES_HINT}", EXIT_BUG


def _command() -> int:
    """Run the Typer application and return its exit code; releases of Typer end it in different ways."""
    import typer

    from gpudoctor.cli.app import app

    try:
        code = app(prog_name="gpudoctor", standalone_mode=False)
    except typer.Abort:
        raise KeyboardInterrupt from None
    except Exception as error:  # a usage error, of whichever click this Typer brings; all else goes on
        show = getattr(error, "show", None)
        if show is None:
            raise
        show()
        return EXIT_USAGE
    if code == EXIT_INTERRUPTED:
        raise KeyboardInterrupt
    return code if isinstance(code, int) else 0


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
        sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
    if sys.stderr is None:
        sys.stderr = os.fdopen(2, "w", encoding="utf-8", closefd=False)
    if sys.stdout is None:
        sys.stdout = Closed()
    elif hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="backslashreplace")  # no report is lost to a terminal without accents
