"""Turn what the tools said into verdicts, by one rule for all of them.

gpudoctor names causes from a vocabulary, so its report is judged by the program. The peers speak prose: a
person read it, and the verdict holds as long as the line that it rests on is still said.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gpudoctor.compatible import tomllib
from tests.machines.catalogue import FIRST, HEALTHY
from tools.peers.contestants import CONTESTANTS, DOCTOR
from tools.peers.running import Outcome

JUDGEMENTS = Path(__file__).with_name("judgements.toml")
# `silent`: a broken machine, and nothing that is wrong is named.
VERDICTS = ("right", "partly", "could not tell", "silent", "wrong", "crash")
QUOTE_LENGTH = 120
PEERS = {contestant.name for contestant in CONTESTANTS} - {DOCTOR}
COUNTED = ("error", "warning")


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """A person's verdict on what one tool said on one machine, and the line that shows it."""

    tool: str
    machine: str
    verdict: str
    quote: str
    why: str = ""


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One cell of the table; `complaint` says why there is no verdict that holds."""

    tool: str
    machine: str
    verdict: str
    quote: str = ""
    why: str = ""
    exit_codes: tuple[int | None, ...] = ()
    seconds: float = 0.0
    day: str = ""
    complaint: str = ""


def read_judgements(path: Path = JUDGEMENTS) -> dict[tuple[str, str], Judgement]:
    """Read the table of judgements; refuse one that names no tool or machine, or stands twice."""
    rows = tomllib.loads(path.read_text("utf-8")).get("judgement", [])
    found: dict[tuple[str, str], Judgement] = {}
    for row in rows:
        judgement = Judgement(**row)
        key = judgement.tool, judgement.machine
        if judgement.verdict not in VERDICTS:
            raise ValueError(f"{key}: no such verdict: {judgement.verdict}")
        if judgement.tool not in PEERS or judgement.machine not in FIRST:
            raise ValueError(f"{key}: no such peer or machine")
        if key in found:
            raise ValueError(f"{key}: judged twice")
        found[key] = judgement
    return found


def squeezed(text: str) -> str:
    """Return text with every run of white space as one blank, so that folding of lines does not matter."""
    return " ".join(text.split())


def shortened(quote: str) -> str:
    """Return a quote as one line that is not too long."""
    line = squeezed(quote)
    return line if len(line) <= QUOTE_LENGTH else f"{line[:QUOTE_LENGTH - 1]}…"


def judged_by_hand(outcome: Outcome, judgement: Judgement | None) -> tuple[str, str, str, str]:
    """Return verdict, quote, reason and complaint for a peer."""
    if judgement is None:
        return "not judged", "", "", "nobody has judged this yet"
    if squeezed(judgement.quote) not in squeezed(outcome.said):
        return "not judged", "", "", f"no longer said: {judgement.quote}"
    return judgement.verdict, judgement.quote, judgement.why, ""


def report_of(said: str) -> Mapping[str, object] | None:
    """Return the JSON object in what gpudoctor printed."""
    start = said.find("\n{")
    if start < 0:
        return None
    try:
        found = json.JSONDecoder().raw_decode(said[start + 1 :])[0]
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def judged_by_program(said: str, cause: str) -> tuple[str, str, str]:
    """Return verdict, quote and reason for gpudoctor's report on a machine with this cause (or HEALTHY)."""
    report = report_of(said)
    if report is None:
        return "wrong", squeezed(said)[-QUOTE_LENGTH:], "no report"
    findings = report["findings"]
    assert isinstance(findings, list)
    faults = [finding for finding in findings if finding["severity"] in COUNTED]
    if not faults:
        verdict = str(report["verdict"])
        well = "right" if cause == HEALTHY else "silent"
        return well if verdict == HEALTHY else "could not tell", f"verdict: {verdict}", ""
    named = [finding for finding in faults if finding["cause"] == cause]
    if not named:
        return "wrong", faults[0]["message"], "a fault is claimed" if cause == HEALTHY else "another cause"
    errors = [finding["cause"] for finding in findings if finding["severity"] == "error"]
    if errors and set(errors) == {cause}:
        return "right", named[0]["message"], ""
    return "partly", named[0]["message"], "not the only error, or not an error"


def doctor_version(outcomes: Mapping[tuple[str, str], Outcome]) -> str:
    """Return which gpudoctor and which rules ran, as its reports say."""
    reports = [report_of(outcome.said) for (tool, _), outcome in outcomes.items() if tool == DOCTOR]
    found = set()
    for report in reports:
        if report is not None:
            tool, rules = report["tool"], report["rules"]
            assert isinstance(tool, dict)
            assert isinstance(rules, dict)
            found.add(f"{tool['version']} with rules {rules['version']} ({rules['sha256'][:12]})")
    return "; ".join(sorted(found)) or "not run"


def judged(outcome: Outcome, judgement: Judgement | None) -> Cell:
    """Return the cell of one outcome; a hang or a signal needs no reader."""
    complaint = ""
    if None in outcome.exit_codes:
        verdict, quote, why = "hang", "", "ended after the limit"
    elif any(code is not None and code < 0 for code in outcome.exit_codes):
        verdict, quote, why = "crash", "", "killed by a signal"
    elif outcome.tool == DOCTOR:
        verdict, quote, why = judged_by_program(outcome.said, FIRST[outcome.machine].cause)
    else:
        verdict, quote, why, complaint = judged_by_hand(outcome, judgement)
    return Cell(
        tool=outcome.tool, machine=outcome.machine, verdict=verdict, quote=shortened(quote), why=why,
        exit_codes=outcome.exit_codes, seconds=outcome.seconds, day=outcome.day, complaint=complaint)


def judge_all(
    outcomes: Mapping[tuple[str, str], Outcome], judgements: Mapping[tuple[str, str], Judgement],
) -> Sequence[Cell]:
    """Return a cell for every tool and machine, tools in their order; one that never ran says so."""
    cells = []
    for contestant in CONTESTANTS:
        for machine in FIRST:
            key = contestant.name, machine
            missing = Cell(tool=contestant.name, machine=machine, verdict="not run", complaint="not run")
            cells.append(judged(outcomes[key], judgements.get(key)) if key in outcomes else missing)
    return cells
