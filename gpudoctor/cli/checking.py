"""What `gpudoctor check` does, once its words are understood: look, judge, print.

Every check begins here, so little is imported at first: the probes are to be started soon.
"""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING

from gpudoctor.cli import visits
from gpudoctor.cli.asked import Asked
from gpudoctor.cli.stopwatch import Stopwatch
from gpudoctor.transports import local

if TYPE_CHECKING:
    from gpudoctor.cli.judging import Judge
    from gpudoctor.model import Report


def check(asked: Asked) -> int:
    """Run a check, print its report and return its exit code."""
    visits.refuse(asked.given, asked.depth, asked.output)
    watch = Stopwatch()
    report = _examine_here(asked, watch) if asked.recorded is None else _examine_recorded(asked, watch)
    _print(report, asked, watch)
    return report.exit_code


def _examine_here(asked: Asked, watch: Stopwatch) -> Report:
    """Look and judge. What is needed later is imported while the probes run, which takes about as long."""
    visit = visits.visit_here(asked.python, asked.depth, asked.timeout, asked.kernel, asked.pid)
    begun = time.monotonic()
    judges: list[Judge] = []

    def while_reading() -> None:
        watch.begin("importing")
        from gpudoctor.cli.judging import Judge

        judges.append(Judge(asked, watch))
        watch.begin("probes that read files")

    def while_asking() -> None:
        judges[0].read_rules()
        watch.begin("importing")
        import gpudoctor.render.text  # noqa: F401

        watch.begin("probes that ask the driver")

    watch.begin("probes that read files")
    raw = local.collect(visit, while_reading, while_asking)
    return judges[0].examined_here(visit, raw, begun)


def _examine_recorded(asked: Asked, watch: Stopwatch) -> Report:
    watch.begin("importing")
    from gpudoctor.cli import judging, sources

    judge = judging.Judge(asked, watch)
    judge.read_rules()
    watch.begin("reading answers")
    return judge.examined(sources.read_snapshot(str(asked.recorded)))


def _print(report: Report, asked: Asked, watch: Stopwatch) -> None:
    from gpudoctor.cli import sources

    watch.begin("rendering")
    sources.write(_rendered(report, asked), asked.output)
    if asked.verbose > 1:
        sys.stderr.write(f"TIME of gpudoctor itself (that of the probes: PROBES)\n{watch.lines()}")


def _rendered(report: Report, asked: Asked) -> str:
    if asked.format == "json":
        from gpudoctor.render import json

        return json.render(report)
    from gpudoctor.render import text

    terminal = sys.stdout.isatty() and asked.output is None
    return text.render(report, width=_width(terminal), colour=terminal and _colour(),
                       verbose=asked.verbose > 0)


def _colour() -> bool:
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM", "") not in ("", "dumb")


def _width(terminal: bool) -> int:
    """Return the columns to fill: COLUMNS, else the terminal's, else 80; long lines are hard to read."""
    wanted = os.environ.get("COLUMNS", "")
    if wanted.isdigit() and int(wanted) >= 20:
        return min(int(wanted), 200)
    return min(os.get_terminal_size().columns, 120) if terminal else 80
