"""What is kept of one machine: its verdict, what is wrong with it, and what is compared with its peers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from gpudoctor import codec
from gpudoctor.examine import Policy, conclude, counts, every_finding
from gpudoctor.fleet.compared import COMPARED, Held, held
from gpudoctor.frozen import frozen
from gpudoctor.model import (
    Certainty, Facts, Known, Report, Scope, Severity, Snapshot, Undecided, Unknown, Verdict,
)

_MOST_CAUSES = 50  # of one machine; no machine that there is has more
_DEEPEST = 20  # consequences of consequences
_RULE = re.compile(r"GPDX?[0-9]{1,6}\Z")
_CAUSE = re.compile(r"[a-z0-9-]{1,80}\Z")
_OF_A_TEXT = "text.symptoms"
_NAMES = {scope: frozenset(names) for scope, names in COMPARED.items()}
_KEPT = {**_NAMES, Scope.HOST: _NAMES[Scope.HOST] | {_OF_A_TEXT}}

NO_MACHINE, NO_CARD, CARDS_UNKNOWN = "a text, no machine", "no NVIDIA card", "cards not known"


class Cause(NamedTuple):
    """A cause, how grave it is, and whether it is only likely; the worst comes first."""

    rank: int
    rule: str
    cause: str
    is_likely: bool = False

    @property
    def severity(self) -> Severity:
        """Return how grave it is."""
        return tuple(Severity)[self.rank]


@frozen
class Machine:
    """One machine of many. `peers` is what it has in common with those that it is compared with."""

    name: str
    verdict: Verdict
    exit_code: int
    causes: tuple[Cause, ...]
    open: tuple[Cause, ...]
    edition: str
    peers: str
    cards: str
    facts: Mapping[str, Held]
    is_judged: bool = False
    is_assumed: bool = False


def judged(report: Report, name: str, policy: Policy) -> Machine:
    """Return the machine of a report that was made now."""
    severities = [finding.severity for finding in every_finding(report.findings)]
    open_ = [one for one in report.undecided if counts(one, policy.fail_on)]
    return _machine(
        name, report.snapshot, policy, severities, is_judged=True, is_assumed=bool(report.assumptions),
        causes=_causes(Cause(one.severity.rank, one.rule, one.cause, one.certainty is Certainty.LIKELY)
                       for one in report.findings),
        open_=_causes(Cause(one.severity.rank, one.rule, one.cause) for one in open_),
        edition=f"gpudoctor {report.tool_version}, rules {report.rules_version}")


def taken(document: Mapping[str, Any], name: str, policy: Policy) -> Machine:
    """Return the machine of a `gpudoctor.report/1` document as that says; raise `codec.CodecError`.

    What is a failure is said by the policy here, not by the one that the report was made with.
    """
    findings = list(_findings(document.get("findings"), name))
    severities = [cause.severity for _, cause in findings]
    undecided = list(_undecided(document.get("undecided"), name))
    if not _agrees(document.get("verdict"), severities, undecided):
        raise codec.CodecError(f"{name}: the report contradicts itself: its verdict is not what it found")
    tool, rules = (_version(document.get(key)) for key in ("tool", "rules"))
    return _machine(
        name, _snapshot(document, name), policy, severities, is_assumed=bool(document.get("assumed")),
        causes=_causes(cause for depth, cause in findings if not depth),
        open_=_causes(Cause(one.severity.rank, one.rule, one.cause) for one in undecided
                      if counts(one, policy.fail_on)),
        edition=f"gpudoctor {tool}, rules {rules}")


def _machine(name: str, snapshot: Snapshot, policy: Policy, severities: list[Severity], *,
             causes: tuple[Cause, ...], open_: tuple[Cause, ...], edition: str, is_assumed: bool,
             is_judged: bool = False) -> Machine:
    verdict, exit_code = conclude(severities, is_open=bool(open_), policy=policy)
    peers, cards = _peers(snapshot)
    return Machine(
        name=name, verdict=verdict, exit_code=exit_code, causes=causes, open=open_, edition=edition,
        peers=peers, cards=cards, facts=held(snapshot), is_judged=is_judged, is_assumed=is_assumed)


def _causes(found: Iterable[Cause]) -> tuple[Cause, ...]:
    """Return each once, the worst first; what is certain of one card is not likely as well."""
    every = set(found)
    kept = (one for one in every if not (one.is_likely and one._replace(is_likely=False) in every))
    return tuple(sorted(kept)[:_MOST_CAUSES])


# -- documents ---------------------------------------------------------------------------------------------


def _findings(raw: Any, name: str) -> Iterator[tuple[int, Cause]]:
    """Yield (depth, cause) of the findings in a document and of their consequences."""
    pending = [(0, one) for one in _listed(raw, name)]
    while pending:
        depth, one = pending.pop()
        yield depth, _named(one, name)
        if depth == _DEEPEST:
            raise codec.CodecError(f"{name}: consequences are nested too deeply")
        pending += [(depth + 1, below) for below in _listed(one.get("consequences", []), name)]


def _undecided(raw: Any, name: str) -> Iterator[Undecided]:
    for one in _listed(raw, name):
        found = _named(one, name)
        yield Undecided(rule=found.rule, cause=found.cause, severity=found.severity, subject="", reasons=(),
                        asked=one.get("asked") is not False)


def _listed(raw: Any, name: str) -> list[Mapping[str, Any]]:
    if isinstance(raw, list) and all(isinstance(one, Mapping) for one in raw):
        return raw
    raise codec.CodecError(f"{name}: the report's findings and what it left undecided must be lists")


def _named(raw: Mapping[str, Any], name: str) -> Cause:
    match raw:
        case {"severity": str(severity), "rule": str(rule), "cause": str(cause)} if (
                severity in _SEVERITIES and _RULE.match(rule) and _CAUSE.match(cause)):
            return Cause(_SEVERITIES[severity].rank, rule, cause,
                         raw.get("certainty") == Certainty.LIKELY.value)
    raise codec.CodecError(f"{name}: the report holds a finding without a rule, a cause or a severity")


_SEVERITIES = {severity.value: severity for severity in Severity}


def _agrees(verdict: Any, severities: list[Severity], undecided: list[Undecided]) -> bool:
    """Return whether a verdict can be that of a report with these findings."""
    match verdict:
        case Verdict.HEALTHY.value:
            return Severity.ERROR not in severities
        case Verdict.FINDINGS.value:
            return bool(severities)
        case Verdict.UNDECIDED.value:
            return any(one.asked for one in undecided)
    return False


def _version(raw: Any) -> str:
    version = raw.get("version") if isinstance(raw, Mapping) else None
    return version[:40] if isinstance(version, str) else "unknown"


def _snapshot(document: Mapping[str, Any], name: str) -> Snapshot:
    """Return of a report's snapshot what is compared; the rest is as much again, and nobody asks for it."""
    raw = document.get("snapshot")
    if not isinstance(raw, Mapping):
        raise codec.CodecError(f"{name}: the report holds no snapshot")
    return codec.decode_snapshot({
        "schema": raw.get("schema"), "host": _chosen(raw.get("host"), Scope.HOST),
        "gpus": _each(raw.get("gpus"), Scope.GPU),
        "frameworks": _each(raw.get("frameworks"), Scope.FRAMEWORK)}, name)


