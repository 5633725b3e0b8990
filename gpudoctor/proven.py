"""Hold what rules say of a framework against the proof that it computed on a GPU. Pure.

An error says that something keeps the framework from the GPU. Where its smoke stages all ran on the card, and
the driver said so of their results, nothing did: then the prediction is wrong, or does not matter here. It
becomes a note that says so, and a question that could not be answered needs no answer any more.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from gpudoctor.derive.view import as_records, text_in
from gpudoctor.model import Finding, Judgement, Known, Scope, Severity, Subject, Subjects, Undecided

_NEEDED = frozenset({"matmul", "convolution"})  # cuBLAS and cuDNN: neither says anything of the other
_SAID = (". All the same its smoke stages ran on the GPU and gave the right results: if this note is wrong, "
         "please send what `{}` writes to those who write the rules")


def tempered(judgement: Judgement, subjects: Subjects) -> Judgement:
    """Return the judgement with errors that the proof refutes as notes, and without their open questions."""
    proven, command = dict(_proven(subjects)), _recording(subjects[Scope.HOST][0])
    return Judgement(findings=tuple(_noted(found, proven, command) for found in judgement.findings),
                     undecided=tuple(u for u in judgement.undecided if not _is_refuted(u, proven)))


def _proven(subjects: Subjects) -> Iterator[tuple[str, bool]]:
    for scope in (Scope.FRAMEWORK, Scope.PAIR):
        for subject in subjects[scope]:
            yield subject.name, _passed(subject, card_alone=scope is Scope.PAIR)


def _passed(subject: Subject, *, card_alone: bool) -> bool:
    """Say whether the main stages were run, on this card if it is about one, and each was proven right."""
    stages, index = subject.fact("framework.stages"), subject.fact("gpu.index")
    if not isinstance(stages, Known):
        return False
    card = str(index.value) if isinstance(index, Known) else ""
    ran = [(text_in(record, "stage"), text_in(record, "outcome")) for record in as_records(stages.value)
           if record.get("outcome") != "skipped" and (not card_alone or text_in(record, "card") == card)]
    return {name for name, _ in ran} >= _NEEDED and all(outcome == "passed" for _, outcome in ran)


def _recording(host: Subject) -> str:
    """Return what records the place that was examined; of an image a report is the only record there is."""
    again = host.fact("container.check_command")
    if isinstance(host.fact("image.reference"), Known) and isinstance(again, Known):
        return f"{again.value} --depth smoke --format json"
    return "gpudoctor snapshot --depth smoke --share"


def _noted(finding: Finding, proven: Mapping[str, bool], command: str) -> Finding:
    if not _is_refuted(finding, proven):
        return finding
    return replace(finding, severity=Severity.INFO, message=finding.message + _SAID.format(command))


def _is_refuted(said: Finding | Undecided, proven: Mapping[str, bool]) -> bool:
    return said.severity is Severity.ERROR and proven.get(said.subject, False)
