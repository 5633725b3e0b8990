"""What findings say: summaries with parts that are left out, and no leftovers of what was not seen."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gpudoctor import derive, ruledb
from gpudoctor.assume import lay
from gpudoctor.model import Absent, Case, Fact, Finding, Known, Rule, RuleDatabase, Scope, Subject, Unknown
from gpudoctor.remedy import diagnose
from gpudoctor.words import fill

RULES = Path(__file__).parents[2] / "rules"
DATABASE = ruledb.load_pages(RULES)
POSITIVE = [(rule, case) for rule in DATABASE.rules for case in rule.case
            if case.expect == "match" and case.log is None]
_LEFTOVER = re.compile(
    r"\bunknown\b(?! error)|[:(] ?none\b(?! on| of)|\bnone[);.]|\bnot there\b(?!: )|\[\?|\{|  ")


@pytest.mark.parametrize(("fact", "text"), [
    (Known(value=("a", "b"), source="test"), "Broken: a, b."), (Known(value=(), source="test"), "Broken."),
    (Absent(source="test"), "Broken."), (Unknown(reason="test"), "Broken."),
])
def test_a_part_is_left_out_when_it_has_nothing_to_say(fact: Fact, text: str) -> None:
    """`[?...]` goes with the fact that it names."""
    subject = Subject(name="host", facts={"python.shadowing_files": fact})
    assert fill("Broken[?: {python.shadowing_files}].", subject) == text


def positive(rule: Rule, case: Case, database: RuleDatabase) -> Finding:
    """Return the finding of a page on one of its own cases."""
    facts: dict[str, Fact] = {name: Known(value=value, source="case") for name, value in case.facts.items()}
    facts.update({name: Absent(source="case") for name in case.absent})
    facts.update({name: Unknown(reason="case") for name in case.unknown})
    judgement = diagnose(lay(database.base, facts, database.tables, source="case"), database)
    found = [f for top in judgement.findings for f in (top, *top.consequences) if f.rule == rule.id]
    return found[0]


@pytest.mark.parametrize(("rule", "case"), POSITIVE, ids=lambda item: getattr(item, "id", None) or item.name)
def test_a_finding_speaks_only_of_what_was_seen(rule: Rule, case: Case) -> None:
    """No "none", "unknown" or "not there" where a value was to stand; one or two sentences."""
    finding = positive(rule, case, DATABASE)
    assert _LEFTOVER.search(finding.message) is None, finding.message
    assert finding.message.count(". ") <= 2, finding.message
    for fix in finding.fixes:
        assert _LEFTOVER.search(fix.title) is None, fix.title


def test_two_frameworks_that_need_the_same_files_are_parted() -> None:
    """TensorFlow's cuDNN of CUDA 12 and torch's of CUDA 13: the one of the older CUDA moves."""
    rule, case = next((r, c) for r, c in POSITIVE if r.id == "GPD6065" and "both ask" in c.name)
    fix = positive(rule, case, DATABASE).fixes[0]
    assert fix.commands[1].endswith(
        "separate-environment/bin/python -m pip install 'tensorflow[and-cuda]==2.20.0'")
    assert fix.commands[2].endswith("uninstall --yes tensorflow nvidia-cudnn-cu12")


def test_a_release_note_is_given_only_where_no_release_will_do() -> None:
    """TensorFlow has nothing published for Blackwell, torch has."""
    for release, expected in (("tensorflow==2.20.0", True), ("torch==2.6.0", False)):
        facts: dict[str, Fact] = {name: Known(value=value, source="test") for name, value in
                                  (("cc", "12.0"), ("driver", "580.95.05"), ("release", release))}
        snapshot = lay(DATABASE.base, facts, DATABASE.tables, source="test")
        pair = derive.subjects(snapshot, DATABASE)[Scope.PAIR][0]
        assert isinstance(pair.fact("pair.release_note"), Known) is expected


@pytest.mark.parametrize(("driver", "release", "named"), [
    ("580.95.05", "tensorflow==2.20.0", "conda-forge's tensorflow=2.19.1=cuda128* (CUDA 12.8)"),
    ("580.95.05", "paddle==2.6.2", "paddlepaddle-gpu 3.3.0 for CUDA 13.0 was not read"),
    ("570.86.15", "paddle==2.6.2", "paddlepaddle-gpu 3.3.0 for CUDA 12.9 was not read"),
])
def test_a_release_note_names_what_is_there_beside_the_wheels(driver: str, release: str, named: str) -> None:
    """Beside Paddle 3, which the tables list, it was said that no release has code for the card."""
    facts: dict[str, Fact] = {name: Known(value=value, source="test") for name, value in
                              (("cc", "12.0"), ("driver", driver), ("release", release))}
    snapshot = lay(DATABASE.base, facts, DATABASE.tables, source="test")
    note = derive.subjects(snapshot, DATABASE)[Scope.PAIR][0].fact("pair.release_note")
    assert isinstance(note, Known)
    assert named in str(note.value)
