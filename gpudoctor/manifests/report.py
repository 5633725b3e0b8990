"""What `gpudoctor lint` says, and the JSON document of it, `gpudoctor.lint/1`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpudoctor.codec import encode_finding
from gpudoctor.frozen import frozen
from gpudoctor.manifests.judging import Located
from gpudoctor.manifests.left_open import Note
from gpudoctor.manifests.rewrites import Rewrite
from gpudoctor.manifests.spans import Place
from gpudoctor.model import Remedy, Undecided, Verdict

LINT_SCHEMA = "gpudoctor.lint/1"
_INSTALLS = "pip install "


@frozen
class LintReport:
    """The verdict on files; `host` says in words for which machine, `rewrites` what `--fix` would change.

    `diff` is None where nobody asked for changes, "" where there are none.
    """

    tool_version: str
    rules_version: str
    rules_sha256: str
    verdict: Verdict
    exit_code: int
    assumptions: tuple[str, ...]
    host: Mapping[str, str]
    files: tuple[str, ...]
    findings: tuple[Located, ...]
    undecided: tuple[tuple[Place, Undecided], ...]
    notes: tuple[Note, ...]
    rewrites: tuple[Rewrite, ...] = ()
    diff: str | None = None


def advice(fix: Remedy) -> str:
    """Return what a fix says to do, with what it installs: its command is for a machine, not for a file."""
    installed = [command.partition(_INSTALLS)[2] for command in fix.commands if _INSTALLS in command]
    return f"{fix.title} ({_INSTALLS}{installed[0]})" if fix.kind == "pip" and installed else fix.title


def encode(report: LintReport) -> dict[str, Any]:
    """Return the document."""
    return {
        "schema": LINT_SCHEMA,
        "tool": {"name": "gpudoctor", "version": report.tool_version},
        "rules": {"version": report.rules_version, "sha256": report.rules_sha256},
        "verdict": report.verdict.value, "exit_code": report.exit_code, "assumed": list(report.assumptions),
        "host": dict(report.host), "files": list(report.files),
        "findings": [{**_place(one.place), "environment": one.environment.name,
                      "finding": encode_finding(one.finding)} for one in report.findings],
        "undecided": [{**_place(place), "rule": one.rule, "cause": one.cause, "severity": one.severity.value,
                       "subject": one.subject, "reasons": [reason.source for reason in one.reasons]}
                      for place, one in report.undecided],
        "notes": [{**_place(one.place), "note": one.said, "matters": one.matters} for one in report.notes],
        "rewrites": [{**_place(one.place), "rule": one.rule, "text": one.text} for one in report.rewrites],
        "diff": report.diff or "",
    }


def _place(place: Place) -> dict[str, Any]:
    return {"file": place.file, "line": place.line, "column": place.column}
