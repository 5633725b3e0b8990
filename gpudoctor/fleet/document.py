"""The summary as a `gpudoctor.summary/1` document."""

from __future__ import annotations

from typing import Any

from gpudoctor import __version__
from gpudoctor.fleet.machine import Cause
from gpudoctor.fleet.odd import Apart, Compared, compared
from gpudoctor.fleet.summary import Peers, Summary
from gpudoctor.fleet.tally import Tally
from gpudoctor.frozen import frozen
from gpudoctor.model import Severity, Verdict

SUMMARY_SCHEMA = "gpudoctor.summary/1"


@frozen
class Judging:
    """How machines were judged: from which severity on one fails, and by which rules (None: by no rules,
    because every document was a report that was taken at its word)."""

    fail_on: Severity
    allow_undecided: bool
    rules: tuple[str, str] | None = None  # version and sha256


def encode(summary: Summary, judging: Judging) -> dict[str, Any]:
    """Return the document."""
    return {
        "schema": SUMMARY_SCHEMA, "tool": {"name": "gpudoctor", "version": __version__},
        "rules": {"version": judging.rules[0], "sha256": judging.rules[1]} if judging.rules else None,
        "fail_on": judging.fail_on.value,
        "exit_code": summary.exit_code(allow_undecided=judging.allow_undecided),
        "interrupted": summary.is_interrupted, "machines": summary.machines.number,
        "reports": summary.kinds["reports"], "judged": summary.kinds["judged"],
        "assumed": summary.kinds["assumed"],
        "verdicts": {verdict.value: summary.verdicts[verdict] for verdict in Verdict},
        "editions": [{"edition": edition, "machines": count.number, "names": count.names}
                     for edition, count in summary.editions.ranked()],
        "refused": {"files": summary.refused.total, "first": [
            {"file": name, "reason": why} for name, why in sorted(summary.refused.counts)]},
        "skipped": [{"what": what, "files": count.number, "names": count.names}
                    for what, count in summary.skipped.ranked()],
        "causes": _causes(summary.causes), "undecided": _causes(summary.open),
        "alike": [{"causes": [_cause(cause) for cause in causes], "machines": count.number,
                   "names": count.names} for causes, count in summary.alike.ranked()],
        "peers": [_peers(key, peers) for key, peers in sorted(summary.peers.items())],
        "peers_beyond": summary.peers_beyond,
    }


def _cause(cause: Cause) -> dict[str, Any]:
    return {"rule": cause.rule, "cause": cause.cause, "severity": cause.severity.value,
            "likely": cause.is_likely}


def _causes(tally: Tally[Cause]) -> list[dict[str, Any]]:
    return [{**_cause(cause), "machines": count.number, "names": count.names}
            for cause, count in tally.ranked()]


def _peers(key: str, peers: Peers) -> dict[str, Any]:
    found: Compared = compared(key, peers)
    return {
        "key": key, "cards": [cards for cards, _ in peers.cards.ranked()], "machines": peers.all.number,
        "names": peers.all.names, "apart": [_apart(one) for one in found.apart],
        "divided": [{"fact": fact, "of": tally.total, "values": [
            {"value": [*value], "machines": count.number, "names": count.names}
            for value, count in tally.ranked()]} for fact, tally in found.divided],
        "varied": [*found.varied]}


def _apart(one: Apart) -> dict[str, Any]:
    return {"machines": one.number, "names": [*one.names], "typical": one.typical, "differences": [
        {"fact": d.fact, "value": [*d.value], "usual": [*d.usual], "usual_machines": d.usual_number,
         "of": d.of} for d in one.differences]}
