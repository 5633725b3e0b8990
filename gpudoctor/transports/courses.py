"""Run each framework through its smoke stages, one child after the other, on this machine.

A stage that crashes or hangs ends its child: it is named, and the remaining stages get a fresh one. What a
child wrote into its journal until then counts.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from gpudoctor import child
from gpudoctor.child import Job, Run
from gpudoctor.host.scratch import scratch_folder
from gpudoctor.model import Course
from gpudoctor.patient import Patient
from gpudoctor.probes import journal
from gpudoctor.probes.raw import Answer
from gpudoctor.transports.local import PAYLOAD, Visit, placed

MEMORY_LIMIT_BYTES = 512 << 20
_LOG_LIMIT_BYTES = 512 << 10
_SLACK_SECONDS = 10.0  # for the interpreter's start and end, beside the limits of import and stages

Told = Callable[[str], None]


def run(visit: Visit, courses: Sequence[Course], limit_seconds: float, told: Told) -> Answer:
    """Return what every course came to; `told` hears what is being run, for a person who waits."""
    patient = visit.patient
    with scratch_folder() as folder:
        if folder is not None and visit.process is None:  # what a crash leaves behind goes with it
            visit = replace(visit, environment={**visit.environment, "TMPDIR": folder})
        ran = {number: list(_rounds(visit, patient, course, limit_seconds, told))
               for number, course in enumerate(courses) if _is_run(course, courses)}
    data = [_described(course) | {"rounds": ran.get(number, [])} for number, course in enumerate(courses)]
    seconds = sum(found["seconds"] for rounds in ran.values() for found in rounds)
    return Answer(outcome="ok", seconds=seconds, data={"courses": data})


def _is_run(course: Course, courses: Sequence[Course]) -> bool:
    """Say whether a child is started: for every course with stages, else once for the framework's import."""
    same = [c for c in courses if c.framework == course.framework]
    return bool(course.stages) or (not any(c.stages for c in same) and course is same[0])


def _rounds(visit: Visit, patient: Patient, course: Course, limit_seconds: float,
            told: Told) -> Iterator[dict[str, Any]]:
    pending = course.stages
    where = f" on GPU {course.card}" if course.card else ""
    while True:
        what = f"{', '.join(pending)}{where}" if pending else "import"
        told(f"{course.framework}: {what} (limit {limit_seconds:g} s each)")
        result = child.run_all([_job(visit, patient, course, pending, limit_seconds)])[0]
        found = _round(result)
        yield found
        left = _remaining(pending, journal.read(found["journal"]))
        if not left or len(left) == len(pending):
            return
        pending = left


def _remaining(stages: Sequence[str], told: journal.Journal) -> tuple[str, ...]:
    """Return the stages that were never begun; all of them when the import was never done."""
    begun = {event.get("stage") for event in told.of("begun")}
    return tuple(stage for stage in stages if stage not in begun)


def _job(visit: Visit, patient: Patient, course: Course, stages: Sequence[str], limit_seconds: float) -> Job:
    request = {
        "framework": course.framework, "stages": list(stages), "import_only": not stages,
        "limit_seconds": limit_seconds, "memory_limit_bytes": MEMORY_LIMIT_BYTES,
        "precisions": list(course.precisions), "predicted": list(course.predicted),
        "card_memory_bytes": course.memory_bytes,
        "visible": course.visible.split(",") if course.visible else []}
    variables = dict(visit.environment)
    if course.visible is not None:
        variables["CUDA_VISIBLE_DEVICES"] = course.visible
    return placed(visit, Job(
        argv=[patient.executable, PAYLOAD, "stages", child.ANSWER, json.dumps(request)],
        timeout_seconds=limit_seconds * (len(stages) + 1) + _SLACK_SECONDS, environment=variables,
        output_limit_bytes=_LOG_LIMIT_BYTES, journal=True))


def _round(result: Run) -> dict[str, Any]:
    return {"outcome": result.outcome.value, "detail": result.detail, "seconds": round(result.seconds, 4),
            "journal": result.answer, "log": result.stderr.decode("utf-8", "replace")}


def _described(course: Course) -> dict[str, Any]:
    skip = course.skip
    return {"framework": course.framework, "card": course.card, "visible": course.visible,
            "stages": list(course.stages), "left_out": list(course.left_out),
            "skipped": None if skip is None else {"reason": skip.reason, "wanted": skip.wanted}}
