"""From what was seen to the report: read, judge, try the fixes. Imported while the first probes work."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from gpudoctor import looking, trial
from gpudoctor.assume import assumed, parse_assumption, supposed
from gpudoctor.assume.marking import marked
from gpudoctor.child import REAP_SECONDS
from gpudoctor.cli import sources, wish
from gpudoctor.cli.asked import Asked
from gpudoctor.cli.stopwatch import Stopwatch
from gpudoctor.derive import requirements
from gpudoctor.examine import Policy, examine, with_wishes
from gpudoctor.model import Remedy, Report, Severity, Snapshot
from gpudoctor.probes import snapshot as snapshots
from gpudoctor.probes.raw import Answer, RawDocument
from gpudoctor.transports import local

if TYPE_CHECKING:
    from gpudoctor.model.plan import Plan

LIMITS_IN_ALL = 4  # the whole check ends within so many times the limit of a probe
LEAST_SECONDS = 0.5  # with less time than this a fix is not tried


class Judge:
    """The rules and what the caller asked of them; wrong wishes are errors from the beginning."""

    def __init__(self, asked: Asked, watch: Stopwatch) -> None:
        self.policy = Policy(fail_on=Severity(asked.fail_on), allow_undecided=asked.allow_undecided,
                              requirements=requirements.parse_all(asked.require))
        self._pairs = [parse_assumption(text) for text in asked.assume]
        assumed(self._pairs)  # what contradicts itself is refused before anything is looked at
        self._wish = wish.parse(asked.gpu, asked.stages, asked.smoke_timeout)
        self._watch = watch
        self._asked = asked
        self._look: trial.Look | None = None
        self.machine: Snapshot | None = None

    def read_rules(self) -> None:
        """Read the rules; before anything is examined."""
        self._watch.begin("reading the rules")
        self.database = sources.database(self._asked.rules)

    def examined(self, snapshot: Snapshot) -> Report:
        """Return the report on a snapshot."""
        self._watch.begin("judging")
        if self._pairs:
            snapshot = supposed(snapshot, self._pairs, self.database.tables)
        machine = with_wishes(snapshot, self.database, self.policy)
        self.machine = self.machine or machine  # what is judged later is this one in other environments
        report = examine(snapshot, self.database, self.policy, self._watch.begin)
        assumptions = (*snapshot.assumed, *self._asked.assume)
        return marked(report, machine, assumptions, self.database) if assumptions else report

    def examined_here(self, visit: local.Visit, raw: RawDocument, begun: float) -> Report:
        """Return the report on this machine, of which the collectors' answers are there, its fixes tried."""
        if self._pairs:  # a machine that is partly assumed cannot be tried on
            detail = "nothing is run on a machine that is partly assumed"
            return self._read({**raw, "stages": Answer(outcome="not-asked", seconds=0.0, detail=detail)})
        self._watch.begin("running frameworks")
        raw = looking.look(visit, raw, self.database, self._wish, wish.told)
        report = self._read(raw)
        self._watch.begin("trying fixes")
        self._look = _looker(visit, raw, begun + raw["stages"].seconds)
        return trial.try_fixes(report, self._look, self._read)

    def planned(self, report: Report, allowed: Callable[[Remedy], bool] = lambda _: True, *,
                foreseen: bool = False) -> Plan:
        """Return the plan for the machine that was examined, its variables tried where it is at hand."""
        from gpudoctor import planning, rehearsal  # a check does without them

        assert self.machine is not None
        machine = self.machine

        def make(refused: planning.Refused) -> Plan:
            return planning.make(report, machine, self.database, refused, allowed, foreseen=foreseen)

        self._watch.begin("planning")
        return make(frozenset()) if self._look is None else rehearsal.try_plan(make, self._look, self._read)

    def _read(self, raw: RawDocument) -> Report:
        self._watch.begin("reading answers")
        return self.examined(snapshots.read(raw))


def _looker(visit: local.Visit, raw: RawDocument, begun: float) -> trial.Look:
    """Return how to look again with another environment, as long as the time of the whole check is not up."""
    def look(variables: Mapping[str, str | None]) -> RawDocument | None:
        left = begun + LIMITS_IN_ALL * visit.timeout_seconds - time.monotonic() - REAP_SECONDS
        if left < LEAST_SECONDS:
            return None
        hurried = replace(visit, timeout_seconds=min(left, visit.timeout_seconds))
        return local.look_again(hurried, raw, variables)

    return look