def _each(raw: Any, scope: Scope) -> Any:
    return [_chosen(one, scope) for one in raw] if isinstance(raw, list) else raw


def _chosen(raw: Any, scope: Scope) -> Any:
    if not isinstance(raw, Mapping):
        return raw
    return {name: raw[name] for name in raw if name in _KEPT[scope]}


# -- peers -------------------------------------------------------------------------------------------------


def _peers(snapshot: Snapshot) -> tuple[str, str]:
    """Return what a machine's peers have in common with it, and the names of its cards, "" where not known.

    That is the models of its cards, by what the PCI bus says of them (which needs no driver), else by name;
    not their number: a card that is missing is just what sets a machine apart.
    """
    if _OF_A_TEXT in snapshot.host:
        return NO_MACHINE, ""
    if isinstance(snapshot.gpus, Unknown):
        return CARDS_UNKNOWN, ""
    if not snapshot.gpus:
        return NO_CARD, ""
    names = _models(snapshot.gpus, "gpu.name")
    numbers = _models(snapshot.gpus, "gpu.pci_device_id")
    return (f"PCI device {numbers}" if numbers else names) or CARDS_UNKNOWN, names


def _models(cards: tuple[Facts, ...], fact: str) -> str:
    """Return the models of all cards, "" where that of one is not known."""
    found = [card.get(fact) for card in cards]
    known = {str(one.value)[:80] for one in found if isinstance(one, Known)}
    return " + ".join(sorted(known)) if all(isinstance(one, Known) for one in found) else ""
