"""What `gpudoctor preflight` does: a check, told in every way in which the place reads it."""

from __future__ import annotations

import sys
from collections.abc import Callable

from gpudoctor import host
from gpudoctor.cli import again, checking, showing, sources, visits
from gpudoctor.cli.asked import Asked
from gpudoctor.cli.errors import InputError
from gpudoctor.cli.places import Place, place_of
from gpudoctor.cli.stopwatch import Stopwatch
from gpudoctor.render.plain import printable

_CHOSEN = {"--format", "--output"}  # who gives one of these wants that and nothing else


def preflight(asked: Asked) -> int:
    """Run the check, tell it and return its exit code."""
    visits.refuse(asked.given, asked.depth, asked.output)
    watch = Stopwatch()
    judge, report = checking.look(asked, watch)
    place = Place(format=asked.format) if _CHOSEN & asked.given else place_of(host.environment())

    def told(format_: str, output: str | None) -> str:
        return showing.rendered(report, format_, output, verbose=asked.verbose > 0, policy=judge.policy,
                                recommending=again.recommending(asked))

    if place.tests is not None:
        _tell(place.tests, lambda name: sources.write(told("junit", name), name))
    if place.summary is not None:
        _tell(place.summary, lambda name: sources.append(told("markdown", name), name))
    watch.begin("rendering")
    sources.write(told(place.format, asked.output), asked.output)
    showing.tell_time(asked, watch)
    return report.exit_code


def _tell(name: str, write: Callable[[str], None]) -> None:
    """Write what the place reads beside the log; that it cannot be written changes no verdict."""
    try:
        write(name)
    except InputError as error:
        sys.stderr.write(f"gpudoctor: {printable(str(error), 600)}\n")
