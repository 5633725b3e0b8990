"""What `gpudoctor explain` does, once its words are understood: read texts, or print pages."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Sequence

from gpudoctor import explanation, texts
from gpudoctor.cli import inputs, showing, sources
from gpudoctor.cli.errors import InputError, UsageError
from gpudoctor.cli.progress import Progress
from gpudoctor.examine import EXIT_HEALTHY, Policy, examine
from gpudoctor.explanation import Reading
from gpudoctor.explanation.here import NAMES
from gpudoctor.frozen import frozen
from gpudoctor.model import Report, RuleDatabase, Severity
from gpudoctor.render.plain import printable
from gpudoctor.sources.scan import Input, finished, scan

_NAMES_A_PAGE = re.compile(r"GPDX?[0-9]{1,5}\Z|[a-z0-9]+(?:[-_][a-z0-9]+)+\Z|[a-z]{12,60}\Z", re.IGNORECASE)


@frozen
class Wish:
    """The options of `gpudoctor explain`."""

    here: bool = False
    format: str = "text"
    output: str | None = None
    fail_on: str = "error"
    allow_undecided: bool = False
    rules: str | None = None
    python: str | None = None  # the interpreter to look at, with `here`; None: as a check chooses it

    @property
    def policy(self) -> Policy:
        """Return what the caller calls a failure."""
        return Policy(fail_on=Severity(self.fail_on), allow_undecided=self.allow_undecided)


def explain(what: Sequence[str], wish: Wish) -> int:
    """Explain texts, or print the pages that are named; return the exit code."""
    showing.refuse_lost_output(wish.output)
    if list(what).count("-") > 1:
        raise UsageError("standard input can be read only once")
    named = [word for word in what if _is_page(word)]
    if named and len(named) < len(what):
        raise UsageError(f"{named[0]} is a page, and the others are files: explain them one after another")
    if named:
        sources.write(_pages(named, wish.rules), wish.output)
        return EXIT_HEALTHY
    database = sources.announced_database(wish.rules, "told")
    progress = Progress() if sys.stderr.isatty() else None
    report = told(inputs.each_opened(what), database, wish, progress, refuses_nothing=not wish.here)
    text = showing.rendered(report, wish.format, wish.output, verbose=False, policy=wish.policy)
    sources.write(text, wish.output)
    return report.exit_code


def told(given: Iterable[Input], database: RuleDatabase, wish: Wish, progress: Progress | None = None, *,
         refuses_nothing: bool = False) -> Report:
    """Return the report on texts; what should be known of the reading goes to standard error.

    InputError if that is asked for and in none of them stands a text.
    """
    seen = scan(given, database.symptoms, progress=None if progress is None else progress.of_bytes)
    if progress is not None:
        progress.end()
    reading = finished(lambda: texts.understood(seen, database))
    if refuses_nothing and not reading.has_text:
        if reading.interrupted:
            raise KeyboardInterrupt  # there is nothing to go on with, and nobody knows what the texts hold
        raise InputError("; ".join(reading.notes))
    machine = _machine(wish) if wish.here else _recorded(reading, database, wish)
    found = finished(lambda: explanation.explain(reading, database, machine))
    notes = reading.notes if reading.has_text or wish.here else ()  # a command may say nothing at all
    for said in (*notes, *(f"the text and this machine differ: {NAMES[other.fact]} {other.saw}"
                                   for other in (found.contradictions if wish.here else ()))):
        sys.stderr.write(f"gpudoctor: {printable(said, 600)}\n")
    return explanation.report(found, database, wish.policy, interrupted=reading.interrupted)


def _machine(wish: Wish) -> Report:
    from gpudoctor.cli import checking
    from gpudoctor.cli.asked import Asked
    from gpudoctor.cli.stopwatch import Stopwatch

    return checking.look_here(Asked(rules=wish.rules, python=wish.python), Stopwatch())[1]


def _recorded(reading: Reading, database: RuleDatabase, wish: Wish) -> Report | None:
    """Return what the rules say of a machine whose snapshot or report stands in the text."""
    if reading.recorded is None:
        return None
    return examine(reading.recorded, database, wish.policy)


def _is_page(word: str) -> bool:
    return word != "-" and not os.path.exists(word) and _NAMES_A_PAGE.match(word) is not None


def _pages(names: Sequence[str], rules: str | None) -> str:
    from gpudoctor.cli.rules import page_text, rules_called

    database = sources.announced_database(rules, "whole")
    found = []
    for name in names:
        matching, hint = rules_called(name, database)
        if not matching:
            raise InputError(f"{printable(name, 80)}: no such file, and no such rule{hint}; "
                             "`gpudoctor rules list` names them all, and a message itself is read from "
                             "standard input: gpudoctor explain -")
        found += matching
    text = "\n".join(page_text(rule) for rule in found)
    return "".join(f"{printable(line, 4000)}\n" for line in text.splitlines())
