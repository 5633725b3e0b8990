"""The command line: arguments -> call -> exit code. The only place that imports typer.

Exit codes: 0 healthy, 1 findings, 2 wrong usage, 3 undecided, 4 an input cannot be used, 5 gpudoctor itself failed.
"""

from __future__ import annotations

import os
import sys

from gpudoctor import __version__


def main() -> None:
    """Run the command line and leave with its exit code."""
    if sys.argv[1:] == ["--version"]:
        print(f"gpudoctor {__version__}")
        raise SystemExit(0)
    from gpudoctor.cli.app import app

    try:
        app(prog_name="gpudoctor")
    except KeyboardInterrupt:
        print("gpudoctor: interrupted", file=sys.stderr)
        raise SystemExit(130) from None
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(141) from None
    except Exception as error:  # the outermost line: whatever it is becomes one line and an exit code
        from gpudoctor.cli.failures import describe

        message, exit_code = describe(error)
        print(f"gpudoctor: {message}", file=sys.stderr)
        if os.environ.get("GPUDOCTOR_DEBUG"):
            raise
        raise SystemExit(exit_code) from None
