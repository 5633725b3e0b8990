"""How a report is printed: its format, the columns to fill, whether with colours, and whether it can be."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from gpudoctor.cli.errors import InputError

if TYPE_CHECKING:
    from gpudoctor.cli.asked import Asked
    from gpudoctor.cli.stopwatch import Stopwatch
    from gpudoctor.examine import Policy
    from gpudoctor.model import Report


def rendered(report: Report, format_: str, output: str | None, *, verbose: bool,
             policy: Policy, recommending: str = "") -> str:
    """Return the report as it is to be written to `output`, None for standard output.

    `policy` is what the caller calls a failure, which some formats tell apart; `recommending` is the command
    that says what to install into what was examined.
    """
    from gpudoctor.as_root import as_typed

    report = as_typed(report)
    match format_:
        case "json":
            from gpudoctor.render import json

            return json.render(report)
        case "markdown":
            from gpudoctor.render import markdown

            return markdown.render(report, verbose=verbose)
        case "github":
            from gpudoctor.render import github

            return github.render(report)
        case "junit":
            from gpudoctor.render import junit

            return junit.render(report, policy)
        case "html":
            from gpudoctor.render import html

            return html.render(report)
        case "line":
            from gpudoctor.render import line

            return line.render(report, policy)
    from gpudoctor.render import text

    terminal = sys.stdout.isatty() and output is None
    return text.render(report, width=width(terminal), colour=terminal and colour(), verbose=verbose,
                       recommending=recommending)


def tell_time(asked: Asked, watch: Stopwatch) -> None:
    """Say on standard error where gpudoctor's own time went, to who asked for it (-vv)."""
    if asked.verbose > 1:
        sys.stderr.write(f"TIME of gpudoctor itself (that of the probes: PROBES)\n{watch.lines()}")


def fitted(text: str, fit: Callable[[str, int], str]) -> str:
    """Return text as `fit` lays it out for a terminal's columns; for files and pipes as it is."""
    return fit(text, width(terminal=True)) if sys.stdout.isatty() else text


def refuse_lost_output(output: str | None) -> None:
    """Refuse a file that cannot be made."""
    if output in (None, "-"):
        return
    folder = os.path.dirname(os.path.abspath(output))
    if not os.path.isdir(folder):
        raise InputError(f"{output}: cannot be written: no such folder")
    if os.path.isdir(output):
        raise InputError(f"{output}: cannot be written: it is a folder")


def colour() -> bool:
    """Say whether colours are wanted, where there is a terminal."""
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM", "") not in ("", "dumb")


def width(terminal: bool) -> int:
    """Return the columns to fill: COLUMNS, else the terminal's if it knows them, else 80, at most 120."""
    try:
        wanted = int(os.environ.get("COLUMNS", ""))
    except ValueError:  # no number, or one of thousands of digits
        wanted = 0
    if wanted >= 20:
        return min(wanted, 200)
    return min(os.get_terminal_size().columns or 80, 120) if terminal else 80
