"""Run the payload on this machine, in children, in an order that leaves no traces.

First what only reads files; then what loads the driver's libraries (as root, nvmlInit and cuInit create
device nodes that were not there before); then, if asked, the kernel.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gpudoctor import child
from gpudoctor.child import Job, Outcome, Run
from gpudoctor.frozen import frozen
from gpudoctor.patient import Patient
from gpudoctor.transports import series
from gpudoctor.variables import ENVIRONMENT_VARIABLES

if TYPE_CHECKING:  # imported later: the first children wait for what is imported here
    from gpudoctor.probes.raw import Answer, RawDocument
    from gpudoctor.transports.process import Process

_PACKAGE = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
PAYLOAD = os.path.join(_PACKAGE, "payloads", "__main__.py")
ANSWER_SHARE = 0.8  # of a probe's limit: then it gives the answers it has, a hung call costs only itself
_NO_ANSWER = (Outcome.EXIT.value, Outcome.GARBLED.value, Outcome.NOT_STARTED.value)
HIDING_VARIABLES = ("CUDA_VISIBLE_DEVICES",)


@frozen
class Visit:
    """What to examine: the patient, how deep, and how long each probe may take."""

    patient: Patient
    depth: str
    timeout_seconds: float
    environment: Mapping[str, str]
    script_folders: Sequence[str] = ()
    process: Process | None = None  # then everything is asked where it lives, by its interpreter


def collect(visit: Visit, meanwhile: Callable[[], object] | None = None) -> RawDocument:
    """Return the raw answers of every collector; one that fails is an answer with its outcome.

    `meanwhile` is what the caller has to do anyway: it is called once, while children run.
    """
    own, seen_from = _own(visit), visit.patient.executable
    frameworks = {"frameworks": _job(visit, "frameworks", seen_from, because=visit.patient.because,
                                     folders=list(visit.script_folders))}
    raw = _look(visit, _reading(visit, seen_from), frameworks, _asking(visit, seen_from), meanwhile)
    if visit.process:
        raw["process"] = _named(visit.process, raw["process"])
    # the loader's order for libcuda is the patient's (its RPATH, its libc): its word counts where it has one
    interpreter = seen_from
    if "cuda" not in raw:
        interpreter = seen_from if _is_python(raw["frameworks"]) else own
        raw.update(_run(_asking(visit, interpreter)))
    if interpreter != own and _says_nothing(raw):
        interpreter = own
        raw.update(_run({"cuda": _job(_in_what_is_left(visit, raw), "cuda", own)}))
    if visit.depth == "smoke":
        raw.update(_run({"smoke": _job(visit, "smoke", interpreter)}))
    else:
        raw["smoke"] = _unasked("not-asked", f"no kernel is run at depth {visit.depth}")
    return raw


def of_machine(environment: Mapping[str, str], timeout_seconds: float) -> RawDocument:
    """Return what is the machine's and nobody's environment: its system, its driver and its cards."""
    own = Visit(patient=Patient(executable=sys.executable, because="it is gpudoctor's own"), depth="static",
                timeout_seconds=timeout_seconds, environment=environment)
    reading = {name: _job(own, name, sys.executable, **request) for name, request
               in _reading(own, sys.executable).items() if name in ("system", "driver", "container")}
    not_run = _unasked("not-asked", "no kernel is run on the machine where an image is examined")
    return {**_run(reading), **_run(_asking(own, sys.executable)), "smoke": not_run}


def _asking(visit: Visit, interpreter: str) -> dict[str, Job]:
    return {"nvml": _job(visit, "nvml", _own(visit)), "cuda": _job(visit, "cuda", interpreter)}


def _says_nothing(raw: RawDocument) -> bool:
    """Return whether the patient's interpreter could not ask libcuda: without ctypes, or no Python at all."""
    return raw["cuda"].outcome in _NO_ANSWER or not _is_python(raw["frameworks"])


def _in_what_is_left(visit: Visit, raw: RawDocument) -> Visit:
    """Return the visit with the time that libcuda may still take: a Python has had some of it in vain."""
    if not _is_python(raw["frameworks"]):
        return visit
    left_seconds = visit.timeout_seconds - raw["cuda"].seconds
    return replace(visit, timeout_seconds=max(left_seconds, visit.timeout_seconds * series.LIMIT_SHARE))


def _own(visit: Visit) -> str:
    """Return the interpreter that reads files and asks NVML: ours, which a process may be unable to reach."""
    return visit.process.patient.executable if visit.process else sys.executable


def _named(process: Process, answer: Answer) -> Answer:
    """Return the answer with what is known of the process however asking it ended."""
    said = answer.data if isinstance(answer.data, dict) else {}
    return replace(answer, data={**said, "id": process.number, "command": process.command})


def _is_python(answer: Answer) -> bool:
    """Return whether the patient answered as our payload does: then it can ask the driver too."""
    return answer.outcome == Outcome.OK.value and isinstance(answer.data, dict) and "python" in answer.data


