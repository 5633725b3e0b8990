"""What `gpudoctor check` does, once its words are understood: look, judge, print.

Every check begins here, so little is imported at first: the probes are to be started soon.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from gpudoctor.cli import again, showing, visits
from gpudoctor.cli.asked import Asked
from gpudoctor.cli.stopwatch import Stopwatch
from gpudoctor.transports import local

if TYPE_CHECKING:
    from gpudoctor.cli.judging import Judge
    from gpudoctor.examine import Policy
    from gpudoctor.model import Report


def check(asked: Asked) -> int:
    """Run a check, print its report and return its exit code."""
    visits.refuse(asked.given, asked.depth, asked.output)
    watch = Stopwatch()
    judge, report = look(asked, watch)
    show(report, judge.policy, asked, watch)
    return report.exit_code


def look(asked: Asked, watch: Stopwatch) -> tuple[Judge, Report]:
    """Return the report on what was asked about, and who judged it."""
    if asked.image is not None or asked.container is not None:
        from gpudoctor.cli import containers

        return containers.look(asked, watch)
    return look_here(asked, watch) if asked.recorded is None else _look_at_recorded(asked, watch)


def look_here(asked: Asked, watch: Stopwatch) -> tuple[Judge, Report]:
    """Look at this machine and judge it.

    What is needed later is imported while the probes run, which takes about as long.
    """
    visit = visits.visit_here(asked.python, asked.depth, asked.timeout, asked.kernel, asked.pid)
    begun = time.monotonic()
    judges: list[Judge] = []

    def meanwhile() -> None:
        watch.begin("importing")
        from gpudoctor.cli.judging import Judge

        judges.append(Judge(asked, watch))
        judges[0].read_rules()
        watch.begin("importing")
        import gpudoctor.render.text  # noqa: F401
        from gpudoctor.probes import requirements

        requirements.prepare()
        watch.begin("waiting for probes")

    watch.begin("starting probes")
    raw = local.collect(visit, meanwhile)
    return judges[0], judges[0].examined_here(visit, raw, begun)


def _look_at_recorded(asked: Asked, watch: Stopwatch) -> tuple[Judge, Report]:
    watch.begin("importing")
    from gpudoctor.cli import judging, sources

    judge = judging.Judge(asked, watch)
    judge.read_rules()
    watch.begin("reading answers")
    return judge, judge.examined(sources.read_snapshot(str(asked.recorded)))


def show(report: Report, policy: Policy, asked: Asked, watch: Stopwatch) -> None:
    """Print a report as it was asked for."""
    from gpudoctor.cli import sources

    watch.begin("rendering")
    text = showing.rendered(report, asked.format, asked.output, verbose=asked.verbose > 0, policy=policy,
                            recommending=again.recommending(asked))
    sources.write(text, asked.output)
    showing.tell_time(asked, watch)
