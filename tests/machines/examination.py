"""Run the real command line in a machine, and say what must hold of every report."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonschema

from tests.harness.machine import Machine
from tests.harness.patient import Patient
from tests.machines.catalogue import HEALTHY, Scenario

ROOT = Path(__file__).parents[2]
SCHEMA = json.loads((ROOT / "gpudoctor" / "schema" / "report-1.json").read_text("utf-8"))
EXIT_HEALTHY, EXIT_FINDINGS = 0, 1
FAULTS = ("error", "warning")

Finding = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Examination:
    """What `gpudoctor check --format json` answered in a machine."""

    report: Mapping[str, Any]
    exit_code: int | None
    stderr: str
    leftover: tuple[str, ...]
    files: Mapping[str, bytes]

    @property
    def findings(self) -> Sequence[Finding]:
        """The findings that stand on their own, in their order."""
        found: Sequence[Finding] = self.report["findings"]
        return found

    @property
    def first(self) -> Finding:
        """The finding that is named first."""
        assert self.findings, f"nothing was found; undecided: {self.undecided}"
        return self.findings[0]

    @property
    def fix(self) -> Mapping[str, Any]:
        """The first fix of the first finding."""
        assert self.first["fixes"], f"{self.first['rule']} has no fix that works here"
        fix: Mapping[str, Any] = self.first["fixes"][0]
        return fix

    @property
    def undecided(self) -> list[tuple[str, str, Any]]:
        """The error-level rules that were asked and could not be judged, with the reasons."""
        return [(u["rule"], u["subject"], u["reasons"]) for u in self.report["undecided"]
                if u["asked"] and u["severity"] == "error"]

    def host(self, fact: str) -> Any:
        """Return the value of a fact of the host; None when it is not known."""
        return self.report["snapshot"]["host"][fact].get("value")


def commands_of(fix: Mapping[str, Any]) -> str:
    """Return everything that a fix says to do, as one text."""
    settings = [f"{name}={value}" for name, value in fix["env"].items()]
    return "\n".join([fix["title"], *fix["commands"], *settings])


def every(findings: Sequence[Finding]) -> Iterator[Finding]:
    """Yield findings and what is folded under them."""
    for finding in findings:
        yield finding
        yield from every(finding["consequences"])


def examine(
    machine: Machine, patient: Patient, *options: str, launcher: tuple[str, ...] = (),
    collect: Sequence[str] = (),
) -> Examination:
    """Run the doctor of this checkout in the machine; GPUDOCTOR_RULES of the tester names other pages."""
    command = [*launcher, sys.executable, "-m", "gpudoctor", "check", "--depth", "static", "--format", "json",
               "--python", str(patient.python), *options]
    rules = {name: os.environ[name] for name in ("GPUDOCTOR_RULES",) if name in os.environ}
    result = machine.run(
        command, timeout=120, cwd=str(ROOT), environment=rules, collect=collect)
    try:
        report = json.loads(result.stdout)
    except json.JSONDecodeError:
        said = f"no report (exit {result.returncode})\n{result.stdout}\n{result.stderr}"
        raise AssertionError(said) from None
    return Examination(
        report=report, exit_code=result.returncode, stderr=result.stderr, leftover=result.leftover,
        files=result.files or {})


def assert_sound(examination: Examination) -> None:
    """Check what holds for any machine: the schema, every probe answered, nothing is left behind."""
    jsonschema.validate(examination.report, SCHEMA)
    assert examination.report["exit_code"] == examination.exit_code
    assert examination.stderr == ""
    assert examination.leftover == ()
    probes = examination.report["snapshot"]["probes"]
    bad = [probe for probe in probes if probe["outcome"] not in ("ok", "not-asked")]
    assert bad == []
    assert examination.undecided == []


def assert_right(scenario: Scenario, examination: Examination) -> None:
    """Check that the machine's own cause comes first, at its severity, and that nothing else is an error."""
    findings = [(f["cause"], f["severity"]) for f in examination.findings]
    if scenario.cause == HEALTHY:
        faults = [f"{f['rule']} {f['subject']}: {f['message']}" for f in every(examination.findings)
                  if f["severity"] in FAULTS]
        assert faults == []
        assert (examination.report["verdict"], examination.exit_code) == ("healthy", EXIT_HEALTHY)
        return
    assert findings[:1] == [(scenario.cause, scenario.severity)], findings
    failing = scenario.severity == "error"
    assert examination.exit_code == (EXIT_FINDINGS if failing else EXIT_HEALTHY)
    verdict = "findings" if scenario.severity in FAULTS else "healthy"
    assert examination.report["verdict"] == verdict
    others = [f for f in examination.findings if f["severity"] == "error" and f["cause"] != scenario.cause]
    assert [(f["rule"], f["subject"], f["message"]) for f in others] == []
