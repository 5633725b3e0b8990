"""A text and the machine it may come from: what the machine confirms is certain, what it refutes falls."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from gpudoctor import versions
from gpudoctor.examine import every_finding
from gpudoctor.explanation.ranking import Candidate
from gpudoctor.facts import CATALOGUE
from gpudoctor.model import (
    Absent, Evidence, Fact, Facts, Finding, Known, Report, Rule, Scope, Severity, Snapshot, Unknown,
)
from gpudoctor.words import show_fact

REFUTED = 0.05  # what is left of the score of a cause that is not found on the machine
# as people call what both state
NAMES = {"text.driver": "driver", "text.python": "Python", "text.driver_ceiling": "newest CUDA of the driver",
         "text.framework_version": "release of the framework", "text.nvidia_card": "NVIDIA card"}
# what a text states -> the same of a machine
_SAME = {"text.driver": "driver.version", "text.python": "python.version",
         "text.driver_ceiling": "driver.cuda_ceiling"}


def verified(candidates: Sequence[Candidate], rules: Mapping[str, Rule],
             machine: Report) -> tuple[Candidate, ...]:
    """Return the candidates with what the machine says of them: found is certain, not found is improbable.

    A cause whose page cannot look at a machine, or could not look at this one, keeps its score.
    """
    found = {finding.cause for finding in every_finding(machine.findings)}
    open_causes = {undecided.cause for undecided in machine.undecided}

    def score(candidate: Candidate) -> float:
        rule = rules.get(candidate.cause)
        if candidate.cause in found:
            return 1.0
        looked_for = rule is not None and rule.detect and candidate.cause not in open_causes
        return candidate.score * (REFUTED if looked_for and _has_subjects(rule, machine.snapshot) else 1.0)

    scored = [replace(candidate, score=score(candidate)) for candidate in candidates]
    return tuple(sorted(scored, key=lambda candidate: -candidate.score))


def _has_subjects(rule: Rule | None, machine: Snapshot) -> bool:
    """Say whether there was anything to judge the rule for: no framework, no word on its faults."""
    if rule is None:
        return False
    return not ((rule.scope in (Scope.FRAMEWORK, Scope.PAIR) and machine.frameworks == ())
                or (rule.scope in (Scope.GPU, Scope.PAIR) and machine.gpus == ()))


def merged(told: Sequence[Finding], machine: Report, opposed: Collection[str] = ()) -> tuple[Finding, ...]:
    """Return the findings of the text, those that the machine confirms with its evidence and proven fixes.

    What is wrong with the machine besides stands behind them. Last stands what a message of the text speaks
    against, as one of a card's memory does against "no card": it happened on another machine, or before.
    """
    top = {finding.cause: finding for finding in reversed(machine.findings)}
    folded = {one.cause: finding for finding in machine.findings
              for one in every_finding(finding.consequences)}
    confirmed: list[tuple[Finding, Finding]] = []
    rest: list[Finding] = []
    for finding in told:
        cause = top.get(finding.cause) or folded.get(finding.cause)
        if cause is None:
            rest.append(finding)
        elif all(cause is not before for before, _ in confirmed):
            confirmed.append((cause, finding))
    first = [replace(cause, evidence=(*finding.evidence, *cause.evidence)) for cause, finding in confirmed]
    others = [finding for finding in machine.findings if all(finding is not cause for cause, _ in confirmed)]
    strange = [finding for finding in others if finding.cause in opposed] if rest else []
    others = [finding for finding in others if finding not in strange]
    if first or any(finding.severity is Severity.ERROR for finding in others):
        return (*first, *others, *rest, *strange)
    return (*rest, *others, *strange)


def with_machine(stated: Facts, machine: Snapshot) -> dict[str, Fact]:
    """Return `text.*` facts in which the machine's own answers stand in place of what contradicts them."""
    corrected = dict(stated)
    for name, own in _of_machine(machine).items():
        if isinstance(own, Known) and isinstance(stated.get(name), Known):
            corrected[name] = Known(value=own.value, source=f"this machine ({own.source})")
    return corrected


def contradictions(stated: Facts, machine: Snapshot) -> Iterator[Evidence]:
    """Yield what the text states and the machine denies."""
    for name, own in _of_machine(machine).items():
        said = stated.get(name)
        if isinstance(said, Known) and isinstance(own, Known) and not _agree(name, said, own):
            yield Evidence(fact=name, saw=f"{show_fact(said)} in the text, {show_fact(own)} on this machine",
                           source=said.source)
        elif isinstance(said, Known) and isinstance(own, Absent):
            yield Evidence(fact=name, saw=f"{show_fact(said)} in the text, none on this machine",
                           source=said.source)


def _of_machine(machine: Snapshot) -> dict[str, Fact]:
    found = {name: machine.host.get(own, Unknown(reason="not seen")) for name, own in _SAME.items()}
    frameworks = () if isinstance(machine.frameworks, Unknown) else machine.frameworks
    if len(frameworks) == 1:
        found["text.framework_version"] = frameworks[0].get("framework.version", Unknown(reason="not seen"))
    listed = machine.host.get("system.pci_nvidia")
    if machine.gpus == () and isinstance(listed, Known) and listed.value == ():
        found["text.nvidia_card"] = Known(value=False, source="no card is listed")
    return found


def _agree(name: str, said: Known, own: Known) -> bool:
    """Say whether both are the same as far as the text goes: 3.10 is 3.10.12."""
    one, other = str(said.value), str(own.value)
    if other.startswith(f"{one}."):
        return True
    try:
        return versions.equal(CATALOGUE[name].type, one, other)
    except versions.Incomparable:
        return one == other
