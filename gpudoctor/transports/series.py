"""The collectors that read this machine's files, in one child: an interpreter's start takes longer than they.

Whatever keeps the series from answering quickly, what it has not answered is left to a child and a limit of
its own for each collector: one that hangs or crashes loses nothing but itself.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gpudoctor import child
from gpudoctor.child import Job, Outcome, Run

if TYPE_CHECKING:
    from gpudoctor.probes.raw import Answer

# The limit of all together is the smaller of the two: many times what they take.
LIMIT_SHARE, LIMIT_SECONDS = 0.25, 2.0

Requests = Mapping[str, Mapping[str, Any]]


def job(requests: Requests, payload: str, environment: Mapping[str, str], timeout_seconds: float,
        then: Callable[[Run], Sequence[Job]]) -> Job:
    """Return the child that runs these collectors; `timeout_seconds` is the limit that each has alone."""
    # -S: it needs the standard library alone, and what an environment adds at every start can take its time
    argv = [sys.executable, "-S", payload, "series", child.ANSWER, json.dumps({"requests": requests})]
    return Job(argv=argv, timeout_seconds=min(LIMIT_SECONDS, timeout_seconds * LIMIT_SHARE),
               environment=environment, journal=True, then=then)


def answers(run: Run, requests: Requests) -> dict[str, Answer]:
    """Return what was answered; it counts even if another collector then crashed the child."""
    from gpudoctor.probes import journal
    from gpudoctor.probes.raw import ended

    lines = journal.read(run.answer).events
    return {line["collector"]: ended(Outcome.OK.value, line["seconds"], data=line["answer"])
            for line in lines if _is_answer(line, requests)}


def _is_answer(line: Mapping[str, Any], requests: Requests) -> bool:
    name, seconds = line.get("collector"), line.get("seconds")
    return isinstance(name, str) and name in requests and isinstance(seconds, float) and "answer" in line
