"""Turn a raw document into a snapshot: every probe read, cards joined, every promised fact present."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from gpudoctor.facts import CATALOGUE
from gpudoctor.model import Fact, Facts, Known, ProbeRun, Record, Scope, Snapshot, Unknown, Value
from gpudoctor.probes import (
    container, cuda, driver, environment, frameworks, gpus, image, loader, nvml, process, python, smoke,
    stages, system, toolkit,
)
from gpudoctor.probes.raw import NOT_COLLECTED, Answer, RawDocument

COLLECTORS = (
    "system", "driver", "container", "toolkit", "loader", "environment", "frameworks", "nvml", "cuda",
    "smoke", "stages",
)
_NOT_RUN = Answer(outcome="not-asked", seconds=0.0, detail="the frameworks were not run")
_READERS: Mapping[str, tuple[str, Callable[[Answer], dict[str, Fact]]]] = {
    "system": ("system", system.read), "driver": ("driver", driver.read), "nvml": ("nvml", nvml.read),
    "container": ("container", container.read), "toolkit": ("toolkit", toolkit.read),
    "loader": ("loader", loader.read), "environment": ("environment", environment.read),
    "process": ("process", process.read), "image": ("image", image.read),
    "python": ("frameworks", python.read), "cuda": ("cuda", cuda.read), "smoke": ("smoke", smoke.read),
}


def read(raw: RawDocument) -> Snapshot:
    """Return the snapshot that a raw document amounts to; total, whatever the document holds."""
    host: dict[str, Fact] = {}
    for collector, reader in _READERS.values():
        host.update(reader(raw.get(collector, NOT_COLLECTED)))
    host["python.planned_distributions"] = Known(value=(), source="nothing is assumed")
    host["loader.files"] = _files(host.get("loader.files"), raw.get("frameworks", NOT_COLLECTED))
    host["require.wanted"] = Known(value=(), source="no --require was given")
    host["rules.refused"] = Known(value=(), source="no rules were chosen yet")
    return Snapshot(
        host={name: host.get(name, Unknown(reason="no probe answered for it")) for name in _host_names()},
        gpus=_cards(raw), frameworks=_frameworks(raw), probes=tuple(_runs(raw)))


def _host_names() -> Iterator[str]:
    return (spec.name for spec in CATALOGUE.values() if spec.scope is Scope.HOST and spec.seen_on_machine)


def _cards(raw: RawDocument) -> tuple[Facts, ...] | Unknown:
    answers = {name: raw.get(name, NOT_COLLECTED) for name in ("system", "nvml", "cuda", "smoke")}
    return gpus.join(system.read_gpus(answers["system"]), nvml.read_gpus(answers["nvml"]),
                     cuda.read_gpus(answers["cuda"]), smoke.read_gpus(answers["smoke"]))


def _frameworks(raw: RawDocument) -> tuple[Facts, ...] | Unknown:
    found = frameworks.read_frameworks(raw.get("frameworks", NOT_COLLECTED))
    return stages.merged(found, raw.get("stages", _NOT_RUN))


def _files(system_files: Fact | None, patient: Answer) -> Fact:
    """Return the GPU libraries in the patient's and then in the system's folders, each path once."""
    if not isinstance(system_files, Known) or not isinstance(system_files.value, tuple):
        return system_files or Unknown(reason="no probe answered for it")
    records: dict[Value | None, Record] = {}
    for record in (*frameworks.library_files(patient), *system_files.value):
        if isinstance(record, Mapping):
            records.setdefault(record.get("path"), record)
    return Known(value=tuple(records.values()), source=system_files.source)


def _runs(raw: RawDocument) -> Iterator[ProbeRun]:
    for name in (*COLLECTORS, *(name for name in ("process", "image") if name in raw)):
        answer = raw.get(name, _NOT_RUN if name == "stages" else NOT_COLLECTED)
        yield ProbeRun(probe=name, outcome=answer.outcome, seconds=answer.seconds, detail=answer.detail)
