"""JSON <-> model. With `pages.py`, the only place where untyped data becomes typed values and back."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from gpudoctor.exhaustive import assert_never
from gpudoctor.facts import CATALOGUE, LISTS, FactSpec, FactType
from gpudoctor.model import (
    Absent, Ask, Evidence, Fact, Facts, Finding, Known, ProbeRun, Remedy, Report, Scope, Snapshot, Undecided,
    Unknown, Value,
)

SNAPSHOT_SCHEMA = "gpudoctor.snapshot/1"
REPORT_SCHEMA = "gpudoctor.report/1"
MAX_BYTES = 64 << 20


class CodecError(ValueError):
    """The document cannot be used; the message says what and where, in one line."""


class NewerSchema(CodecError):
    """The document was written by a newer gpudoctor; the message says what to do."""


# -- encode ----------------------------------------------------------------------------------------

def encode_fact(fact: Fact) -> dict[str, Any]:
    """Return {"value", "source"}, {"absent": source}, {"unknown": reason} or {"not_asked": reason}."""
    match fact:
        case Known():
            return {"value": encode_value(fact.value), "source": fact.source}
        case Absent():
            return {"absent": fact.source}
        case Unknown():
            return {"unknown" if fact.asked else "not_asked": fact.reason}
        case _:
            assert_never(fact)


def encode_value(value: Value) -> Any:
    """Return a value with its tuples as lists."""
    if isinstance(value, tuple):
        return [item if isinstance(item, str) else {key: encode_value(part) for key, part in item.items()}
                for item in value]
    return value


def encode_facts(facts: Facts) -> dict[str, Any]:
    """Return facts by name, sorted."""
    return {name: encode_fact(facts[name]) for name in sorted(facts)}


def _encode_scope(scope: tuple[Facts, ...] | Unknown) -> Any:
    return encode_fact(scope) if isinstance(scope, Unknown) else [encode_facts(facts) for facts in scope]


def encode_snapshot(snapshot: Snapshot) -> dict[str, Any]:
    """Return the snapshot as a `gpudoctor.snapshot/1` document."""
    return {
        "schema": SNAPSHOT_SCHEMA,
        **({"redacted": True} if snapshot.redacted else {}),
        "host": encode_facts(snapshot.host),
        "gpus": _encode_scope(snapshot.gpus),
        "frameworks": _encode_scope(snapshot.frameworks),
        "probes": [{"probe": run.probe, "outcome": run.outcome, "seconds": round(run.seconds, 4),
                    "detail": run.detail} for run in snapshot.probes],
    }


def _encode_evidence(evidence: Evidence) -> dict[str, str]:
    return {"fact": evidence.fact, "saw": evidence.saw, "source": evidence.source}


def _encode_ask(ask: Ask) -> dict[str, Any]:
    return {"question": ask.question, "command": ask.command, "answers": dict(ask.answers)}


def encode_remedy(remedy: Remedy) -> dict[str, Any]:
    """Return a fix as JSON."""
    effect = {name: None if value is None else encode_value(value) for name, value in remedy.effect.items()}
    return {
        "kind": remedy.kind, "title": remedy.title, "commands": list(remedy.commands),
        "env": dict(remedy.env), "image": remedy.image, "effect": effect, "risk": remedy.risk,
        "undo": remedy.undo, "proven": remedy.proven,
    }


def encode_finding(finding: Finding) -> dict[str, Any]:
    """Return a finding as JSON, its consequences inside it."""
    return {
        "rule": finding.rule, "cause": finding.cause, "certainty": finding.certainty.value,
        "severity": finding.severity.value, "subject": finding.subject, "message": finding.message,
        "evidence": [_encode_evidence(e) for e in finding.evidence],
        "consequences": [encode_finding(c) for c in finding.consequences],
        "fixes": [encode_remedy(f) for f in finding.fixes],
        "asks": [_encode_ask(a) for a in finding.asks],
    }


def _encode_undecided(undecided: Undecided) -> dict[str, Any]:
    return {
        "rule": undecided.rule, "cause": undecided.cause, "severity": undecided.severity.value,
        "subject": undecided.subject, "reasons": [_encode_evidence(r) for r in undecided.reasons],
        "asked": undecided.asked,
        **({"asks": [_encode_ask(ask) for ask in undecided.asks]} if undecided.asks else {}),
    }


def encode_report(report: Report) -> dict[str, Any]:
    """Return the report as a `gpudoctor.report/1` document."""
    return {
        "schema": REPORT_SCHEMA,
        "tool": {"name": "gpudoctor", "version": report.tool_version},
        "rules": {"version": report.rules_version, "sha256": report.rules_sha256},
        "verdict": report.verdict.value,
        "exit_code": report.exit_code,
        "assumed": list(report.assumptions),
        "findings": [encode_finding(f) for f in report.findings],
        "undecided": [_encode_undecided(u) for u in report.undecided],
        "snapshot": encode_snapshot(report.snapshot),
    }


# -- decode ----------------------------------------------------------------------------------------

def parse_json(text: str, name: str) -> Any:
    """Return the JSON in `text`; raise `CodecError` naming the file and line."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise CodecError(f"{name}:{error.lineno}: not valid JSON ({error.msg})") from None
    except RecursionError:
        raise CodecError(f"{name}: not usable JSON (nested too deeply)") from None
    except ValueError as error:  # a number of thousands of digits
        raise CodecError(f"{name}: not usable JSON ({error})") from None