def with_device_code(visit: Visit, raw: RawDocument, names: Collection[str]) -> RawDocument:
    """Return the document with the device code of these frameworks walked, which takes a while."""
    answer = raw["frameworks"]
    found = answer.data.get("frameworks") if isinstance(answer.data, dict) else None
    wanted = [f for f in found if f.get("name") in names] if isinstance(found, list) else []
    libraries = {f["name"]: f["shipped"] for f in wanted if isinstance(f.get("shipped"), list)}
    if not libraries:
        return raw
    walked = _run({"code": _job(visit, "device_code", visit.patient.executable, libraries=libraries)})["code"]
    failed = {"error": f"the walk through the device code ended with {walked.outcome}: {walked.detail}"}
    codes = walked.data if isinstance(walked.data, dict) else dict.fromkeys(libraries, failed)
    listed = [{**f, "code": codes[f["name"]]} if f.get("name") in codes else f for f in found or ()]
    return {**raw, "frameworks": replace(answer, data={**answer.data, "frameworks": listed})}


def look_again(visit: Visit, raw: RawDocument, variables: Mapping[str, str | None]) -> RawDocument:
    """Return the document with what depends on the environment collected anew; None unsets a variable.

    Nothing is run a second time, which could take minutes: what was seen by running is not asked then.
    """
    environment = {name: value for name, value in visit.environment.items() if name not in variables}
    environment.update({name: value for name, value in variables.items() if value is not None})
    changed = replace(visit, environment=environment)
    own, seen_from = _own(visit), visit.patient.executable
    interpreter = seen_from if _is_python(raw["frameworks"]) else own
    not_run = _unasked("not-asked", "nothing was run in the changed environment")
    return {**raw, "smoke": not_run, "stages": not_run, **_run({
        "loader": _job(changed, "loader", own, executable=seen_from),
        "environment": _job(changed, "environment", own, executable=seen_from,
                            names=list(ENVIRONMENT_VARIABLES)),
        "cuda": _job(changed, "cuda", interpreter)})}


def _reading(visit: Visit, seen_from: str) -> dict[str, dict[str, Any]]:
    """Return the requests of the collectors that read files and start nothing."""
    requests: dict[str, dict[str, Any]] = {name: {} for name in ("system", "driver", "container", "toolkit")}
    requests["loader"] = {"executable": seen_from}
    requests["environment"] = {"executable": seen_from, "names": list(ENVIRONMENT_VARIABLES)}
    if visit.process:
        it = {"numbers": list(visit.process.numbers), "started": visit.process.started}
        requests["container"] = requests["process"] = {"process": it}
    return requests


def _look(visit: Visit, requests: Mapping[str, dict[str, Any]], frameworks: Mapping[str, Job],
          asking: Mapping[str, Job], meanwhile: Callable[[], object] | None) -> dict[str, Answer]:
    """Run these: the readers of files in a series, and by itself what that did not answer.

    The driver is asked as soon as the series has answered everything, else not here: first look, then touch.
    """
    raw: dict[str, Answer] = {}
    if visit.process is None:
        def then(run: Run) -> list[Job]:
            return list(asking.values()) if len(series.answers(run, requests)) == len(requests) else []

        in_series = series.job(requests, PAYLOAD, visit.environment, visit.timeout_seconds, then)
        first, *rest = child.run_all([in_series, *frameworks.values()], meanwhile)
        raw.update(series.answers(first, requests))
        raw.update(zip([*frameworks, *asking], map(_answer, rest), strict=False))  # the driver's if asked
        meanwhile = None
    left = {name: _job(visit, name, _own(visit), **request)
            for name, request in requests.items() if name not in raw}
    left.update({name: job for name, job in frameworks.items() if name not in raw})
    raw.update(_run(left, meanwhile))
    return raw


def _job(visit: Visit, collector: str, interpreter: str, **request: Any) -> Job:
    limit_seconds = visit.timeout_seconds * ANSWER_SHARE
    # a mere number is the limit: the child need not import json, whose reader takes long to load
    said = json.dumps({**request, "answer_within_seconds": limit_seconds}) if request else str(limit_seconds)
    variables = dict(visit.environment)
    if collector in ("cuda", "smoke"):
        for name in HIDING_VARIABLES:
            variables.pop(name, None)
    return placed(visit, Job(
        argv=[interpreter, PAYLOAD, collector, child.ANSWER, said],
        timeout_seconds=visit.timeout_seconds, environment=variables))


def placed(visit: Visit, job: Job) -> Job:
    """Return the job as it must be run to see what the examined process sees."""
    if visit.process is None:
        return job
    from gpudoctor.transports.process import launched  # seldom, and it takes long to import

    return launched(visit.process, job)


def _run(jobs: Mapping[str, Job], meanwhile: Callable[[], object] | None = None) -> Mapping[str, Answer]:
    runs = child.run_all(list(jobs.values()), meanwhile)
    return dict(zip(jobs, map(_answer, runs), strict=True))


def _answer(run: Run) -> Answer:
    """Return a child's end as an answer. What it answered counts even if a call then hung or crashed it.

    A signal that came before the collector was reached hit the interpreter or its launcher, and tells nothing
    of what was to be asked.
    """
    from gpudoctor.probes.raw import ended

    outcome, detail = run.outcome, run.detail
    if outcome is Outcome.SIGNAL and not run.was_reached:
        outcome, detail = Outcome.NOT_STARTED, f"before its collector ran: {detail}"
    return ended(outcome.value, run.seconds, detail, run.answer)


def _unasked(outcome: str, why: str) -> Answer:
    from gpudoctor.probes.raw import ended

    return ended(outcome, 0.0, why)
