"""Write the JSON Schemas of what gpudoctor prints and records from catalogue and model.

    python -m tools.build_schemas
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any, get_args

from gpudoctor.candidates.document import SCHEMA as RECOMMENDATION_SCHEMA
from gpudoctor.child.values import Outcome
from gpudoctor.codec import REPORT_SCHEMA, SNAPSHOT_SCHEMA
from gpudoctor.facts import CATALOGUE, LISTS, FactSpec, FactType
from gpudoctor.fleet.document import SUMMARY_SCHEMA
from gpudoctor.manifests.report import LINT_SCHEMA
from gpudoctor.model import Certainty, Fit, FixKind, Risk, Scope, Severity, Verdict
from gpudoctor.model.plan import DoneBy
from gpudoctor.model.plan import Outcome as StepOutcome
from gpudoctor.planning.document import PLAN_SCHEMA

FOLDER = Path(__file__).resolve().parent.parent / "gpudoctor" / "schema"
DIALECT = "https://json-schema.org/draft/2020-12/schema"
TEXT: dict[str, Any] = {"type": "string"}
TEXTS: dict[str, Any] = {"type": "array", "items": TEXT}


def _object(properties: dict[str, Any], *, optional: tuple[str, ...] = (),
            closed: bool = False) -> dict[str, Any]:
    """Return the schema of an object; within /1 documents only grow, so it is open unless `closed`."""
    required = [name for name in properties if name not in optional]
    return {"type": "object", "properties": properties, "required": required,
            "additionalProperties": not closed}


def _value(kind: FactType) -> dict[str, Any]:
    if kind is FactType.RECORDS:
        return {"type": "array", "items": {"type": "object"}}
    if kind in LISTS:
        return TEXTS
    if kind is FactType.FLAG:
        return {"type": "boolean"}
    if kind is FactType.INTEGER:
        return {"type": "integer"}
    return {"type": "number"} if kind is FactType.NUMBER else TEXT


_NOT_KNOWN: list[dict[str, Any]] = [
    _object({name: TEXT}, closed=True) for name in ("absent", "unknown", "not_asked")]
_FACT_TYPES = {f"fact_{kind.value}": {"oneOf": [
    _object({"value": _value(kind), "source": TEXT}, closed=True), *_NOT_KNOWN]} for kind in FactType}


def _fact(spec: FactSpec) -> dict[str, Any]:
    return {"description": spec.meaning, "$ref": f"#/$defs/fact_{spec.type.value}"}


def _facts(scope: Scope) -> dict[str, Any]:
    specs = [spec for spec in CATALOGUE.values() if spec.scope is scope]
    return _object({spec.name: _fact(spec) for spec in specs}, optional=tuple(spec.name for spec in specs))


def _scope(scope: Scope) -> dict[str, Any]:
    return {"oneOf": [{"type": "array", "items": _facts(scope)}, *_NOT_KNOWN[1:]]}


def snapshot_schema() -> dict[str, Any]:
    """Return the schema of `gpudoctor.snapshot/1`."""
    probe = _object({"probe": TEXT, "outcome": {"enum": [o.value for o in Outcome] + ["not-asked"]},
                     "seconds": {"type": "number", "minimum": 0}, "detail": TEXT})
    return {"$schema": DIALECT, "title": SNAPSHOT_SCHEMA, "$defs": _FACT_TYPES, **_object({
        "schema": {"const": SNAPSHOT_SCHEMA}, "redacted": {
            "const": True, "description": "stand-ins are in place of private names: no path need exist"},
        "host": _facts(Scope.HOST), "gpus": _scope(Scope.GPU), "frameworks": _scope(Scope.FRAMEWORK),
        "probes": {"type": "array", "items": probe}}, optional=("redacted",))}


def _finding() -> dict[str, Any]:
    """Return the schema of a finding, which refers to itself for its consequences."""
    evidence = _object({"fact": TEXT, "saw": TEXT, "source": TEXT})
    named_texts = {"type": "object", "additionalProperties": TEXT}
    text_or_null = {"type": ["string", "null"]}
    ask = _object({"question": TEXT, "command": TEXT, "answers": named_texts})
    fix = _object({
        "kind": {"enum": list(get_args(FixKind))}, "title": TEXT, "commands": TEXTS, "env": named_texts,
        "image": text_or_null, "effect": {"type": "object"}, "risk": {"enum": list(get_args(Risk))},
        "undo": text_or_null, "proven": {"enum": ["model", "tried", "unproven"]}})
    severity = {"enum": [s.value for s in Severity]}
    return _object({
        "rule": {"type": "string", "pattern": "^GPD"},
        "cause": {"type": "string", "pattern": "^[a-z0-9-]+$"},
        "certainty": {"enum": [c.value for c in Certainty]}, "severity": severity,
        "subject": TEXT, "message": TEXT,
        "evidence": {"type": "array", "items": evidence},
        "consequences": {"type": "array", "items": {"$ref": "#/$defs/finding"}},
        "fixes": {"type": "array", "items": fix}, "asks": {"type": "array", "items": ask}})


def report_schema() -> dict[str, Any]:
    """Return the schema of `gpudoctor.report/1`."""
    severity, finding = {"enum": [s.value for s in Severity]}, _finding()
    evidence = finding["properties"]["evidence"]["items"]
    undecided = _object({"rule": TEXT, "cause": TEXT, "severity": severity, "subject": TEXT,
                         "reasons": {"type": "array", "items": evidence}, "asked": {"type": "boolean"},
                         "asks": finding["properties"]["asks"]}, optional=("asks",))
    snapshot = {key: value for key, value in snapshot_schema().items() if not key.startswith("$")}
    definitions = {"finding": finding, **_FACT_TYPES}
    return {"$schema": DIALECT, "title": REPORT_SCHEMA, "$defs": definitions, **_object({
        "schema": {"const": REPORT_SCHEMA}, "tool": _object({"name": TEXT, "version": TEXT}),
        "rules": _object({"version": TEXT, "sha256": {"type": "string", "pattern": "^[0-9a-f]{64}$"}}),
        "verdict": {"enum": [v.value for v in Verdict]}, "exit_code": {"enum": [0, 1, 3]},
        "assumed": TEXTS,
        "findings": {"type": "array", "items": {"$ref": "#/$defs/finding"}},
        "undecided": {"type": "array", "items": undecided}, "snapshot": snapshot})}


def plan_schema() -> dict[str, Any]:
    """Return the schema of `gpudoctor.plan/1`."""
    text_or_null = {"type": ["string", "null"]}
    fault = _object({
        "rule": {"type": "string", "pattern": "^GPD"}, "cause": {"type": "string", "pattern": "^[a-z0-9-]+$"},
        "severity": {"enum": [s.value for s in Severity]}, "subject": TEXT, "message": TEXT, "why": TEXT})
    faults = {"type": "array", "items": {"$ref": "#/$defs/fault"}}
    steps = {"type": "array", "items": {"$ref": "#/$defs/step"}}
    number = {"type": "integer", "minimum": 1}
    step = _object({
        "number": number, "title": TEXT, "kind": {"enum": list(get_args(FixKind))},
        "risk": {"enum": list(get_args(Risk))}, "done_by": {"enum": list(get_args(DoneBy))}, "because": TEXT,
        "commands": TEXTS, "env": {"type": "object", "additionalProperties": TEXT}, "unset": TEXTS,
        "image": text_or_null,
        "changes": {"type": "array", "items": _object({"fact": TEXT, "before": text_or_null,
                                                       "after": text_or_null})},
        "undo": _object({"commands": TEXTS, "note": TEXT}),
        "lasts": {**TEXT, "description": "what takes the step back by itself"},
        "cures": {**faults, "minItems": 1}, "proven": {"enum": ["model", "tried"]}})
    end = _object({"number": number, "outcome": {"enum": list(get_args(StepOutcome))}, "detail": TEXT})
    verdict = {"enum": [v.value for v in Verdict]}
    after = _object({"verdict": verdict, "exit_code": {"enum": [0, 1, 3]}, "steps": steps, "left": faults})
    applied = _object({"log": text_or_null, "note": TEXT, "steps": {"type": "array", "items": end},
                       "undo": TEXTS, "after": {"oneOf": [{"type": "null"}, after]}})
    return {"$schema": DIALECT, "title": PLAN_SCHEMA, "$defs": {"fault": fault, "step": step}, **_object({
        "schema": {"const": PLAN_SCHEMA}, "tool": _object({"name": TEXT, "version": TEXT}),
        "rules": _object({"version": TEXT, "sha256": {"type": "string", "pattern": "^[0-9a-f]{64}$"}}),
        "verdict": verdict, "exit_code": {"type": "integer"}, "assumed": TEXTS, "steps": steps,
        "left": faults, "later": faults, "applied": {"oneOf": [{"type": "null"}, applied]}})}


def recommendation_schema() -> dict[str, Any]:
    """Return the schema of `gpudoctor.recommendation/1`."""
    text_or_null = {"type": ["string", "null"]}
    rejections = {"type": "array", "items": _object({
        "rule": TEXT, "message": TEXT,
        "is_open": {"type": "boolean", "description": "nothing is said against it, it could not be judged"}})}
    member = _object({"framework": TEXT, "version": TEXT})
    card = _object({"subject": TEXT, "name": TEXT, "compute_capability": TEXT, "data_types": TEXTS,
                    "is_listed": {"type": "boolean", "description": "whether a table has its compute "
                                                                    "capability, and so its data types"}})
    public = {"type": "string", "pattern": "^[^+]*$", "description": "without a local label"}
    candidate = _object({
        "framework": TEXT, "version": public, "kind": {"enum": ["pip", "image"]},
        "beside": {"type": "array", "items": member, "description": "the rest of a set for one environment"},
        "cuda": text_or_null, "python": TEXTS,
        "least_cuda": {**text_or_null, "description": "the oldest CUDA that a driver must run for it"},
        "commands": {**TEXTS, "description": "whole shell lines: pip's, the same with uv, then exports; or "
                                             "docker's"},
        "environment": {"type": "object", "additionalProperties": TEXT}, "image": text_or_null,
        "pins": TEXTS, "notes": TEXTS, "verdict": {"enum": [fit.value for fit in Fit]},
        "rejected_by": rejections, "why": TEXTS})
    last = _object({"framework": TEXT, "version": TEXT, "cuda": text_or_null, "python": TEXTS,
                    "is_ptx": {"type": "boolean"}})
    return {"$schema": DIALECT, "title": RECOMMENDATION_SCHEMA, **_object({
        "schema": {"const": RECOMMENDATION_SCHEMA}, "tool": _object({"name": TEXT, "version": TEXT}),
        "rules": _object({"version": TEXT, "sha256": {"type": "string", "pattern": "^[0-9a-f]{64}$"}}),
        "exit_code": {"enum": [0, 1, 3]}, "assumed": TEXTS, "asked": TEXTS,
        "host": _object({
            "platform": TEXT, "driver": TEXT, "python": TEXT, "glibc": TEXT, "environment": TEXT,
            "board": text_or_null, "faults": rejections, "cards": {"type": "array", "items": card}}),
        "candidates": {"type": "array", "items": candidate},
        "changes": {"type": "array", "items": _object({"change": TEXT, "gains": TEXTS})},
        "conflict": {**TEXTS, "description": "the smallest set of what was asked for that nothing fits"},
        "last": {"type": "array", "items": last,
                 "description": "where nothing fits: the newest releases with code for the cards"},
        "unserved": {"type": "array", "items": _object({
            "framework": TEXT, "oldest": TEXT, "newest": TEXT,
            "would_be": {"enum": ["older", "newer", "nowhere", "gone"]}, "unread": TEXTS}),
                     "description": "where nothing fits: frameworks of which no release that is known, from "
                                    "the oldest to the newest, has code for the cards"},
        "hints": {"type": "array", "items": _object({"words": TEXT, "command": text_or_null}),
                  "description": "where nothing fits: the next steps, each with its command if it has one"}})}


def lint_schema() -> dict[str, Any]:
    """Return the schema of `gpudoctor.lint/1`."""
    number = {"type": "integer", "minimum": 1}
    place = {"file": TEXT, "line": number, "column": number}
    rule = {"type": "string", "pattern": "^GPD"}
    located = _object({**place, "environment": TEXT, "finding": {"$ref": "#/$defs/finding"}})
    undecided = _object({**place, "rule": rule, "cause": TEXT, "severity": TEXT, "subject": TEXT,
                         "reasons": TEXTS})
    host = _object({"kind": TEXT, "driver": TEXT, "cuda_ceiling": TEXT, "cards": TEXT})
    return {"$schema": DIALECT, "title": LINT_SCHEMA, "$defs": {"finding": _finding()}, **_object({
        "schema": {"const": LINT_SCHEMA}, "tool": _object({"name": TEXT, "version": TEXT}),
        "rules": _object({"version": TEXT, "sha256": {"type": "string", "pattern": "^[0-9a-f]{64}$"}}),
        "verdict": {"enum": [v.value for v in Verdict]}, "exit_code": {"enum": [0, 1, 3, 4]},
        "assumed": TEXTS, "host": host, "files": TEXTS, "findings": {"type": "array", "items": located},
        "undecided": {"type": "array", "items": undecided},
        "notes": {"type": "array", "items": _object({**place, "note": TEXT, "matters": {"type": "boolean"}})},
        "rewrites": {"type": "array", "items": _object({**place, "rule": rule, "text": TEXT})},
        "diff": {**TEXT, "description": "with --fix: what can be put right, as patch takes it"}})}


def summary_schema() -> dict[str, Any]:
    """Return the schema of `gpudoctor.summary/1`."""
    number = {"type": "integer", "minimum": 0}
    severity = {"enum": [s.value for s in Severity]}
    counted = {"machines": number, "names": {**TEXTS, "description": "the first of them"}}
    cause = {"rule": {"type": "string", "pattern": "^GPD"},
             "cause": {"type": "string", "pattern": "^[a-z0-9-]+$"}, "severity": severity,
             "likely": {"type": "boolean", "description": "whether another cause would explain it as well"}}
    causes = {"type": "array", "items": _object({**cause, **counted})}
    difference = _object({"fact": TEXT, "value": TEXTS, "usual": TEXTS, "usual_machines": number, "of": {
        **number, "description": "the peers of which the fact is known"}})
    apart = _object({**counted, "typical": {**TEXT, "description": "a peer as most are"},
                     "differences": {"type": "array", "items": difference}})
    divided = _object({"fact": TEXT, "of": number, "values": {
        "type": "array", "items": _object({"value": TEXTS, **counted})}})
    peers = _object({"key": TEXT, "cards": TEXTS, **counted, "apart": {"type": "array", "items": apart},
                     "divided": {"type": "array", "items": divided},
                     "varied": {**TEXTS, "description": "facts with too many values to be compared"}})
    rules = _object({"version": TEXT, "sha256": {"type": "string", "pattern": "^[0-9a-f]{64}$"}})
    return {"$schema": DIALECT, "title": SUMMARY_SCHEMA, **_object({
        "schema": {"const": SUMMARY_SCHEMA}, "tool": _object({"name": TEXT, "version": TEXT}),
        "rules": {"oneOf": [{"type": "null"}, rules], "description": "null where nothing was judged now"},
        "fail_on": severity, "exit_code": {"enum": [0, 1, 3]}, "interrupted": {"type": "boolean"},
        "machines": number, "reports": number, "judged": number, "assumed": number,
        "verdicts": _object({verdict.value: number for verdict in Verdict}),
        "editions": {"type": "array", "items": _object({"edition": TEXT, **counted})},
        "refused": _object({"files": number, "first": {
            "type": "array", "items": _object({"file": TEXT, "reason": TEXT})}}),
        "skipped": {"type": "array", "items": _object({"what": TEXT, "files": number, "names": TEXTS})},
        "causes": causes, "undecided": causes,
        "alike": {"type": "array", "items": _object({
            "causes": {"type": "array", "items": _object(cause)}, **counted})},
        "peers": {"type": "array", "items": peers}, "peers_beyond": number})}


SCHEMAS = {"lint-1.json": lint_schema, "plan-1.json": plan_schema,
           "recommendation-1.json": recommendation_schema, "report-1.json": report_schema,
           "snapshot-1.json": snapshot_schema, "summary-1.json": summary_schema}


def render(name: str) -> str:
    """Return a schema file's text."""
    return json.dumps(SCHEMAS[name](), indent=1) + "\n"


def main() -> None:
    """Write every schema into the package."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    for name in SCHEMAS:
        (FOLDER / name).write_text(render(name), encoding="utf-8")


if __name__ == "__main__":
    main()
