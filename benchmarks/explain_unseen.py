"""How often `explain` is right without a text's own wordings: `python -m benchmarks.explain_unseen`.

For each case, the wordings of every symptom that it shows are removed (`symptom`), or those of every program
that speaks in it (`program`): what a text is to rules that nobody wrote for it. The symptoms themselves stay,
with what they mean, so that another wording may be taken for them. Single lines are the examples of each
symptom, read without the wordings of that symptom.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.accuracy_rules import readable_rules
from benchmarks.explain_accuracy import CASES, ROOT, Outcome, outcome, text_of
from gpudoctor import texts
from gpudoctor.model import RuleDatabase, SymptomPattern

_NEVER_SAID = "\uffff no text holds this wording \uffff"
_GONE = "-"


def without_wordings(database: RuleDatabase, gone: Collection[str]) -> RuleDatabase:
    """Return the rules as if nobody had heard these symptoms: neither their patterns nor their words."""
    symptoms = tuple(replace(one, patterns=(_NEVER_SAID,), spoken=())
                     if one.id in gone and one.patterns else one
                     for one in database.symptoms)
    words = tuple(replace(index, symptoms=tuple(_GONE if name in gone else name for name in index.symptoms))
                  for index in database.words)
    return replace(database, symptoms=symptoms, words=words)


def shown(text: str, database: RuleDatabase, *, whole_programs: bool) -> frozenset[str]:
    """Return the symptoms that a text shows, or all of the programs that speak in it."""
    ids = {line.id for line in texts.read_text(text, database).said}
    programs = {one.program for one in database.symptoms if one.id in ids}
    return frozenset(one.id for one in database.symptoms
                     if one.id in ids or (whole_programs and one.program in programs))


def of_cases(cases: Sequence[dict[str, Any]], database: RuleDatabase, *, whole_programs: bool
             ) -> list[Outcome]:
    """Return what each case is answered without its wordings."""
    return [outcome(case, without_wordings(
        database, shown(text_of(case), database, whole_programs=whole_programs))) for case in cases]


def of_lines(database: RuleDatabase) -> list[Outcome]:
    """Return what an example of each symptom is answered without the wordings that it shows."""
    found = []
    for symptom in database.symptoms:
        causes = main_causes(symptom)
        if not causes or not symptom.examples:
            continue
        case = {"id": symptom.id, "log": symptom.examples[0].line, "versions": {}, "platform": "linux",
                "cause": causes[0], "also_acceptable": causes[1:], "observable_from_log": True,
                "benign": symptom.benign or causes[0].startswith("benign-")}
        found.append(outcome(case, without_wordings(database, {symptom.id, *shown(
            text_of(case), database, whole_programs=False)})))
    return found


def main_causes(symptom: SymptomPattern) -> tuple[str, ...]:
    """Return the causes of a symptom that are within reach of its weightiest one."""
    weights: dict[str, int] = {}
    for suspect in symptom.suspects:
        weights[suspect.cause] = max(suspect.weight, weights.get(suspect.cause, 0))
    most = max(weights.values(), default=0)
    ordered = sorted(weights, key=lambda cause: -weights[cause])
    return tuple(cause for cause in ordered if weights[cause] >= 0.6 * most and most >= 40)


def figures(outcomes: Sequence[Outcome]) -> str:
    """Return the figures of one way of taking wordings away."""
    faults = [one for one in outcomes if not one.case["benign"]]
    harmless = [one for one in outcomes if one.case["benign"]]
    count = max(len(faults), 1)
    return (f"{len(faults)} faults: top-1 {sum(one.is_right(1) for one in faults) / count:.1%}, top-3 "
            f"{sum(one.is_right(3) for one in faults) / count:.1%}, answered with nothing "
            f"{sum(not one.faults for one in faults)}, certain and wrong "
            f"{sum(one.is_confidently_wrong for one in faults)}; {len(harmless)} harmless: false alarms "
            f"{sum(one.is_false_alarm for one in harmless)}")


def main(arguments: Sequence[str]) -> int:
    """Measure and print; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=Path, default=CASES, help="a file of cases, one JSON object a line")
    parser.add_argument("--rules", type=Path, default=ROOT / "rules", help="the folder of rule pages")
    parser.add_argument("--show", action="store_true", help="print what was answered wrongly")
    options = parser.parse_args(arguments)
    cases = [json.loads(line) for line in options.cases.read_text("utf-8").splitlines() if line.strip()]
    database = readable_rules(options.rules, {case["cause"] for case in cases})
    parts = {"without the wordings of their symptoms": of_cases(cases, database, whole_programs=False),
             "without the wordings of their programs": of_cases(cases, database, whole_programs=True),
             "single lines": of_lines(database)}
    for name, outcomes in parts.items():
        sys.stdout.write(f"== {name}: {figures(outcomes)}\n")
        for one in outcomes if options.show else ():
            if not one.is_right(1):
                sys.stdout.write(f"{one.case['id']}: {one.case['cause']} <- "
                                 f"{', '.join(one.answers) or 'nothing'} | {one.case['log'][:160]!r}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