def decode_value(raw: Any, spec: FactSpec) -> Value:
    """Return the typed value of a fact; raise `CodecError` when the type is wrong."""
    if spec.type is FactType.RECORDS:
        if _is_list_of(Mapping, raw):
            return tuple({str(k): _decode_scalar(v, spec) for k, v in record.items()} for record in raw)
    elif spec.type in LISTS:
        if _is_list_of(str, raw):
            return tuple(raw)
    elif spec.type is FactType.FLAG:
        if isinstance(raw, bool):
            return raw
    elif spec.type in (FactType.INTEGER, FactType.NUMBER):
        if isinstance(raw, int | float) and not isinstance(raw, bool):
            return raw
    elif isinstance(raw, str):
        return raw
    raise CodecError(f"{spec.name} must be {spec.type.value}, not {json.dumps(raw)[:60]}")


def _is_list_of(kind: type, raw: Any) -> bool:
    return (isinstance(raw, Sequence) and not isinstance(raw, str)
            and all(isinstance(item, kind) for item in raw))


def _decode_scalar(raw: Any, spec: FactSpec) -> bool | int | float | str | tuple[str, ...]:
    if isinstance(raw, bool | int | float | str):
        return raw
    if isinstance(raw, Sequence) and all(isinstance(item, str) for item in raw):
        return tuple(raw)
    raise CodecError(f"{spec.name} holds a record with {json.dumps(raw)[:60]}")


def decode_fact(raw: Any, spec: FactSpec) -> Fact:
    """Return the fact that `encode_fact` wrote."""
    match raw:
        case {"value": value, "source": str(source)}:
            return Known(value=decode_value(value, spec), source=source)
        case {"absent": str(source)}:
            return Absent(source=source)
        case {"unknown": str(reason)}:
            return Unknown(reason=reason)
        case {"not_asked": str(reason)}:
            return Unknown(reason=reason, asked=False)
    raise CodecError(f"{spec.name} is no fact: {json.dumps(raw)[:60]}")


def decode_facts(raw: Any, where: str, scope: Scope) -> Facts:
    """Return the probed facts of one subject.

    Derived ones are left out: they are computed again. So are names that this version does not know, which a
    newer minor version may have written.
    """
    if not isinstance(raw, Mapping):
        raise CodecError(f"{where} must be an object of facts")
    specs = {name: CATALOGUE[name] for name in raw if name in CATALOGUE and not CATALOGUE[name].derived}
    for spec in specs.values():
        if spec.scope is not scope:
            raise CodecError(f"{where} holds {spec.name}, which belongs to {spec.scope.value}")
    return {name: decode_fact(raw[name], spec) for name, spec in specs.items()}


def _decode_scope(raw: Any, where: str, scope: Scope) -> tuple[Facts, ...] | Unknown:
    match raw:
        case {"unknown": str(reason)}:
            return Unknown(reason=reason)
        case {"not_asked": str(reason)}:
            return Unknown(reason=reason, asked=False)
        case list():
            return tuple(decode_facts(item, f"{where}[{index}]", scope) for index, item in enumerate(raw))
    raise CodecError(f"{where} must be a list or {{\"unknown\": reason}}")


def decode_snapshot(raw: Any, name: str) -> Snapshot:
    """Return the snapshot in a `gpudoctor.snapshot/1` or `gpudoctor.report/1` document called `name`."""
    if not isinstance(raw, Mapping) or not isinstance(raw.get("schema"), str):
        raise CodecError(f"{name}: no gpudoctor snapshot or report (it has no \"schema\")")
    assumed: tuple[str, ...] = ()
    if raw["schema"] == REPORT_SCHEMA:
        assumed, raw = _decode_assumed(raw.get("assumed"), name), raw.get("snapshot")
        if not isinstance(raw, Mapping):
            raise CodecError(f"{name}: the report holds no snapshot")
    _require_schema(raw.get("schema"), name)
    try:
        return Snapshot(
            host=decode_facts(raw.get("host"), "host", Scope.HOST),
            gpus=_decode_scope(raw.get("gpus"), "gpus", Scope.GPU),
            frameworks=_decode_scope(raw.get("frameworks"), "frameworks", Scope.FRAMEWORK),
            probes=_decode_probes(raw.get("probes")), redacted=raw.get("redacted") is True,
            assumed=assumed)
    except CodecError as error:
        raise CodecError(f"{name}: {error}") from None


def _require_schema(schema: Any, name: str) -> None:
    if schema == SNAPSHOT_SCHEMA:
        return
    family, _, number = str(schema).partition("/")
    if family in ("gpudoctor.snapshot", "gpudoctor.report") and number.isdecimal():
        raise NewerSchema(f"{name}: schema {schema} is newer than this gpudoctor reads; update gpudoctor")
    raise CodecError(f"{name}: schema {str(schema)[:60]!r} is not {SNAPSHOT_SCHEMA} or {REPORT_SCHEMA}")


def _decode_assumed(raw: Any, name: str) -> tuple[str, ...]:
    if raw is not None and not _is_list_of(str, raw):
        raise CodecError(f"{name}: assumed must be a list of texts")
    return tuple(raw or ())


def _decode_probes(raw: Any) -> tuple[ProbeRun, ...]:
    if raw is None:
        return ()
    if not isinstance(raw, list):
        raise CodecError("probes must be a list")
    return tuple(_decode_probe(probe) for probe in raw)


def _decode_probe(raw: Any) -> ProbeRun:
    match raw:
        case {"probe": str(probe), "outcome": str(outcome), "seconds": int() | float() as seconds}:
            return ProbeRun(probe=probe, outcome=outcome, seconds=float(seconds),
                            detail=str(raw.get("detail", "")))
    raise CodecError(f"probes holds {json.dumps(raw)[:60]}, which is no probe run")
