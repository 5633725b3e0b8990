"""The command line: arguments -> call -> exit code. The only place that imports typer.

Exit codes: 0 healthy, 1 findings, 2 wrong usage, 3 undecided, 4 an input cannot be used or the output not
written, 5 gpudoctor itself failed. As shells have it: 130 after Ctrl-C, 141 when nobody reads the output.
"""

from __future__ import annotations

import gc
import io
import os
import sys
from typing import NoReturn

from gpudoctor import __version__
from gpudoctor.cli.memory import NO_MEMORY, hold_back_what_is_ignored, is_out_of_memory, say_what_was_ignored
from gpudoctor.cli.streams import EXIT_BROKEN_PIPE, Closed, StandardError, forget_output, say
from gpudoctor.home import ISSUES

EXIT_USAGE, EXIT_BUG, EXIT_INTERRUPTED = 2, 5, 130
_OF_PYDANTIC = "Value error, "  # with which typer begins what it says of a choice
_COMPLETION = "_GPUDOCTOR_COMPLETE"  # by which a shell asks typer to complete a line
_spare_memory = [bytes(1 << 20)]  # let go of when something fails: without memory nothing could be said
ISSUES_HINT = f"if that does not help, report it at {ISSUES}"


def main() -> NoReturn:
    """Run the command line and leave with its exit code, without the interpreter's own tidying up.

    A command is over before there is any garbage worth collecting, and at the end the system takes everything
    back at once. Both together took a fifth of the time of a check.
    """
    gc.disable()
    hold_back_what_is_ignored()
    if isinstance(sys.stderr, io.TextIOWrapper):
        sys.stderr = StandardError.of(sys.stderr)
    try:
        code = run()
    except KeyboardInterrupt:  # also while something else is being described
        print("gpudoctor: interrupted", file=sys.stderr)
        code = EXIT_INTERRUPTED
    except (MemoryError, SystemError):  # without memory CPython also forgets which error it was
        _spare_memory.clear()
        print(f"gpudoctor: {NO_MEMORY}", file=sys.stderr)
        code = EXIT_BUG
    say_what_was_ignored()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):  # then as it is without us: the interpreter says what it could not write
        raise SystemExit(code) from None
    os._exit(code)


def run() -> int:
    """Run the command line and return its exit code."""
    try:
        _open_standard_streams()
        if sys.argv[1:] == ["--version"]:
            say(f"gpudoctor {__version__}\n")
            return 0
        code = _plain_command()
        return _command() if code is None else code
    except SystemExit as ended:  # a reader that has gone, a signal that ends us
        if isinstance(ended.__context__, BrokenPipeError):  # click prints help, and ends with a 1 of its own
            forget_output()
            return EXIT_BROKEN_PIPE
        return ended.code if isinstance(ended.code, int) else 0
    except Exception as error:  # the outermost line: whatever it is becomes one line and an exit code
        behind = _end_behind(error)
        if isinstance(behind, SystemExit):
            return behind.code if isinstance(behind.code, int) else 0
        if behind is not None:
            raise KeyboardInterrupt from None
        _spare_memory.clear()
        message, exit_code = _describe(error)
        print(f"gpudoctor: {message}", file=sys.stderr)
        if os.environ.get("GPUDOCTOR_DEBUG"):
            raise
        if isinstance(error, OSError):
            forget_output()
        return exit_code


def _end_behind(error: BaseException | None) -> BaseException | None:
    """Return the Ctrl-C or the end by a signal that an error comes of, None where it comes of neither.

    Both may fall on any line: what tidies up then fails too, and Python wraps them while it makes a class.
    """
    while error is not None and not isinstance(error, (KeyboardInterrupt, SystemExit)):
        error = error.__cause__ or error.__context__
    return error


def _plain_command() -> int | None:
    """Run a command whose words need no typer and return its exit code; None where typer must read them."""
    command, words = sys.argv[1:2], sys.argv[2:]
    if command not in (["check"], ["explain"]) or _COMPLETION in os.environ:
        return None
    from gpudoctor.cli import plain_words

    if command == ["explain"]:
        values = plain_words.read(words, plain_words.EXPLAIN)
        if values is None:
            return None
        from gpudoctor.cli import explaining

        return explaining.explain(values.pop("what"), explaining.Wish(**values))
    asked = plain_words.read_check(words)
    if asked is None:
        return None
    from gpudoctor.cli import checking

    return checking.check(asked)


def _describe(error: Exception) -> tuple[str, int]:
    """Return what to say and the exit code, also when a broken installation lets nothing more be imported."""
    try:
        from gpudoctor.cli.failures import describe

        return describe(error)
    except Exception:  # noqa: BLE001 - what describes failures needs half the package, which may be broken
        if is_out_of_memory():
            return NO_MEMORY, EXIT_BUG
        cause = f"{type(error).__name__}: {error}"
        return f"cannot start ({cause}). Reinstall gpudoctor-cli; {ISSUES_HINT}", EXIT_BUG


def _command() -> int:
    """Run the Typer application and return its exit code; releases of Typer end it in different ways."""
    import typer

    from gpudoctor.cli.app import application

    try:
        code = application(sys.argv[1:])(prog_name="gpudoctor", standalone_mode=False)
    except typer.Abort:
        raise KeyboardInterrupt from None
    except Exception as error:  # a usage error, of whichever click this Typer brings; all else goes on
        show = getattr(error, "show", None)
        if show is None:
            raise
        if isinstance(said := getattr(error, "message", None), str):
            setattr(error, "message", said.removeprefix(_OF_PYDANTIC))  # noqa: B010 - no class of ours has it
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
