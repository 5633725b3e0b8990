"""Run the payload on this machine, in children, in an order that leaves no traces.

First what only reads files; then what loads the driver's libraries (as root, nvmlInit and cuInit create
device nodes that were not there before); then, if asked, the kernel.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gpudoctor import child
from gpudoctor.child import Job, Outcome, Run
from gpudoctor.patient import NoPatient, Patient
from gpudoctor.probes import environment as environment_probe
from gpudoctor.probes.raw import Answer, RawDocument

PAYLOAD = Path(__file__).resolve().parent.parent / "payloads" / "__main__.py"
ANSWER_SHARE = 0.8  # of a probe's limit: then it gives the answers it has, a hung call costs only itself
_NO_ANSWER = (Outcome.EXIT.value, Outcome.GARBLED.value, Outcome.NOT_STARTED.value)
HIDING_VARIABLES = ("CUDA_VISIBLE_DEVICES",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """What to examine: the patient, how deep, and how long each probe may take."""

    patient: Patient | NoPatient
    depth: str
    timeout_seconds: float
    environment: Mapping[str, str]
    script_folders: Sequence[str] = ()


def collect(visit: Visit) -> RawDocument:
    """Return the raw answers of every collector; one that fails is an answer with its outcome."""
    patient = visit.patient
    own = sys.executable
    seen_from = patient.executable if isinstance(patient, Patient) else own
    files = {name: _job(visit, name, own) for name in ("system", "driver", "container", "toolkit")}
    files["loader"] = _job(visit, "loader", own, executable=seen_from)
    variables = environment_probe.request()
    files["environment"] = _job(visit, "environment", own, executable=seen_from, **variables)
    if isinstance(patient, Patient):
        files["frameworks"] = _job(visit, "frameworks", patient.executable, because=patient.because,
                                   folders=list(visit.script_folders), scan_code=visit.depth != "static")
    raw = dict(_run(files))
    if isinstance(patient, NoPatient):
        raw["frameworks"] = Answer(outcome="not-started", seconds=0.0, detail=patient.reason)
    # the loader's order for libcuda is the patient's (its RPATH, its libc): ask there if it can run anything
    interpreter = seen_from if _is_python(raw["frameworks"]) else own
    raw.update(_run({"nvml": _job(visit, "nvml", own), "cuda": _job(visit, "cuda", interpreter)}))
    if interpreter != own and raw["cuda"].outcome in _NO_ANSWER:  # a Python without ctypes, for one
        interpreter = own
        raw.update(_run({"cuda": _job(visit, "cuda", own)}))
    if visit.depth == "smoke":
        raw.update(_run({"smoke": _job(visit, "smoke", interpreter)}))
    else:
        why = f"no kernel is run at depth {visit.depth}"
        raw["smoke"] = Answer(outcome="not-asked", seconds=0.0, detail=why)
    return raw


def _is_python(answer: Answer) -> bool:
    """Return whether the patient answered as our payload does: then it can ask the driver too."""
    return answer.outcome == Outcome.OK.value and isinstance(answer.data, dict) and "python" in answer.data


def look_again(visit: Visit, raw: RawDocument, variables: Mapping[str, str | None]) -> RawDocument:
    """Return the document with what depends on the environment collected anew; None unsets a variable."""
    environment = {name: value for name, value in visit.environment.items() if name not in variables}
    environment.update({name: value for name, value in variables.items() if value is not None})
    changed = replace(visit, environment=environment)
    patient = visit.patient
    seen_from = patient.executable if isinstance(patient, Patient) else sys.executable
    interpreter = seen_from if _is_python(raw["frameworks"]) else sys.executable
    return {**raw, **_run({
        "loader": _job(changed, "loader", sys.executable, executable=seen_from),
        "environment": _job(changed, "environment", sys.executable, executable=seen_from,
                            **environment_probe.request()),
        "cuda": _job(changed, "cuda", interpreter)})}


def _job(visit: Visit, collector: str, interpreter: str, **request: Any) -> Job:
    request["answer_within_seconds"] = visit.timeout_seconds * ANSWER_SHARE
    variables = dict(visit.environment)
    if collector in ("cuda", "smoke"):
        for name in HIDING_VARIABLES:
            variables.pop(name, None)
    return Job(argv=[interpreter, str(PAYLOAD), collector, child.ANSWER, json.dumps(request)],
               timeout_seconds=visit.timeout_seconds, environment=variables)


def _run(jobs: Mapping[str, Job]) -> Mapping[str, Answer]:
    return dict(zip(jobs, (_answer(run) for run in child.run_all(list(jobs.values()))), strict=True))


def _answer(run: Run) -> Answer:
    """Return a child's end as an answer. What it answered counts even if a call then hung or crashed it."""
    outcome, detail = run.outcome, run.detail
    stuck = run.answer.get("stuck_in") if isinstance(run.answer, dict) else None
    if stuck is not None:
        outcome, detail = Outcome.TIMEOUT, f"{stuck} did not return"
    return Answer(outcome=outcome.value, seconds=run.seconds, detail=detail, data=run.answer)
