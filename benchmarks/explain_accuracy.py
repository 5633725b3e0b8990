"""How often `explain` names the right cause of recorded cases: `python -m benchmarks.explain_accuracy`.

A case is fed as `explain -` would be given it: its log, a line for each stated version, its platform. A fifth
of the cases, by a hash of what they have in common, is held out: nobody looks at it while rules are written.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import accuracy_page
from benchmarks.accuracy_rules import readable_rules
from gpudoctor import explanation, texts
from gpudoctor.model import Finding, RuleDatabase, Severity

ROOT = Path(__file__).resolve().parents[1]
CASES = ROOT.parent / "shared" / "corpus" / "cases.jsonl"
PAGE = ROOT / "docs" / "accuracy.md"
STATED = ("framework", "cuda", "cudnn", "driver", "python", "gpu", "os")
_FAULTS = (Severity.ERROR, Severity.WARNING)
_PARTS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """A case and its answers: fault causes in order, harmless ones, and whether the first is certain."""

    case: dict[str, Any]
    faults: tuple[str, ...]
    harmless: tuple[str, ...]
    certain: bool
    asks: bool

    @property
    def accepted(self) -> frozenset[str]:
        """Return the causes that count as right."""
        return frozenset({self.case["cause"], *self.case.get("also_acceptable", ())})

    @property
    def answers(self) -> tuple[str, ...]:
        """Return what was answered: faults, and harmless causes only where there are none."""
        return self.faults or self.harmless

    def is_right(self, places: int) -> bool:
        """Say whether an accepted cause is among the first answers."""
        return bool(self.accepted & set(self.answers[:places]))

    @property
    def is_false_alarm(self) -> bool:
        """Say whether a harmless text was called a fault."""
        return bool(self.case["benign"] and self.faults and self.faults[0] not in self.accepted)

    @property
    def is_miss(self) -> bool:
        """Say whether a fault was answered with nothing, or as harmless."""
        return not self.case["benign"] and not self.faults and not self.is_right(1)

    @property
    def is_confidently_wrong(self) -> bool:
        """Say whether the first answer is said to be certain, and is another cause."""
        return self.certain and not self.is_right(1)


def whole(raw: dict[str, Any], number: int) -> dict[str, Any]:
    """Return a case with what is counted of it: a text that was written for its cause states nothing else."""
    if "text" not in raw:
        return raw
    name = f"{raw['cause']}-{number}"
    return {"id": name, "log_cluster": name, "log": raw["text"], "versions": {}, "cause": raw["cause"],
            "benign": raw["cause"].startswith("benign-"), "observable_from_log": True}


def text_of(case: dict[str, Any]) -> str:
    """Return the case as `explain -` is given it."""
    stated = [f"{key}: {case['versions'][key]}" for key in STATED if key in case["versions"]]
    place = [f"platform: {case['platform']}"] if "platform" in case else []
    return "\n".join([case["log"], "", *stated, *place]) + "\n"


def is_held_out(case: dict[str, Any]) -> bool:
    """Say whether a case belongs to the fifth that is kept aside."""
    digest = hashlib.sha256(case["log_cluster"].encode()).hexdigest()
    return int(digest, 16) % _PARTS == 0


def outcome(case: dict[str, Any], database: RuleDatabase) -> Outcome:
    """Return what a case is answered."""
    told = explanation.explain(texts.read_text(text_of(case), database), database)
    faults = [finding for finding in told.findings if finding.severity in _FAULTS]
    harmless = [one for finding in told.findings for one in (finding, *finding.consequences)
                if one.severity is Severity.BENIGN]
    return Outcome(case=case, faults=_causes(faults), harmless=_causes(harmless),
                   certain=bool(faults) and faults[0].certainty.value == "certain",
                   asks=any(finding.asks for finding in faults))


def _causes(findings: Iterable[Finding]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(finding.cause for finding in findings))


def explained(case: dict[str, Any], database: RuleDatabase) -> str:
    """Return how a case is answered, for those who write rules: candidates, their symptoms, facts."""
    reading = texts.read_text(text_of(case), database)
    told = explanation.explain(reading, database)
    lines = [f"{f.severity.value:8} {f.certainty.value:8} {f.cause}: " + "; ".join(
        e.source.rpartition(", ")[2] if e.fact == "text.symptoms" else f"{e.fact}={e.saw}"
        for e in f.evidence) for f in told.findings]
    facts = [f"{name}={fact.value}" for name, fact in sorted(told.snapshot.host.items())
             if name.startswith("text.") and hasattr(fact, "value") and fact.value not in ((), "")]
    return "\n".join(["    " + line for line in (*lines, *facts)])


def printed(outcomes: Sequence[Outcome], name: str, database: RuleDatabase, *, show: str) -> str:
    """Return the figures of one part, and the cases that went wrong."""
    lines = [f"== {name}: {accuracy_page.figures(outcomes)}"]
    for one in outcomes:
        right = one.is_right(1)
        if (show == "wrong" and right) or show not in ("wrong", "all", one.case["cause"], one.case["id"]):
            continue
        mark = "right" if right else "top-3" if one.is_right(3) else "ALARM" if one.is_false_alarm else (
            "MISS " if one.is_miss else "WRONG")
        wanted, got = " | ".join(sorted(one.accepted)), ", ".join(one.answers) or "nothing"
        lines.append(f"{mark} {one.case['id']} [{one.case.get('platform', '')}] {wanted} <- {got}")
        if show not in ("wrong", "all"):
            lines += [text_of(one.case), explained(one.case, database)]
    confused = Counter((one.case["cause"], (one.answers or ("nothing",))[0])
                       for one in outcomes if not one.is_right(1))
    lines += [f"{count} x {cause} <- {answer}"
              for (cause, answer), count in confused.most_common(12) if count > 1]
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str]) -> int:
    """Measure and print; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=Path, default=CASES, help="a file of cases, one JSON object a line")
    parser.add_argument("--rules", type=Path, default=ROOT / "rules", help="the folder of rule pages")
    parser.add_argument("--show", default="wrong", metavar="WHAT",
                        help="wrong, all, or a cause or a case's id with its text and the facts of it")
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.relative_to(ROOT)}")
    options = parser.parse_args(arguments)
    lines = [line for line in options.cases.read_text("utf-8").split("\n") if line.strip()]
    cases = [whole(json.loads(line), number) for number, line in enumerate(lines, 1)]
    database = readable_rules(options.rules, {case["cause"] for case in cases})
    parts = {name: [outcome(case, database) for case in cases if is_held_out(case) is held_out]
             for name, held_out in (("built with", False), ("held out", True))}
    for name, outcomes in parts.items():
        sys.stdout.write(printed(outcomes, name, database, show=options.show))
    if options.write:
        PAGE.write_text(accuracy_page.page(parts), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
