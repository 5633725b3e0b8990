"""A recommendation as the JSON document `gpudoctor.recommendation/1`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpudoctor.model import Candidate, Ground, Recommendation, Rejection

SCHEMA = "gpudoctor.recommendation/1"


def encode(said: Recommendation) -> dict[str, Any]:
    """Return the document."""
    return {
        "schema": SCHEMA,
        "tool": {"name": "gpudoctor", "version": said.tool_version},
        "rules": {"version": said.rules_version, "sha256": said.rules_sha256},
        "exit_code": said.exit_code,
        "assumed": list(said.assumptions),
        "asked": list(said.wishes),
        "host": _host(said.ground),
        "candidates": [_candidate(one) for one in said.candidates],
        "changes": [{"change": one.change, "gains": list(one.gains)} for one in said.changes],
        "conflict": list(said.conflict),
        "last": [{"framework": one.framework, "version": one.version, "cuda": one.cuda,
                  "python": list(one.python), "is_ptx": one.is_ptx} for one in said.last],
        "unserved": [{"framework": one.framework, "oldest": one.oldest, "newest": one.newest,
                      "would_be": one.would_be, "unread": list(one.unread)}
                     for one in said.unserved],
        "hints": [{"words": one.words, "command": one.command or None} for one in said.hints],
    }


def _host(ground: Ground) -> dict[str, Any]:
    return {
        "platform": ground.platform, "driver": ground.driver, "python": ground.python, "glibc": ground.glibc,
        "environment": ground.environment, "board": ground.board or None,
        "faults": _rejections(ground.faults),
        "cards": [{"subject": card.subject, "name": card.name, "data_types": list(card.data_types),
                   "compute_capability": card.compute_capability, "is_listed": card.is_listed}
                  for card in ground.cards],
    }


def _candidate(one: Candidate) -> dict[str, Any]:
    return {
        "framework": one.framework, "version": one.version, "kind": one.kind,
        "beside": [{"framework": member.framework, "version": member.version} for member in one.beside],
        "cuda": one.cuda, "least_cuda": one.least_cuda, "python": list(one.python),
        "commands": list(one.commands),
        "environment": dict(one.environment), "image": one.image, "pins": list(one.pins),
        "notes": list(one.notes), "verdict": one.verdict.value, "rejected_by": _rejections(one.rejected_by),
        "why": list(one.why),
    }


def _rejections(listed: Sequence[Rejection]) -> list[dict[str, Any]]:
    return [{"rule": one.rule, "message": one.message, "is_open": one.is_open} for one in listed]
